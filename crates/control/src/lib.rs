//! Congestion control algorithms as pure state machines: events in, limits out.
//!
//! | to find | look in |
//! |---|---|
//! | the contract between an algorithm and whatever drives it | [`Controller`] and its events |
//! | in flight, rounds, delivery rates, RTTs: computed once for every scheme | [`Flow`] |
//! | NewReno and CUBIC as laws of window growth | [`growth`] |
//! | one file or folder per scheme | [`schemes`] |
//! | names, parameters, defaults and their sources | [`Registry`] |
//!
//! All amounts of data that a controller sees (window, in flight, pacing rate, delivered) count whole packets as they
//! cross the link, headers included, so that a window of one bandwidth-delay product fills the path and no more.

mod contract;
mod filters;
mod flow;
pub mod growth;
mod parameter;
mod registry;
mod rtt;
pub mod schemes;
#[cfg(test)]
mod testing;

pub use contract::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, Packet, RateSample, Sampler, Sent, Tag,
};
pub use flow::Flow;
pub use parameter::{Arguments, Kind, Parameter};
pub use registry::{Registry, Scheme, SchemeError, SchemeInfo, split_list};
pub use rtt::Rtt;

//! The contract of a congestion control algorithm, and the common parts of all of them: events in, limits out. The algorithms
//! themselves are in `cellcc_schemes`; a program with one of its own needs only this crate.
//!
//! | to find | look in |
//! |---|---|
//! | the contract between an algorithm and whatever drives it | [`Controller`] and its events |
//! | in flight, rounds, delivery rates, RTTs: computed once for every scheme | [`Flow`] |
//! | when a paced packet may leave | [`Pacer`] |
//! | NewReno and CUBIC as laws of window growth | [`growth`] |
//! | the component of a scheme that runs at the receiver | [`ReceiverComponent`] |
//! | when each packet arrived, and the component that reports it | [`ArrivalReport`], [`ArrivalReporter`] |
//! | messages between the two ends of a scheme | [`SchemeMessage`] |
//! | reports of a network to a sender, and the guard against wrong ones | [`Advice`], [`Guard`] |
//! | names, presets, parameters with their defaults and sources | [`Registry`], [`SchemeInfo`] |
//! | the events and decisions of a flow, recorded and replayed | [`Scheme::recorded`] |
//! | the kinds of values that a parameter takes | [`kind`] |
//! | the largest or smallest value of a sliding window | [`filters`] |
//!
//! All amounts of data that a controller sees (window, in flight, pacing rate, delivered) count whole packets as they
//! cross the link, headers included, so that a window of one bandwidth-delay product fills the path and no more.

mod advice;
mod arrival_report;
mod contract;
#[doc(hidden)]
pub mod event_log;
pub mod filters;
mod flow;
pub mod growth;
mod guard;
mod info;
pub mod kind;
mod limits;
mod message;
mod observed;
mod observer;
mod pacer;
mod parameter;
mod receiver;
mod registry;
mod rtt;

pub use advice::{Advice, AdviceClass, AdviceRequest, AdviceRoute, MinRttParts, ReportSource};
pub use arrival_report::{ArrivalReporter, ReportSchedule};
pub use contract::{
    Ack, Context, Controller, Ecn, EcnEcho, Event, Loss, Packet, RateSample, Sampler, Sent, Tag,
};
pub use flow::{Episode, Flow};
pub use guard::{Guard, Promise};
pub use info::{BuildReceiver, HeldAgainst, Needs, Preset, RequestAdvice, SchemeInfo, split_list};
pub use kind::{InnerScheme, TimeOrMultiple};
pub use limits::{Limits, Media};
pub use message::{ArrivalReport, Feedback, ReportedPacket, SchemeMessage, Signal, Verdict};
pub use observed::{Observed, ShownCurve};
pub use observer::{Observer, ShownValue};
pub use pacer::Pacer;
pub use parameter::{Arguments, Assignment, Parameter, ParameterInfo};
pub use receiver::{Arrival, ReceiverComponent};
pub use registry::{Registry, Scheme, SchemeError};
pub use rtt::Rtt;

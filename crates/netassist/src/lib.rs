//! NetAssist: the network-assistance service of a mobile edge, and its client.
//!
//! | to find | look in |
//! |---|---|
//! | the core: who is told what, pure | [`Service`] |
//! | who the users are, and who may be told about them | [`Identities`], [`LiveFlows`], [`Consent`] |
//! | where measurements come from | [`source`] |
//! | names in certificates | [`PeerName`] |
//! | messages on a connection's stream | [`protocol`] |

#![allow(
    clippy::disallowed_methods,
    reason = "the adapters, the transport and the daemon have clocks and sockets"
)]

mod audit;
mod clock;
mod identity;
mod limits;
mod live_flows;
mod name;
pub mod protocol;
mod sample;
mod service;
pub mod source;
mod users;

pub use audit::{AuditEntry, EndReason, Event, Ground, Refused};
pub use clock::ServiceClock;
pub use identity::{Ambiguous, Identities, RadioName, SourceName, User, UserIndex, UserKey};
pub use live_flows::{LiveFlows, tracked_flows};
pub use name::{NameError, PeerName, Role};
pub use sample::{Counted, Measured, Sample};
pub use service::{ClientId, Consent, Counts, Due, Presented, Publication, Reply, Service};

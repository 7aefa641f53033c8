//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! NetAssist: the network-assistance service of a mobile edge. Its near end is `cellcc_netassist_client`.
//!
//! | to find | look in |
//! |---|---|
//! | the core: subscriptions of servers to users, pure | [`Service`] |
//! | the users, and the rights to reports on them | [`Identities`], [`LiveFlows`], [`Consent`] |
//! | a browser's page | [`Overview`] |
//! | where measurements come from | [`source`] |
//! | the minimum RTT to a base station's host | [`probe`] |
//! | certificates for a first try | [`Authority`] |
//! | QUIC between the service and its clients, or a NATS broker | [`Server`] |
//! | the daemon and its configuration | [`daemon`] |
//! | a cell on loopback that counts as a base station does | [`emulated_cell`] |
//! | the counters of such a cell, in a base station's messages | [`base_station`] |

#![allow(
    clippy::disallowed_methods,
    reason = "the adapters, the transport and the daemon have clocks and sockets"
)]

mod address;
mod audit;
mod authority;
pub mod base_station;
mod clock;
pub mod daemon;
pub mod emulated_cell;
mod entries;
mod http_get;
mod identity;
mod limits;
mod live_flows;
pub mod probe;
mod sample;
mod service;
mod sessions;
pub mod source;
mod transport;
mod verifier;
mod write_once;

pub use audit::{AuditEntry, EndReason, Event, Ground, Refused};
pub use authority::{Authority, AuthorityError};
pub use clock::ServiceClock;
pub use identity::{Ambiguous, Identities, RadioName, SourceName, User, UserIndex};
pub use limits::client_requests;
pub use live_flows::{LiveFlows, tracked_flows};
pub use sample::Sample;
pub use service::{
    ClientId, Consent, Counts, Due, Group, Informed, Overview, Presented, Publication, Reply, Service,
    UserOverview,
};
pub use sessions::{Session, open5gs_sessions};
pub use transport::{
    BindError, BrokerClients, Contradiction, KnownServer, Permissions, PublisherSettings, Server,
    ServerCounts, Tracking, UnknownName, permissions,
};

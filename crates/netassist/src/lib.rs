//! NetAssist: the network-assistance service of a mobile edge, and its client.
//!
//! | to find | look in |
//! |---|---|
//! | the core: who is told what, pure | [`Service`] |
//! | who the users are, and who may be told about them | [`Identities`], [`LiveFlows`], [`Consent`], [`consent`] |
//! | what a browser shows, and who may see it | [`Overview`], [`pass`] |
//! | where measurements come from | [`source`] |
//! | the minimum RTT to a base station's host | [`probe`] |
//! | names in certificates | [`PeerName`], [`Authority`], [`Credentials`] |
//! | QUIC between the service and its clients, or a NATS broker | [`Server`], [`Client`] |
//! | a server's QUIC connections under NetAssist's advice | [`AssistedPeers`] |
//! | the daemon and its configuration | [`daemon`] |
//! | a cell on loopback that counts as a base station does | [`emulated_cell`] |
//! | what such a cell has counted, told as a base station tells it | [`base_station`] |
//! | messages on a connection's stream, their times | [`protocol`] |
//! | subjects of a broker | [`subject`] |
//! | how fast clients ask, and how they connect again | [`Allowance`], [`Backoff`] |

#![allow(
    clippy::disallowed_methods,
    reason = "the adapters, the transport and the daemon have clocks and sockets"
)]

mod assisted_peers;
mod audit;
pub mod base_station;
mod certificates;
mod clock;
pub mod consent;
pub mod daemon;
pub mod emulated_cell;
mod entries;
mod established;
mod http_get;
mod identity;
mod limits;
mod live_flows;
mod name;
pub mod pass;
pub mod probe;
mod problem_log;
pub mod protocol;
mod sample;
mod service;
mod sessions;
pub mod source;
mod statement;
mod transport;
mod users;

pub use assisted_peers::AssistedPeers;
pub use audit::{AuditEntry, EndReason, Event, Ground, Refused};
pub use certificates::{Authority, CertificateError, Credentials, SERVICE_DNS_NAME};
pub use clock::ServiceClock;
pub use established::established_peers;
pub use identity::{Ambiguous, Identities, RadioName, SourceName, User, UserIndex, UserKey};
pub use limits::Allowance;
pub use live_flows::{LiveFlows, tracked_flows};
pub use name::{NameError, PeerName, Role};
pub use sample::{BaseRtt, Counted, Measured, Sample};
pub use service::{
    Ceiling, ClientId, Consent, Counts, Due, Group, Overview, Presented, Publication, Reply, Service, Told,
    UserOverview,
};
pub use sessions::{Session, open5gs_sessions};
pub use transport::{
    Backoff, BindError, BrokerClients, BrokerUrl, BrokerUrlError, CellName, Client, ClientError, ClientEvent,
    ClientSettings, Contradiction, KnownServer, NotAToken, Permissions, PublisherSettings, Server,
    ServerCounts, ServiceAddress, SubjectToken, Tracking, UnknownName, permissions, subject,
};

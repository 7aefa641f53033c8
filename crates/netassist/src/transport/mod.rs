//! How records reach servers: from the service over QUIC ([`quic`]), or through a NATS broker ([`nats`]). Requests, answers,
//! limits and the log are the same for both ([`shared`]). The other end is `cellcc_netassist_client`.

mod counts;
mod nats;
mod quic;
mod server;
mod shared;
mod tracking;

pub use counts::ServerCounts;
pub use nats::{
    BrokerClients, Contradiction, KnownServer, Permissions, PublisherSettings, UnknownName, permissions,
};
pub use quic::BindError;
pub use server::Server;
pub(crate) use tracking::Log;
pub use tracking::Tracking;

//! How records reach servers: from the service over QUIC ([`quic`]), or through a NATS broker ([`nats`]). What is asked,
//! answered, limited and written down is the same for both ([`shared`], [`conversation`]).

mod backoff;
mod client;
mod conversation;
mod nats;
mod pace;
mod quic;
mod server;
mod shared;
mod tracking;

pub use backoff::Backoff;
pub use client::{Client, ClientError, ClientEvent, ClientSettings, ServiceAddress};
pub use nats::{
    BrokerClients, BrokerUrl, BrokerUrlError, CellName, Contradiction, KnownServer, NotAToken, Permissions,
    PublisherSettings, SubjectToken, UnknownName, permissions, subject,
};
pub use server::{BindError, Server};
pub use shared::ServerCounts;
pub(crate) use tracking::Log;
pub use tracking::Tracking;

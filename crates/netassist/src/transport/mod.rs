//! How records reach servers: from the service over QUIC ([`quic`]), or through a NATS broker ([`nats`]). What is asked,
//! answered, limited and written down is the same for both ([`shared`], [`conversation`]).

mod client;
mod conversation;
mod nats;
mod quic;
mod server;
mod shared;

pub use client::{Client, ClientError, ClientEvent, ClientSettings, ServiceAddress};
pub use nats::{
    BrokerClients, BrokerUrl, BrokerUrlError, CellName, KnownServer, NotAToken, PublisherSettings,
    SubjectToken, UnknownName, permissions,
};
pub use server::{BindError, Server};
pub use shared::ServerCounts;

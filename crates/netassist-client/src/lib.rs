//! The near end of NetAssist, cellcc's network-assistance service: what a server or a device needs to hear from it.
//!
//! | to find | look in |
//! |---|---|
//! | a connection with a service or a NATS broker | [`Client`], [`ClientEvent`] |
//! | a server's QUIC connections under NetAssist's advice | [`AssistedPeers`] |
//! | what is heard, passed on to the kernel's schemes | [`KernelFeed`], [`established_peers`] |
//! | names in certificates, a holder's files, TLS | [`PeerName`], [`Credentials`], [`certificates`] |
//! | texts that users and operators sign | [`consent`], [`pass`], [`statement`] |
//! | messages on a connection's stream, their times | [`protocol`] |
//! | what goes over QUIC and over NATS; both ends share it | [`quic`], [`nats`] |
//! | how fast clients ask, and how they connect again | [`own_requests`], [`Allowance`], [`Backoff`] |

#![allow(clippy::disallowed_methods, reason = "connections have clocks and sockets")]

mod allowance;
mod assisted_peers;
mod backoff;
pub mod certificates;
mod client;
pub mod consent;
mod conversation;
mod established;
mod kernel_feed;
mod name;
pub mod nats;
mod pace;
pub mod pass;
pub mod protocol;
pub mod quic;
pub mod statement;
mod user_key;

pub use allowance::Allowance;
pub use assisted_peers::AssistedPeers;
pub use backoff::{Backoff, drawn_share};
pub use certificates::{CertificateError, Credentials, SERVICE_DNS_NAME};
pub use client::{Client, ClientError, ClientSettings, ServiceAddress};
pub use conversation::ClientEvent;
pub use established::established_peers;
pub use kernel_feed::KernelFeed;
pub use name::{NameError, PeerName, Role};
pub use nats::{BrokerUrl, BrokerUrlError};
pub use pace::own_requests;
pub use user_key::UserKey;

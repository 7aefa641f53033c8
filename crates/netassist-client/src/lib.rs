//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! The near end of NetAssist, cellcc's network-assistance service: the client parts for a server or a device.
//!
//! | to find | look in |
//! |---|---|
//! | a connection with a service or a NATS broker | [`Client`], [`ClientEvent`] |
//! | a server's QUIC connections under NetAssist's advice | [`AssistedPeers`] |
//! | reports, passed on to the kernel's schemes | [`KernelFeed`], [`established`] |
//! | names in certificates, a holder's files, TLS | [`PeerName`], [`Credentials`], [`certificates`] |
//! | texts that users and operators sign | [`statement`] |
//! | messages on a connection's stream, their times | [`protocol`] |
//! | messages over QUIC and over NATS; both ends share them | [`quic`], [`nats`] |
//! | how fast clients ask, and how they connect again | [`own_requests`], [`Allowance`], [`Backoff`] |

#![allow(clippy::disallowed_methods, reason = "connections have clocks and sockets")]

mod allowance;
mod assisted_peers;
mod backoff;
pub mod certificates;
mod client;
mod conversation;
mod kernel_feed;
mod name;
pub mod nats;
pub mod protocol;
pub mod quic;
pub mod statement;

pub use allowance::{Allowance, own_requests};
pub use assisted_peers::AssistedPeers;
pub use backoff::{Backoff, drawn_share};
pub use certificates::{CertificateError, Credentials, SERVICE_DNS_NAME};
pub use client::{Client, ClientError, ClientSettings, ServiceAddress};
pub use conversation::ClientEvent;
pub use kernel_feed::{Connection, KernelFeed, established};
pub use name::{NameError, PeerName, Role};
pub use nats::{BrokerUrl, BrokerUrlError};
pub use protocol::UserKey;

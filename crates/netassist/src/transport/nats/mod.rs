//! The service's end of a NATS broker, and the permissions that the broker needs.

mod outbox;
mod permissions;
mod publisher;
mod registrations;

pub(super) use outbox::Outbox;
pub(super) use publisher::Publisher;

pub use permissions::{BrokerClients, Contradiction, KnownServer, Permissions, UnknownName, permissions};
pub use publisher::PublisherSettings;

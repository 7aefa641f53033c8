//! The permissions that the broker of a configuration needs.

use super::config::Config;
use super::nats::{NatsConfig, SecretError};
use crate::identity::{Ambiguous, Identities};
use crate::transport::{BrokerClients, Permissions, UnknownName, permissions};
use cellcc_netassist_client::{CertificateError, Credentials, Role};
use thiserror::Error;

/// Why there are no permissions.
#[derive(Debug, Error)]
pub enum PermissionsError {
    /// The configuration does not name a broker.
    #[error(
        "the configuration has no table [nats], so no broker needs permissions: docs/how-to/netassist-nats.md"
    )]
    NoBroker,
    /// The service's certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The users' keys.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The users.
    #[error("the users of the configuration: {0}")]
    Users(#[from] Ambiguous),
    /// The servers and operators.
    #[error("[nats]: {0}")]
    Name(#[from] UnknownName),
}

impl Config {
    /// The permissions that the broker needs.
    ///
    /// # Errors
    /// No broker, no certificate, no secret, or a name of nobody.
    pub fn permissions(&self) -> Result<Permissions, PermissionsError> {
        let nats = self.nats.as_ref().ok_or(PermissionsError::NoBroker)?;
        let service = Credentials::load(&self.credentials, Role::Service)?;
        let identities = Identities::new(self.users.clone(), &nats.secret()?)?;
        let NatsConfig { servers, operators, leaf_brokers, .. } = nats;
        let clients = BrokerClients { servers, operators, leaf_brokers };
        Ok(permissions(service.name(), &nats.site, &identities, clients)?)
    }
}

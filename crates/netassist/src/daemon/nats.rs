//! A NATS broker in the configuration, and its consequences.

use crate::transport::{KnownServer, PublisherSettings, UnknownName};
use crate::write_once::write_secret_once;
use cellcc_netassist_client::certificates::provider;
use cellcc_netassist_client::nats::{CellName, SubjectToken};
use cellcc_netassist_client::{BrokerUrl, Credentials, PeerName, Role};
use cellcc_units::{Bytes, input};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// The largest file with a secret: 64 digits, and a line's end.
const MAX_SECRET_BYTES: Bytes = Bytes::new(80);

/// The table `[nats]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NatsConfig {
    /// The broker.
    pub url: BrokerUrl,
    /// This site's name in subjects.
    pub site: SubjectToken,
    /// The secret from which users' keys are made: 64 hexadecimal digits. It is made where there is no such file.
    pub user_keys: PathBuf,
    /// Names of this site's cells.
    #[serde(default)]
    pub cells: Vec<CellName>,
    /// Servers that receive reports through the broker.
    #[serde(default)]
    pub servers: Vec<KnownServer>,
    /// Operators that watch through the broker.
    #[serde(default)]
    pub operators: Vec<String>,
    /// Brokers that are leaves of another one and pass on this site's records.
    #[serde(default)]
    pub leaf_brokers: Vec<String>,
}

/// Why a configuration has no secret.
#[derive(Debug, Error)]
pub enum SecretError {
    /// The file cannot be read or made.
    #[error("user_keys: {}: {cause}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's error.
        cause: String,
    },
    /// It is something else.
    #[error("user_keys: {} has no 64 hexadecimal digits; remove it to have it made", .0.display())]
    Content(PathBuf),
    /// The system has no randomness.
    #[error("the system has no randomness")]
    Randomness,
}

impl NatsConfig {
    /// The secret from which users' keys are made, as other sites and a broker's permissions know them.
    pub(super) fn secret(&self) -> Result<[u8; 32], SecretError> {
        kept_secret(&self.user_keys)
    }

    pub(super) fn settings(
        &self,
        credentials: Credentials,
        log: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> Result<PublisherSettings, UnknownName> {
        let address = |server: &KnownServer| {
            let name = PeerName::new(Role::Server, &server.name);
            let name = name.map_err(|_| UnknownName::Peer(server.name.clone()))?;
            Ok(server.address.map(|address| (name, address)))
        };
        let addresses = self.servers.iter().filter_map(|server| address(server).transpose());
        Ok(PublisherSettings {
            url: self.url.clone(),
            credentials,
            site: self.site.clone(),
            cells: self.cells.clone(),
            addresses: addresses.collect::<Result<_, _>>()?,
            log,
        })
    }
}

/// A secret of this start.
pub(super) fn new_secret() -> Result<[u8; 32], SecretError> {
    let mut secret = [0; 32];
    provider().secure_random.fill(&mut secret).map_err(|_| SecretError::Randomness)?;
    Ok(secret)
}

/// The secret in a file; a new one where there is none. Only the owner can read it.
fn kept_secret(path: &Path) -> Result<[u8; 32], SecretError> {
    let failed = |cause: String| SecretError::File { path: path.into(), cause };
    if !path.exists() {
        let digits: String = new_secret()?.iter().map(|byte| format!("{byte:02x}")).collect();
        write_secret_once(path, &format!("{digits}\n")).map_err(|error| failed(error.to_string()))?;
    }
    let text = input::read_text(path, MAX_SECRET_BYTES).map_err(|error| failed(error.to_string()))?;
    secret_in(text.trim()).ok_or_else(|| SecretError::Content(path.into()))
}

fn secret_in(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != 64 {
        return None;
    }
    let mut secret = [0; 32];
    for (byte, at) in secret.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
    }
    Some(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("user-keys");
        let made = kept_secret(&path).unwrap();
        assert_eq!(kept_secret(&path).unwrap(), made);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        for wrong in ["", "00", &"é".repeat(32), &"x".repeat(64)] {
            std::fs::write(&path, wrong).unwrap();
            assert!(kept_secret(&path).unwrap_err().to_string().contains("64 hexadecimal digits"), "{wrong}");
        }
    }
}

//! The configuration file.

use super::mec::Plmn;
use super::nats::{NatsConfig, SecretError};
use crate::address::{address, optional};
use crate::http_get::HttpUrl;
use crate::identity::{Ambiguous, Identities, User};
use crate::source::SourceConfig;
use crate::transport::{BrokerClients, Permissions, UnknownName, permissions};
use cellcc_netassist_client::{CertificateError, Credentials, Role};
use cellcc_units::{Bytes, Span, input};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The largest configuration: 100,000 users of 100 bytes.
const MAX_BYTES: Bytes = Bytes::new(10 << 20);

/// The configuration of a daemon. Paths are relative to the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where clients connect: UDP.
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// The folder with the service's certificate.
    pub credentials: PathBuf,
    /// Where `/health` and `/metrics` are; optional.
    #[serde(default, deserialize_with = "optional")]
    pub http: Option<SocketAddr>,
    /// Where the page of the live cell is; optional.
    #[serde(default, deserialize_with = "optional")]
    pub https: Option<SocketAddr>,
    /// The file to which each registration is added.
    #[serde(default = "default_audit_log")]
    pub audit_log: PathBuf,
    /// The source of live flows between servers and users.
    pub live_flows: LiveFlowsFrom,
    /// NATS broker to publish to in addition; optional.
    pub nats: Option<NatsConfig>,
    /// The users.
    #[serde(default, rename = "user")]
    pub users: Vec<User>,
    /// Where measurements come from.
    #[serde(default, rename = "source")]
    pub sources: Vec<SourceConfig>,
    /// Mobile core that reports addresses and tunnels; without it only `[[user]]` counts.
    pub core: Option<CoreConfig>,
    /// The mobile network, as MEC applications see it.
    #[serde(default = "test_network")]
    pub plmn: Plmn,
    /// Cells whose base station's host answers echoes.
    #[serde(default, rename = "cell")]
    pub cells: Vec<CellConfig>,
}

/// A cell whose base station's host answers echoes: the first part of its users' minimum RTT is measured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellConfig {
    /// The base station's number of the cell: its physical cell identity.
    pub pci: u16,
    /// Where `cellcc assist echo` runs.
    #[serde(deserialize_with = "address")]
    pub echo: SocketAddr,
    /// Time between echoes.
    #[serde(default = "default_interval")]
    pub interval: Span,
}

/// A hundred echoes in the ten seconds of the minimum, at 4 kbit/s. Our choice.
fn default_interval() -> Span {
    Span::from_millis(100)
}

/// Where a mobile core tells its users' sessions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreConfig {
    /// Open5GS's session management function, such as `http://127.0.0.4:9090/pdu-info?page=-1`.
    pub open5gs: HttpUrl,
    /// How often it is asked.
    #[serde(default = "crate::http_get::default_interval")]
    pub interval: Span,
}

/// There is always one.
fn default_audit_log() -> PathBuf {
    "audit.jsonl".into()
}

/// The network for tests (ITU-T E.212: country code 001).
fn test_network() -> Plmn {
    Plmn { mcc: "001".into(), mnc: "01".into() }
}

/// How live flows are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LiveFlowsFrom {
    /// From the connection tracking of this machine, which forwards the users' packets.
    Conntrack,
    /// Not at all: servers need consent.
    None,
    /// Every server with a certificate counts as having a flow with every user. For laboratories.
    Assumed,
}

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: input::InputError,
    },
    /// It is no configuration.
    #[error("{}: {source}", .path.display())]
    Toml {
        /// Which.
        path: PathBuf,
        /// Where, and what is wrong.
        source: Box<toml::de::Error>,
    },
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no configuration; the message names the line.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = input::read_text(path, MAX_BYTES)
            .map_err(|source| ConfigError::File { path: path.into(), source })?;
        let mut config: Self = toml::from_str(&text)
            .map_err(|source| ConfigError::Toml { path: path.into(), source: Box::new(source) })?;
        config.place_paths(path.parent().unwrap_or(Path::new("")));
        Ok(config)
    }

    /// Paths are relative to the file's folder.
    fn place_paths(&mut self, folder: &Path) {
        let place = |path: &mut PathBuf| *path = folder.join(&*path);
        place(&mut self.credentials);
        place(&mut self.audit_log);
        if let Some(nats) = &mut self.nats {
            place(&mut nats.user_keys);
        }
        for source in &mut self.sources {
            if let Some(file) = source.file() {
                place(file);
            }
        }
    }
}

// The permissions that the broker of a configuration needs.

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
    /// # Errors No broker, no certificate, no secret, or an unknown name.
    pub fn permissions(&self) -> Result<Permissions, PermissionsError> {
        let nats = self.nats.as_ref().ok_or(PermissionsError::NoBroker)?;
        let service = Credentials::load(&self.credentials, Role::Service)?;
        let identities = Identities::new(self.users.clone(), &nats.secret()?)?;
        let NatsConfig { servers, operators, leaf_brokers, .. } = nats;
        let clients = BrokerClients { servers, operators, leaf_brokers };
        Ok(permissions(service.name(), &nats.site, &identities, clients)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_guide_is_a_configuration() {
        let guide = concat!(
            include_str!("../../../../docs/how-to/netassist.md"),
            include_str!("../../../../docs/how-to/netassist-sources.md"),
            include_str!("../../../../docs/how-to/netassist-nats.md"),
            include_str!("../../../../docs/how-to/netassist-srsran.md")
        );
        let examples = guide.split("```toml\n").skip(1).filter_map(|after| after.split("```").next());
        let config: Config = toml::from_str(&examples.collect::<String>()).unwrap();
        assert_eq!(config.live_flows, LiveFlowsFrom::Conntrack);
        assert_eq!(config.users[0].name, "alice");
        assert!(matches!(config.sources[0], SourceConfig::GnbWebsocket(_)));
        let nats = config.nats.as_ref().expect("it has a broker");
        assert_eq!((nats.cells[0].pci, nats.servers[0].name.as_str()), (1, "server-1"));
        let SourceConfig::CountersSource(counters) = &config.sources[1] else {
            panic!("{:?}", config.sources[1])
        };
        assert_eq!((counters.pci, counters.network_rtt), (Some(1), Some(Span::from_millis(10))));
        assert!(matches!(config.sources[2], SourceConfig::MecLayer2(_)));
        assert!(matches!(config.sources[3], SourceConfig::HostInterface(_)));
        assert!(matches!(config.sources[4], SourceConfig::CountersSource(_)));
        assert!(config.core.is_some() && config.users[1].supi.is_some());
        assert_eq!((config.cells[0].pci, config.cells[0].interval), (1, default_interval()));
    }

    #[test]
    fn an_unknown_setting_is_refused_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("netassist.toml");
        std::fs::write(&path, "listen = \"0.0.0.0:4443\"\ncolour = \"blue\"\n").unwrap();
        let error = Config::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("netassist.toml") && error.contains("line 2") && error.contains("colour"),
            "{error}"
        );
    }

    /// Such a user could never have a certificate.
    #[test]
    fn a_user_has_a_name_that_a_certificate_can_have() {
        let read = |name: &str| {
            let text = format!(
                "listen = \"[::]:4443\"\ncredentials = \"edge\"\naudit_log = \"a\"\nlive_flows = \"none\"\n\
                 [[user]]\nname = {name:?}\n"
            );
            toml::from_str::<Config>(&text).map_err(|error| error.to_string())
        };
        assert!(read("alice-1.example").is_ok());
        for name in ["", "../../etc", "Alice", "a\tb"] {
            let error = read(name).unwrap_err();
            assert!(error.contains("line 6") && error.contains("1 to 64 of the characters"), "{error}");
        }
    }

    #[test]
    fn an_audit_log_need_not_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("netassist.toml");
        std::fs::write(&path, "listen = \"[::]:4443\"\ncredentials = \"edge\"\nlive_flows = \"none\"\n")
            .unwrap();
        assert_eq!(Config::read(&path).unwrap().audit_log, folder.path().join("audit.jsonl"));
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("netassist.toml");
        let text = "listen = \"[::]:4443\"\ncredentials = \"edge\"\naudit_log = \"/var/log/audit\"\nlive_flows = \"none\"\n";
        std::fs::write(&path, text).unwrap();
        let config = Config::read(&path).unwrap();
        assert_eq!(config.credentials, folder.path().join("edge"));
        assert_eq!(config.audit_log, Path::new("/var/log/audit"));
    }
}

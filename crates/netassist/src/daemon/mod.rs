//! The daemon: a configuration file, sources, the service, metrics, the page of the live cell.

mod audit_log;
mod config;
mod error;
mod follow;
mod http;
mod https;
mod interfaces;
mod mec;
mod metrics;
mod nats;
mod page;
mod probes;
mod run;
#[cfg(test)]
mod test_edge;

pub use crate::http_get::HttpUrl;
pub use config::{CellConfig, Config, ConfigError, CoreConfig, LiveFlowsFrom, PermissionsError};
pub use error::DaemonError;
pub use mec::Plmn;
pub use nats::{NatsConfig, SecretError};
pub use run::Daemon;

//! The daemon: a configuration file, sources, the service, metrics, the page of the live cell.

mod address;
mod audit_log;
mod config;
mod follow;
mod http;
mod https;
mod interfaces;
mod metrics;
mod mobile_core;
mod nats;
mod page;
mod port;
mod probes;
mod run;
mod sources;
#[cfg(test)]
mod test_edge;

pub use crate::http_get::HttpUrl;
pub use config::{CellConfig, Config, ConfigError, CoreConfig, LiveFlowsFrom, SourceConfig};
pub use nats::{NatsConfig, PermissionsError, SecretError};
pub use run::{Daemon, DaemonError};

//! The daemon: a configuration file, sources, the service, metrics, the page of the live cell.

mod config;
mod http;
mod https;
mod metrics;
mod nats;
mod page;
mod probes;
mod run;
mod sources;

pub use config::{CellConfig, Config, ConfigError, LiveFlowsFrom, SourceConfig};
pub use nats::{NatsConfig, PermissionsError, SecretError};
pub use run::{Daemon, DaemonError};

//! The daemon: a configuration file, sources, the service, metrics.

mod config;
mod http;
mod metrics;
mod nats;
mod probes;
mod run;

pub use config::{CellConfig, Config, ConfigError, LiveFlowsFrom, SourceConfig};
pub use nats::{NatsConfig, PermissionsError, SecretError};
pub use run::{Daemon, DaemonError};

//! What to run and what came out.
//!
//! | noun | what it is |
//! |---|---|
//! | [`PlanFile`] | the TOML file: schemes x traces x seeds over one set of conditions |
//! | [`Plan`] | the grid of runs, each with a content hash |
//! | [`Scenario`] | one run, fully resolved |
//! | [`Driver`], [`Watch`] | Scenario in, Record out; who looks on meanwhile |
//! | [`PathLinks`] | the links that every driver makes of a Scenario's path |
//! | [`Record`] | what came out: metrics with units in their keys, histograms, series |
//! | [`FlowMeter`] | how every driver measures |
//! | [`virtual_time`] | the event loop of every driver in virtual time |

mod ack_policy;
mod application;
mod assistance;
mod braces;
mod curve;
mod distribution;
mod driver;
mod endpoint;
mod fairness;
mod frames;
mod levels;
mod like_linux;
mod measured;
mod meter;
mod metrics;
mod mix;
mod path_links;
mod plan;
mod plan_file;
mod record;
mod recordings;
mod run_id;
mod scenario;
mod seeds;
mod series;
mod source;
mod tcp_backend;
mod udp_backend;
mod user_queues;
mod vary;
pub mod virtual_time;

pub use ack_policy::{AckFrequency, AckPolicy, DelayedAcks, ReceiveOffload};
pub use application::Application;
pub use assistance::{AdviceSupport, TracedPath};
pub use braces::{BraceError, expand_braces};
pub use cellcc_assist::{AdviceRoute, NetAssist, Outage, ReportSource};
pub use curve::Curve;
pub use distribution::{Distribution, Summary};
pub use driver::{Driver, ResolveError, RunError, Watch, schemes_of};
pub use endpoint::{Endpoint, LossDetection};
pub use fairness::Fairness;
pub use frames::Frames;
pub use like_linux::{linux_settings, unlike_settings};
pub use measured::MeasuredFlow;
pub use meter::{Delivery, FlowMeter};
pub use metrics::Metrics;
pub use mix::{Mix, MixError};
pub use path_links::PathLinks;
pub use plan::{LIMIT, Plan, PlanError, PlannedRun, same_scheme};
pub use plan_file::{PlanFile, Seeds, SeedsError};
pub use record::{FlowRecord, KeptUp, RealTime, Record, SCHEMA_VERSION};
pub use recordings::Recordings;
pub use run_id::{RunId, RunIdError};
pub use scenario::{CellSetup, DEFAULT_DRIVER, FlowSetup, Path, Reverse, Scenario, TRANSFER, row_name};
pub use seeds::{Offset, Randomness};
pub use series::{Column, Series};
pub use source::Source;
pub use tcp_backend::{TcpBackend, TcpRun};
pub use udp_backend::{FlowOutcome, UdpBackend, UdpEndpoints, UdpOutcome, UdpRun};
pub use user_queues::{UserQueues, UserReports};
pub use vary::{Variation, Vary, VaryError, varied};

//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Runs and their results.
//!
//! | noun | meaning |
//! |---|---|
//! | [`conditions`] | the conditions of a run: keys, flags, ranges, meanings |
//! | [`PlanFile`] | the TOML file: schemes x traces x seeds over one set of conditions |
//! | [`Plan`] | the grid of runs, each with a content hash |
//! | [`Scenario`] | one run, fully resolved |
//! | [`Driver`], [`Watch`] | Scenario in, Record out; a watch that can end a run |
//! | [`PathLinks`] | the links that every driver makes of a Scenario's path |
//! | [`Record`] | the results: metrics with units in their keys, histograms, series |
//! | [`METRICS`] | the scalars: key, unit, range, average, better direction, meaning |
//! | [`FlowMeter`] | how every driver measures |
//! | [`virtual_time`] | the event loop of every driver in virtual time |

mod ack_policy;
mod application;
mod assistance;
pub mod conditions;
mod driver;
mod endpoint;
mod error;
mod linux;
mod meters;
mod metrics;
mod path_links;
mod plans;
mod record;
mod recordings;
mod run_id;
mod scenario;
mod schemes;
mod shared;
mod source;
mod support;
mod tcp_backend;
mod udp_backend;
mod video;
pub mod virtual_time;

pub use ack_policy::{AckFrequency, AckPolicy, DelayedAcks, ReceiveOffload};
pub use application::Application;
pub use assistance::TracedPath;
pub use cellcc_assist::{NetAssist, Outage};
pub use cellcc_control::{AdviceRoute, ReportSource};
pub use driver::{Driver, Resolved, Watch, schemes_of};
pub use endpoint::{Endpoint, LossDetection};
pub use error::{ResolveError, RunError};
pub use linux::differing_settings;
pub use meters::curve::Curve;
pub use meters::distribution::{Distribution, Summary};
pub use meters::fairness::Fairness;
pub use meters::frames::{Frames, MediaOutcome};
pub use meters::measured::MeasuredFlow;
pub use meters::meter::{Delivery, FlowMeter};
pub use meters::series::{Column, Series};
pub use meters::user_queues::{UserQueues, UserReports};
pub use metrics::{Absent, Better, METRICS, Metric, Metrics, Shown, Value};
pub use path_links::PathLinks;
pub use plans::braces::{BraceError, expand_braces};
pub use plans::harm::{HEAD_START, next_to};
pub use plans::limit::{LIMIT, is_limit};
pub use plans::mix::{Mix, MixError};
pub use plans::plan::{Plan, PlanError, PlannedRun, same_scheme};
pub use plans::plan_file::{PlanFile, Seeds, SeedsError};
pub use plans::seeds::{Offset, Randomness};
pub use plans::vary::{Variation, Vary, VaryError, varied};
pub use record::{FlowRecord, KeptUp, RealTime, Record, SCHEMA_VERSION};
pub use recordings::Recordings;
pub use run_id::{RunId, RunIdError, file_of_run};
pub use scenario::{
    BROWSER, CellSetup, DEFAULT_DRIVER, FlowSetup, Path, Reverse, Scenario, TRANSFER, row_name,
};
pub use schemes::{registry, set_registry};
pub use shared::Shared;
pub use source::{Pace, Source};
pub use support::{NOQ, Support};
pub use tcp_backend::{TcpBackend, TcpRun};
pub use udp_backend::{FlowOutcome, UdpBackend, UdpEndpoints, UdpOutcome, UdpRun};

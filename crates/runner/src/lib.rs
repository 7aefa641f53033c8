//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Executes a [`Plan`](cellcc_experiment::Plan) with a [`Driver`](cellcc_experiment::Driver): several runs at a time,
//! every finished one kept at once, and a folder that is the same byte for byte however it came about.
//!
//! [`Drivers`] is the list of drivers, and those of a plan as one; [`Check`] and [`reproduce`] run the cases and the claims of
//! `cellcc-claims`, and [`score`] makes one number of a scheme, for the command line and for Python.
//!
//! | file in the output folder | content |
//! |---|---|
//! | `runs.jsonl` | the Records, one per line with its hash, in plan order; appears when all runs are done |
//! | `series/ID.csv` | the time series of the run with that id; of more than a thousand runs, `series/ID[..2]/ID.csv` |
//! | `curves/ID.csv` | its curves, where a scheme showed some, likewise |
//! | `scenario.toml` | the request: enough to run it again, or to resume it |
//! | `run-info.json` | everything that depends on the machine and the hour, and the plan: [`RunInfo`] |
//! | `finished.jsonl` | while running or interrupted: the Records so far, in the order in which they finished |
//! | `.cellcc-lock` | the process that is writing to the folder: [`OutputFolder`] |

#![allow(clippy::disallowed_methods, reason = "the runner measures wall time and runs on threads")]

mod check;
mod collect;
mod detail;
mod drivers;
mod error;
mod files;
mod merge;
mod pool;
pub mod ranges;
pub mod reproduce;
mod request;
mod resume;
mod runner;
pub mod score;
mod shard;
mod tally;
pub mod traces;

pub use check::Check;
pub use collect::{Collected, collect};
pub use detail::SeriesDetail;
pub use drivers::Drivers;
pub use error::{RunnerError, with_causes};
pub use files::info::{Failure, Host, Part, RunInfo, State, plan_sha256};
pub use files::output::{OutputFolder, lie_by_digits};
pub use files::results::{Results, SeriesOf};
pub use merge::{Merged, merge};
pub use pool::Progress;
pub use request::{Request, RequestError};
pub use runner::{Existing, Outcome, Runner, check_plan};
pub use shard::{Shard, ShardError};
pub use tally::Tally;

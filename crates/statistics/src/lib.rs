//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Averages and their uncertainty: the common part of tables, explanations and claims (docs/metrics.md has the reasons).
//!
//! Every interval comes from 1,999 resamples, and the same values give the same interval on every machine.

mod average;
mod rank;
mod resample;

pub use average::{Average, Certainty, FEWEST, Kind, mean};
pub use rank::rank_correlation;
pub use resample::{RESAMPLES, percentile_interval, resamples};

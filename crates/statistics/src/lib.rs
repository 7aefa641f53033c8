//! Averages, and how sure they are: what tables, explanations and claims have in common (docs/metrics.md says why it is as it is).
//!
//! Every interval comes from 1,999 resamples, and the same values give the same interval on every machine.

mod average;
mod rank;
mod resample;

pub use average::{Average, Certainty, FEWEST, Kind, mean};
pub use rank::rank_correlation;
pub use resample::{RESAMPLES, percentile_interval, resamples};

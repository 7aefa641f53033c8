//! Reasons for a missing Record: the input is wrong, or the run failed.

use cellcc_units::Time;
use thiserror::Error;

/// Input that no run can be made of. The message says where (a flag, a file, a key) and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ResolveError(pub String);

/// Reason why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RunError(pub String);

impl RunError {
    /// A [`Watch`](crate::Watch) ended the run at `now`.
    pub fn stopped(now: Time) -> Self {
        Self(format!("stopped at {} s of its time", now.as_secs_f64()))
    }
}

//! Scenario in, Record out.

use crate::{Record, Scenario};
use cellcc_control::{Registry, Scheme};
use thiserror::Error;

/// Runs Scenarios: in virtual time, over real sockets, through the kernel.
pub trait Driver: Sync {
    /// Checks everything that can be checked before a run (names, parameters, files, ranges) and fills in what the
    /// Scenario leaves to the driver: canonical scheme names, the trace's hash.
    ///
    /// # Errors
    /// What is wrong with the input and what to do about it: exit status 2.
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError>;

    /// Runs a resolved Scenario.
    ///
    /// # Errors
    /// Why this run failed; other runs go on: exit status 1.
    fn run(&self, scenario: &Scenario) -> Result<Record, RunError>;

    /// True where the run of a resolved Scenario takes real time: it has the machine to itself then, since whatever
    /// goes on beside it would show in its result.
    fn is_real_time(&self, _scenario: &Scenario) -> bool {
        false
    }
}

/// Input that no run can be made of. The message says where (a flag, a file, a key) and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ResolveError(pub String);

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RunError(pub String);

/// The schemes of a Scenario's flows.
///
/// # Errors
/// A text that names no scheme of the registry.
pub fn schemes_of(scenario: &Scenario, registry: &Registry) -> Result<Vec<Scheme>, ResolveError> {
    let schemes = scenario.flows.iter().map(|flow| registry.parse(&flow.scheme));
    schemes.collect::<Result<_, _>>().map_err(|error| ResolveError(error.to_string()))
}

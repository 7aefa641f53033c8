//! Scenario in, Record out.

use crate::{Record, ResolveError, RunError, Scenario};
use cellcc_control::{Registry, Scheme};
use cellcc_units::{Span, Time};
use std::ops::Deref;

/// A Scenario that a driver has resolved: only such a one can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved(pub(crate) Scenario);

impl Resolved {
    /// Has `driver` resolve a Scenario.
    ///
    /// # Errors
    /// Those of [`Driver::resolve`].
    pub fn by(driver: &dyn Driver, mut scenario: Scenario) -> Result<Self, ResolveError> {
        driver.resolve(&mut scenario)?;
        Ok(Self(scenario))
    }
}

impl Deref for Resolved {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        &self.0
    }
}

/// Runs Scenarios: in virtual time, over real sockets, through the kernel.
pub trait Driver: Sync {
    /// Checks everything that can be checked before a run (names, parameters, files, ranges) and fills in the fields that
    /// the Scenario leaves to the driver: canonical scheme names, the trace's hash. [`Resolved::by`] calls it.
    ///
    /// # Errors
    /// The mistake in the input and its remedy: exit status 2.
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError>;

    /// Runs a resolved Scenario.
    ///
    /// # Errors
    /// The run failed; other runs go on: exit status 1.
    fn run(&self, scenario: &Resolved) -> Result<Record, RunError>;

    /// Runs a resolved Scenario under a `watch`. Drivers in real time ignore it: their runs last as long as the Scenario says.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and an end by `watch`.
    fn run_watched(&self, scenario: &Resolved, _watch: &dyn Watch) -> Result<Record, RunError> {
        self.run(scenario)
    }

    /// True where the run of a resolved Scenario takes real time: it has the machine to itself then, since anything
    /// else that runs would show in its result.
    fn is_real_time(&self, _scenario: &Scenario) -> bool {
        false
    }

    /// About how long the run of a resolved Scenario keeps a processor busy, so that work can be shared out evenly. Unless a
    /// driver knows better, as long as the Scenario lasts, which is right for a run in real time.
    fn expected_time(&self, scenario: &Scenario) -> Span {
        scenario.duration
    }
}

/// Watches a run in virtual time, and can end it.
pub trait Watch: Sync {
    /// The run has come to `now`, and has been computing for some milliseconds since it asked last. False: it ends here.
    fn goes_on(&self, now: Time) -> bool;
}

/// Never ends a run.
impl Watch for () {
    fn goes_on(&self, _now: Time) -> bool {
        true
    }
}

/// The schemes of a Scenario's flows.
///
/// # Errors
/// A text that names no scheme of the registry.
pub fn schemes_of(scenario: &Scenario, registry: &Registry) -> Result<Vec<Scheme>, ResolveError> {
    let schemes = scenario.flows.iter().map(|flow| registry.parse(&flow.scheme));
    schemes.collect::<Result<_, _>>().map_err(|error| ResolveError(error.to_string()))
}

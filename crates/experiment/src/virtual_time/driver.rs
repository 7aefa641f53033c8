//! The loop as a [`Driver`].

use super::{Ends, Run};
use crate::assistance::TracedPath;
use crate::support::Support;
use crate::{Driver, Record, Recordings, ResolveError, Resolved, RunError, Scenario, Watch, schemes_of};
use cellcc_assist::Reports;
use cellcc_control::{Registry, Scheme, SchemeInfo};
use cellcc_link::{Capacities, TraceCache};

/// Makes the ends of flows for a driver in virtual time.
pub trait Transport: Sync {
    /// Both ends of a flow.
    type Ends: Ends;

    /// Name and features of the driver.
    const SUPPORT: Support;

    /// Makes the checks that only this driver needs.
    ///
    /// # Errors
    /// A feature that it cannot run, and the remedy.
    fn check(&self, scenario: &Scenario, schemes: &[Scheme]) -> Result<(), ResolveError>;

    /// The ends of every flow of a resolved Scenario. `registry`: whose receiver-side components the receivers run.
    ///
    /// # Errors
    /// The ends cannot be made.
    fn ends(
        &self,
        scenario: &Scenario,
        schemes: &[Scheme],
        registry: &Registry,
    ) -> Result<Vec<Self::Ends>, RunError>;
}

/// Runs Scenarios in virtual time over a transport.
#[derive(Debug)]
pub struct VirtualTime<T> {
    registry: Registry,
    links: TraceCache,
    transport: T,
    recordings: Recordings,
}

impl<T: Transport> VirtualTime<T> {
    /// A driver that knows the schemes of `registry`.
    pub fn new(registry: Registry, transport: T) -> Self {
        Self { registry, links: TraceCache::default(), transport, recordings: Recordings::default() }
    }

    /// Adds a scheme that the transport runs; one of the same name is replaced.
    pub fn register(&mut self, scheme: SchemeInfo) {
        self.registry.register(scheme);
    }

    /// The transport.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Adds recordings of the events of all flows.
    pub fn with_recordings(self, recordings: Recordings) -> Self {
        Self { recordings, ..self }
    }

    /// Capacities of a resolved Scenario's links.
    ///
    /// # Errors
    /// A link that cannot be opened.
    pub fn capacities(&self, scenario: &Scenario) -> Result<Capacities, ResolveError> {
        scenario.capacities(&self.links)
    }

    /// Begins the run of a resolved Scenario, to be stepped by the caller.
    ///
    /// # Errors
    /// A request of the Scenario that cannot be met.
    pub fn begin(&self, scenario: &Resolved) -> Result<Run<T::Ends>, RunError> {
        let capacities = self.capacities(scenario).map_err(failed)?;
        let schemes = schemes_of(scenario, &self.registry).map_err(failed)?;
        let schemes = self.recordings.of(scenario, schemes);
        let reports = reports::<T>(scenario, &schemes, &capacities).map_err(failed)?;
        let ends = self.transport.ends(scenario, &schemes, &self.registry)?;
        Run::new(scenario, T::SUPPORT.driver, capacities, ends.into_iter().zip(reports).collect())
    }
}

/// The network's reports for each flow.
fn reports<T: Transport>(
    scenario: &Scenario,
    schemes: &[Scheme],
    capacities: &Capacities,
) -> Result<Vec<Option<Reports<TracedPath>>>, ResolveError> {
    let schemes = schemes.iter().enumerate();
    schemes.map(|(index, scheme)| T::SUPPORT.reports(scenario, index, scheme, capacities)).collect()
}

impl<T: Transport> Driver for VirtualTime<T> {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        T::SUPPORT.check(scenario)?;
        let schemes = schemes_of(scenario, &self.registry)?;
        for (flow, scheme) in scenario.flows.iter_mut().zip(&schemes) {
            flow.scheme = scheme.text().into();
        }
        self.transport.check(scenario, &schemes)?;
        scenario.resolve_path(&self.links)?;
        reports::<T>(scenario, &schemes, &self.capacities(scenario)?).map(drop)
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        self.run_watched(scenario, &())
    }

    fn run_watched(&self, scenario: &Resolved, watch: &dyn Watch) -> Result<Record, RunError> {
        self.begin(scenario)?.finish_watched(watch)
    }
}

fn failed(error: ResolveError) -> RunError {
    RunError(error.to_string())
}

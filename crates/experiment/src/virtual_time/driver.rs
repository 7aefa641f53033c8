//! The loop as a [`Driver`].

use super::{Ends, Run};
use crate::assistance::TracedPath;
use crate::support::Support;
use crate::{Driver, Record, Recordings, ResolveError, RunError, Scenario, Watch, schemes_of};
use cellcc_assist::Reports;
use cellcc_control::{Registry, Scheme, SchemeInfo};
use cellcc_link::{Capacities, TraceCache};

/// How a driver in virtual time makes the ends of flows.
pub trait Transport: Sync {
    /// Both ends of a flow.
    type Ends: Ends;

    /// What the driver is called, and what it can do for schemes that ask for advice.
    const SUPPORT: Support;

    /// Checks what only this driver must check.
    ///
    /// # Errors
    /// What it cannot run, and what to do about it.
    fn check(&self, scenario: &Scenario, schemes: &[Scheme]) -> Result<(), ResolveError>;

    /// The ends of every flow of a resolved Scenario. `registry`: whose receiver-side components the receivers run.
    ///
    /// # Errors
    /// Why they cannot be made.
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

    /// The same, with the events of all flows recorded.
    pub fn with_recordings(self, recordings: Recordings) -> Self {
        Self { recordings, ..self }
    }

    /// What the links of a resolved Scenario can carry.
    ///
    /// # Errors
    /// A link that cannot be opened.
    pub fn capacities(&self, scenario: &Scenario) -> Result<Capacities, ResolveError> {
        scenario.capacities(&self.links)
    }

    /// Begins the run of a resolved Scenario, to be stepped by the caller.
    ///
    /// # Errors
    /// What the Scenario asks for and cannot be had.
    pub fn begin(&self, scenario: &Scenario) -> Result<Run<T::Ends>, RunError> {
        let capacities = self.capacities(scenario).map_err(failed)?;
        let schemes = schemes_of(scenario, &self.registry).map_err(failed)?;
        let schemes = self.recordings.of(scenario, schemes);
        let reports = reports::<T>(scenario, &schemes, &capacities).map_err(failed)?;
        let ends = self.transport.ends(scenario, &schemes, &self.registry)?;
        Run::new(scenario, T::SUPPORT.driver, capacities, ends.into_iter().zip(reports).collect())
    }
}

/// What the network tells each flow.
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

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        self.run_watched(scenario, &())
    }

    fn run_watched(&self, scenario: &Scenario, watch: &dyn Watch) -> Result<Record, RunError> {
        self.begin(scenario)?.finish_watched(watch)
    }
}

fn failed(error: ResolveError) -> RunError {
    RunError(error.to_string())
}

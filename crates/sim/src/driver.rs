//! The simulator as a [`Driver`].

use crate::ends::Ends;
use crate::limit;
use cellcc_control::{Registry, Scheme};
use cellcc_experiment::virtual_time::{Run, Transport, VirtualTime};
use cellcc_experiment::{
    DEFAULT_DRIVER, Driver, Record, Recordings, ResolveError, Resolved, RunError, Scenario, Support, Watch,
    is_limit,
};
use cellcc_link::Capacity;
use cellcc_units::{Span, Time};
use std::sync::Arc;

/// Runs Scenarios in virtual time.
pub struct SimDriver(VirtualTime<Packets>);

/// CPU time per packet. Only the ratio of one run to another decides which share of a plan it goes to, so that a
/// faster machine has the same shares. Measured as 5.5 million packets a second, with CUBIC at 10 Mbit/s on 2 GHz.
const TIME_PER_PACKET: Span = Span::from_nanos(180);

/// Flows of plain packets.
struct Packets;

impl SimDriver {
    /// A simulator that knows the schemes of `registry`.
    pub fn new(registry: Registry) -> Self {
        Self(VirtualTime::new(registry, Packets))
    }

    /// Records the events of all flows.
    pub fn with_recordings(self, recordings: Recordings) -> Self {
        Self(self.0.with_recordings(recordings))
    }

    /// Begins the run of a resolved Scenario, to be stepped by the caller: by time, or from one decision of a scheme to
    /// the next.
    ///
    /// # Errors The part of the Scenario that is not supported.
    pub fn begin(&self, scenario: &Resolved) -> Result<Run<Ends>, RunError> {
        self.0.begin(scenario)
    }

    fn run_limit(&self, scenario: &Scenario, watch: &dyn Watch) -> Result<Record, RunError> {
        let failed = |error: ResolveError| RunError(error.to_string());
        let capacities = self.0.capacities(scenario).map_err(failed)?;
        let there = scenario.forward_delay().map_err(failed)?;
        let back = scenario.reverse_delay().map_err(failed)?;
        let capacity = &capacities.forward[0];
        let flows = scenario.limit_flows().map_err(|error| RunError(error.to_string()))?;
        let measured = limit::measure(scenario, &flows, capacity, [&there, &back], watch)?;
        Ok(Record::of_flows(scenario, DEFAULT_DRIVER, measured, &capacities, Vec::new()))
    }
}

impl Driver for SimDriver {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.0.resolve(scenario)
    }

    /// The packets that the links can carry in the Scenario's time, which most schemes send.
    fn expected_time(&self, scenario: &Scenario) -> Span {
        let Ok(capacities) = self.0.capacities(scenario) else { return scenario.duration };
        let end = Time::ZERO + scenario.duration;
        let bytes = |capacity: &Arc<Capacity>| capacity.bytes_between(Time::ZERO, end).get();
        let bytes = capacities.forward.iter().map(bytes).fold(0, u64::saturating_add);
        TIME_PER_PACKET * (bytes / scenario.endpoint.packet().get().max(1))
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        self.run_watched(scenario, &())
    }

    fn run_watched(&self, scenario: &Resolved, watch: &dyn Watch) -> Result<Record, RunError> {
        if is_limit(&scenario.scheme) && scenario.flows.is_empty() {
            self.run_limit(scenario, watch)
        } else {
            self.0.run_watched(scenario, watch)
        }
    }
}

impl Transport for Packets {
    type Ends = Ends;

    const SUPPORT: Support = Support::SIM;

    fn check(&self, _scenario: &Scenario, _schemes: &[Scheme]) -> Result<(), ResolveError> {
        Ok(())
    }

    fn ends(
        &self,
        scenario: &Scenario,
        schemes: &[Scheme],
        _registry: &Registry,
    ) -> Result<Vec<Ends>, RunError> {
        let schemes = schemes.iter().enumerate();
        Ok(schemes.map(|(index, scheme)| Ends::new(scenario, index, scheme)).collect())
    }
}

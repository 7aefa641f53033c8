//! The real stack in virtual time as a [`Driver`].

use super::control::{Foreign, noqs};
use super::crypto::Protection;
use super::flow::{FlowSettings, QuicEnds};
use super::settings::{Settings, full_payload};
use cellcc_control::{Registry, Scheme, SchemeInfo};
use cellcc_experiment::virtual_time::{Run, Transport, VirtualTime};
use cellcc_experiment::{
    Driver, Randomness, Record, Recordings, ResolveError, Resolved, RunError, Scenario, Support, Watch,
};
use cellcc_quic::{Clock, Congestion};
use noq_proto::congestion::ControllerFactory;
use std::sync::Arc;
use std::time::Instant;

/// Runs Scenarios in virtual time with noq at both ends.
///
/// A flow's connection is opened when the flow starts: data follow one round-trip time later, as with TCP. `Endpoint`'s
/// headers count towards the size of a full packet; QUIC's own are within it.
pub struct VirtualDriver(VirtualTime<Quic>);

/// Connections of noq.
struct Quic {
    protection: Protection,
    clock: Clock,
    /// Controllers of noq's interface; the registry has their names.
    foreign: Vec<Foreign>,
}

impl VirtualDriver {
    /// Its name in Scenarios and Records.
    pub const NAME: &'static str = Support::QUIC_VIRTUAL.driver;

    /// A driver that knows the schemes of `registry`, and noq's own as `noq:newreno`, `noq:cubic` and `noq:bbr3`.
    pub fn new(registry: Registry) -> Self {
        Self::with_protection(registry, Protection::default())
    }

    /// Protects packets like this.
    pub fn with_protection(registry: Registry, protection: Protection) -> Self {
        // noq uses the standard library's instants, which only `now` creates. Only differences matter.
        let clock = Clock::new(Instant::now());
        let driver = Self(VirtualTime::new(registry, Quic { protection, clock, foreign: Vec::new() }));
        noqs().into_iter().fold(driver, Self::with_foreign)
    }

    /// Lets Scenarios name `factory`'s controllers `name`; a scheme of the same name is replaced. noq runs them with its own
    /// pacer, as in its users' programs. `name` has none of the signs `( ) + * : @ ~ #`.
    pub fn with_controller(self, name: &str, factory: Arc<dyn ControllerFactory + Send + Sync>) -> Self {
        self.with_foreign(Foreign { name: name.into(), factory, note: None })
    }

    fn with_foreign(mut self, foreign: Foreign) -> Self {
        self.0.register(SchemeInfo::of_transport(
            foreign.name.clone(),
            "a congestion controller of noq's interface",
            "",
        ));
        // The last of a name is found first.
        self.0.transport_mut().foreign.insert(0, foreign);
        self
    }

    /// Records the events of all flows.
    pub fn with_recordings(self, recordings: Recordings) -> Self {
        Self(self.0.with_recordings(recordings))
    }

    /// Begins the run of a resolved Scenario. The caller steps it, by time or from one decision of a scheme to the next.
    ///
    /// # Errors
    /// The Scenario asks for something that is not available.
    pub fn begin(&self, scenario: &Resolved) -> Result<Run<QuicEnds>, RunError> {
        self.0.begin(scenario)
    }
}

impl Driver for VirtualDriver {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.0.resolve(scenario)
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        self.0.run(scenario)
    }

    fn run_watched(&self, scenario: &Resolved, watch: &dyn Watch) -> Result<Record, RunError> {
        self.0.run_watched(scenario, watch)
    }
}

impl Transport for Quic {
    type Ends = QuicEnds;

    const SUPPORT: Support = Support::QUIC_VIRTUAL;

    fn check(&self, scenario: &Scenario, schemes: &[Scheme]) -> Result<(), ResolveError> {
        for scheme in schemes.iter().filter(|scheme| self.foreign(scheme).is_none()) {
            Congestion::in_virtual_time(scheme.clone()).map_err(|error| ResolveError(error.to_string()))?;
        }
        full_payload(&scenario.endpoint).map(drop)
    }

    fn ends(
        &self,
        scenario: &Scenario,
        schemes: &[Scheme],
        registry: &Registry,
    ) -> Result<Vec<QuicEnds>, RunError> {
        let noq = Settings::new(&scenario.endpoint, self.protection)?;
        let flows = scenario.flows.iter().zip(schemes).enumerate();
        let flows = flows.map(|(index, (setup, scheme))| {
            let seed = scenario.seed_of(Randomness::Flow(index));
            let (scheme, foreign) = (scheme.clone(), self.foreign(scheme));
            let settings = FlowSettings { noq: &noq, scheme, foreign, seed, registry, clock: self.clock };
            QuicEnds::new(scenario, setup, settings)
        });
        flows.collect()
    }
}

impl Quic {
    /// The controller that runs in place of a scheme's own.
    fn foreign(&self, scheme: &Scheme) -> Option<&Foreign> {
        self.foreign.iter().find(|foreign| foreign.name == scheme.info().name)
    }
}

//! The emulated paths of Scenarios: checks them, and runs flows over them.

use super::run::{MTU, Run, Workload, run};
use crate::emulation::DEFAULT_GRANULARITY;
use crate::error::EmuError;
use crate::namespace::enter_user_namespace_if_needed;
use crate::stage::Stages;
use crate::topology::{Servers, Topology, TopologySpec};
use cellcc_experiment::{Endpoint, FlowSetup, ResolveError, RunError, Scenario};
use cellcc_link::TraceCache;
use cellcc_units::{Bytes, Time};

/// The paths of a driver in real time.
#[derive(Debug)]
pub(crate) struct Paths {
    driver: &'static str,
    links: TraceCache,
}

impl Paths {
    /// The paths of the driver of this name. It first shows that this machine can emulate a path. Call it before the
    /// process has a second thread: an ordinary user gets a user namespace.
    ///
    /// # Errors A missing right or feature of the machine, and the remedy.
    pub(crate) fn new(driver: &'static str) -> Result<Self, EmuError> {
        enter_user_namespace_if_needed()?;
        Topology::build(&TopologySpec { users: 1, servers: Servers::Apart, backend: None, mtu: MTU })?;
        Ok(Self { driver, links: TraceCache::default() })
    }

    /// The driver's name.
    pub(crate) fn driver(&self) -> &'static str {
        self.driver
    }

    /// Checks a Scenario's path and fills in the parts left to the driver.
    pub(crate) fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.check_endpoint(&scenario.endpoint)?;
        scenario.flows.iter().try_for_each(|flow| self.check_flow(flow))?;
        scenario.resolve_path(&self.links)?;
        Stages::new(scenario, &scenario.capacities(&self.links)?).map(drop)
    }

    /// Runs the flows of a resolved Scenario.
    pub(crate) fn run<T: Workload>(&self, scenario: &Scenario, workload: &T) -> Result<Run<T>, RunError> {
        let failed = |error: ResolveError| RunError(error.to_string());
        let capacities = scenario.capacities(&self.links).map_err(failed)?;
        let stages = Stages::new(scenario, &capacities).map_err(failed)?;
        let end = Time::ZERO + scenario.duration;
        let delay = stages.down.iter().map(|stage| stage.path.longest_way(end)).max().unwrap_or_default();
        let run = run(scenario, workload, (stages, capacities), DEFAULT_GRANULARITY, delay);
        run.map_err(|error| RunError(error.to_string()))
    }

    /// Refuses settings that real endpoints do not have, rather than ignoring them.
    fn check_endpoint(&self, endpoint: &Endpoint) -> Result<(), ResolveError> {
        let usual = Endpoint::default();
        let asked = [("mss", endpoint.mss, usual.mss), ("header", endpoint.header, usual.header)];
        let refused = |(key, asked, usual): (&str, Bytes, Bytes)| {
            ResolveError(format!(
                "endpoint.{key} = {asked}: the packets of the driver `{}` are its own, as for endpoint.{key} = {usual}; \
                 leave the key out, or the scheme to the driver `sim`",
                self.driver
            ))
        };
        asked.into_iter().find(|(_, asked, usual)| asked != usual).map_or(Ok(()), |it| Err(refused(it)))
    }

    fn check_flow(&self, flow: &FlowSetup) -> Result<(), ResolveError> {
        if !flow.extra_rtt.is_zero() {
            return Err(ResolveError(format!(
                "flow `{}~{}`: the driver `{}` gives all flows the same path; leave out `~{}`, or leave the flow to \
                 the driver `sim`",
                flow.scheme, flow.extra_rtt, self.driver, flow.extra_rtt
            )));
        }
        Ok(())
    }
}

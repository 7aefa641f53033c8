//! The kernel as a [`Driver`].

use super::notes::notes;
use super::run::{Outcome, run};
use super::schemes::{Available, kernel_version};
use crate::emulation::{DEFAULT_GRANULARITY, DirectionReport};
use crate::error::EmuError;
use crate::namespace::enter_user_namespace_if_needed;
use crate::path::stages;
use crate::topology::{Topology, TopologySpec};
use cellcc_experiment::{
    Driver, Endpoint, FlowSetup, KeptUp, MeasuredFlow, Offered, RealTime, Record, ResolveError, RunError,
    Scenario,
};
use cellcc_link::{Capacities, Shelf};
use cellcc_units::Time;

/// Runs Scenarios in real time: the TCP of this machine's kernel through the emulator.
#[derive(Debug)]
pub struct KernelDriver {
    links: Shelf,
    available: Available,
}

impl KernelDriver {
    /// Its name in Scenarios and Records.
    pub const NAME: &'static str = "kernel";

    /// A driver that has shown that it can emulate a path on this machine. Must be called before the process has a
    /// second thread: an ordinary user gets a user namespace.
    ///
    /// # Errors
    /// What the machine does not allow, and what to do about it.
    pub fn new() -> Result<Self, EmuError> {
        enter_user_namespace_if_needed()?;
        Topology::build(&TopologySpec { users: 1, isolated: true, backend: None, mtu: super::run::MTU })?;
        Ok(Self { links: Shelf::default(), available: Available::now() })
    }

    fn kernel_names(&self, scenario: &Scenario) -> Result<Vec<&str>, ResolveError> {
        let names = scenario.flows.iter().map(|flow| self.available.kernel_name(&flow.scheme));
        names.collect::<Result<_, _>>().map_err(ResolveError)
    }
}

impl Driver for KernelDriver {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.kernel_names(scenario)?;
        check_endpoint(&scenario.endpoint)?;
        scenario.flows.iter().try_for_each(check_flow)?;
        scenario.resolve_path(&self.links)?;
        stages(scenario, &scenario.capacities(&self.links)?).map(drop)
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        let failed = |error: ResolveError| RunError(error.to_string());
        let capacities = scenario.capacities(&self.links).map_err(failed)?;
        let names = self.kernel_names(scenario).map_err(failed)?;
        let stages = stages(scenario, &capacities).map_err(failed)?;
        let end = Time::ZERO + scenario.duration;
        let delay = scenario.forward_delay().map_err(failed)?.at(end)
            + scenario.path.jitter
            + scenario.path.reordered_by;
        let outcome = run(scenario, &names, stages, DEFAULT_GRANULARITY, delay);
        let outcome = outcome.map_err(|error| RunError(error.to_string()))?;
        let mut record = record(scenario, &outcome, &capacities);
        record.note_repetition(capacities.forward[0].period());
        Ok(record)
    }

    fn is_real_time(&self, _: &Scenario) -> bool {
        true
    }
}

fn record(scenario: &Scenario, outcome: &Outcome, capacities: &Capacities) -> Record {
    let flows = outcome.conversations.iter().zip(&scenario.flows).map(|(conversation, setup)| MeasuredFlow {
        scheme: &setup.scheme,
        user: setup.user,
        active: conversation.active(),
        meter: conversation.meter(),
        completed_at: conversation.completed_at(),
        frames: conversation.frames(),
        delay_target_ms: None,
    });
    let offered = Offered {
        users: capacities.forward.len(),
        bytes: &|user, from, to| capacities.forward[user].bytes_between(from, to),
        rate: &|from, to| capacities.forward[0].rate_in(from, to),
    };
    let record = Record::of_flows(scenario, KernelDriver::NAME, &flows.collect::<Vec<_>>(), offered);
    let real_time = RealTime {
        kernel: kernel_version(),
        uplink: kept_up(&outcome.report.up),
        downlink: kept_up(&outcome.report.down),
    };
    Record { notes: notes(scenario, &outcome.sent, &outcome.report), real_time: Some(real_time), ..record }
}

fn kept_up(report: &DirectionReport) -> KeptUp {
    KeptUp {
        late_p50_us: report.late_p50_us,
        late_p99_us: report.late_p99_us,
        late_max_us: report.late_max_us,
        device_drops: report.device_drops,
        cpu_share: report.cpu_share,
    }
}

/// What the kernel's endpoints cannot be told is refused, rather than left out silently.
fn check_endpoint(endpoint: &Endpoint) -> Result<(), ResolveError> {
    let usual = Endpoint::default();
    let refused = |key: &str, value: String, kernels: String| {
        ResolveError(format!(
            "endpoint.{key} = {value}: the kernel's packets have {kernels}; leave the key out, or the scheme to the \
             driver `sim`"
        ))
    };
    if endpoint.mss != usual.mss {
        return Err(refused("mss", endpoint.mss.to_string(), usual.mss.to_string()));
    }
    if endpoint.header != usual.header {
        return Err(refused("header", endpoint.header.to_string(), usual.header.to_string()));
    }
    Ok(())
}

fn check_flow(flow: &FlowSetup) -> Result<(), ResolveError> {
    if !flow.extra_rtt.is_zero() {
        return Err(ResolveError(format!(
            "flow `{}~{}`: the driver `kernel` gives all flows the same path; leave out `~{}`, or leave the flow to \
             the driver `sim`",
            flow.scheme, flow.extra_rtt, flow.extra_rtt
        )));
    }
    Ok(())
}

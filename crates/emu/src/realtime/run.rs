//! One run in real time: topology, emulation, the endpoints of every flow, and the measurement.

use super::watch::{Watch, Watched, port_of_flow};
use crate::emulation::{Clock, DirectionReport, Emulation, EmulationSpec, SelfReport};
use crate::error::EmuError;
use crate::queue_counts::QueueCounts;
use crate::stage::Stages;
use crate::topology::{Servers, Topology, TopologySpec, User};
use cellcc_experiment::{FlowSetup, KeptUp, MeasuredFlow, RealTime, Record, Scenario, UserQueues};
use cellcc_link::{Capacities, OwnCounters};
use cellcc_units::{Span, Time};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};

/// The MTU of Ethernet: the simulator's full packets of 1500 bytes.
pub(super) const MTU: u16 = 1500;

/// The time that the last packets may take beyond the path's delay.
const LATECOMERS: Span = Span::from_millis(50);

/// The flows of one run: their endpoints, and their meters.
pub(crate) trait Workload {
    /// The meter of a flow.
    type Flow: Watched;
    /// The sockets of all flows.
    type Endpoints;
    /// The endpoints' report at the end.
    type Outcome;

    /// The meter of each flow.
    fn flows(&self) -> Vec<Self::Flow>;

    /// Opens the sockets of all flows, before the clock starts.
    fn open(&self, topology: &Topology) -> Result<Self::Endpoints, EmuError>;

    /// Lets every flow send and receive. Returns at [`Running::until`].
    fn run(&self, endpoints: Self::Endpoints, running: Running) -> Result<Self::Outcome, EmuError>;
}

/// An emulation that has begun.
pub(crate) struct Running {
    pub(crate) clock: Clock,
    /// The users' queues.
    pub(crate) queues: Arc<dyn UserQueues>,
    /// The arrival of the packets that are in flight at the Scenario's end.
    pub(crate) until: Time,
}

/// The result of a run.
pub(crate) struct Run<T: Workload> {
    /// Each flow, as measured at the links.
    pub(crate) flows: Vec<T::Flow>,
    /// The endpoints' report.
    pub(crate) outcome: T::Outcome,
    /// The emulator's report on its own punctuality.
    pub(crate) report: SelfReport,
    capacities: Capacities,
    queues: Arc<QueueCounts>,
}

/// Runs flows over `stages`. `granularity` is that of the emulation; `delay` is the longest one-way delay to the
/// receivers at the end.
pub(super) fn run<T: Workload>(
    scenario: &Scenario,
    workload: &T,
    (stages, capacities): (Stages, Capacities),
    granularity: Span,
    delay: Span,
) -> Result<Run<T>, EmuError> {
    let users = 1 + scenario.cell.as_ref().map_or(0, |cell| cell.users.len());
    let topology =
        Topology::build(&TopologySpec { users, servers: Servers::Apart, backend: None, mtu: MTU })?;
    let endpoints = workload.open(&topology)?;
    let watch = Watch::start(workload.flows())?;
    let receive_offload = scenario.endpoint.receive_offload;
    let (up, down) = (stages.up, stages.down);
    let queues = Arc::new(QueueCounts::default());
    let queue_counts = Some(Arc::clone(&queues));
    let taps = Some(watch.taps());
    let spec = EmulationSpec { up, down, granularity, receive_offload, taps, queue_counts };
    let emulation = Emulation::start(topology, spec)?;
    let until = Time::ZERO + scenario.duration + delay + LATECOMERS;
    let running = Running { clock: emulation.clock(), queues: Arc::clone(&queues) as _, until };
    let outcome = workload.run(endpoints, running);
    // Stopping the emulation drops the taps: only then has the meter seen everything.
    let report = emulation.stop();
    let flows = watch.finish();
    Ok(Run { flows, outcome: outcome?, report: report?, capacities, queues })
}

impl<T: Workload> Run<T> {
    /// The own counters of a user's queue in the direction of the data.
    pub(crate) fn queue(&self, user: usize) -> OwnCounters {
        self.queues.own(user)
    }

    /// The Record of `driver`, from the flows as measured.
    pub(crate) fn record(
        &self,
        scenario: &Scenario,
        driver: &str,
        flows: Vec<MeasuredFlow<'_>>,
        notes: Vec<String>,
    ) -> Record {
        let real_time = RealTime {
            kernel: kernel_version(),
            uplink: kept_up(&self.report.up),
            downlink: kept_up(&self.report.down),
        };
        let record = Record::of_flows(scenario, driver, flows, &self.capacities, notes);
        Record { real_time: Some(real_time), ..record }
    }
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

/// The user of flow `index`, and the address of its receiver.
pub(crate) fn receiver_of<'a>(
    topology: &'a Topology,
    index: usize,
    setup: &FlowSetup,
) -> Result<(&'a User, SocketAddr), EmuError> {
    let user = topology.users.get(setup.user).ok_or_else(|| {
        EmuError::Input(format!("flow `{}` belongs to user {}, which is not there", setup.scheme, setup.user))
    })?;
    let port = port_of_flow(index);
    let port = port.ok_or_else(|| EmuError::Input("there are too many flows in one run".into()))?;
    Ok((user, SocketAddr::from((user.address4, port))))
}

/// The version of the running kernel: `6.18.44`.
pub(crate) fn kernel_version() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Starts a thread of this name.
pub(crate) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, EmuError> {
    let thread = std::thread::Builder::new().name(name.into()).spawn_scoped(scope, work);
    thread.map_err(EmuError::system("start a thread"))
}

/// Waits for a thread.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

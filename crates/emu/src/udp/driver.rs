//! A [`UdpBackend`] as a [`Driver`].

use super::flow::UdpFlow;
use crate::error::EmuError;
use crate::realtime::{Paths, Running, Workload, receiver_of};
use crate::sys;
use crate::topology::Topology;
use cellcc_experiment::{
    Driver, FlowOutcome, FlowSetup, MeasuredFlow, Record, ResolveError, Resolved, RunError, Scenario,
    UdpBackend, UdpEndpoints, UdpOutcome, UdpRun,
};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;

/// More than this share of a flow's packets lost in the receiver's socket changes its sender's behaviour: a tenth of the
/// smallest random loss of published comparisons (1 %).
const LOST_IN_SOCKET: f64 = 0.001;

/// Runs Scenarios in real time: the flows of a backend through the emulator.
#[derive(Debug)]
pub struct UdpDriver<P> {
    paths: Paths,
    backend: P,
}

impl<P: UdpBackend> UdpDriver<P> {
    /// The driver `name` with the flows of `backend`. It first shows that this machine can emulate a path. Call it
    /// before the process has a second thread: an ordinary user gets a user namespace.
    ///
    /// # Errors A missing right or feature of the machine, and the remedy.
    pub fn new(name: &'static str, backend: P) -> Result<Self, EmuError> {
        Ok(Self { paths: Paths::new(name)?, backend })
    }
}

impl<P: UdpBackend> Driver for UdpDriver<P> {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.backend.resolve(scenario)?;
        self.paths.resolve(scenario)
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        let run = self.paths.run(scenario, &Flows { scenario, backend: &self.backend })?;
        let UdpOutcome { flows: outcomes, notes } = run.outcome.as_ref().map_err(Clone::clone)?;
        let pairs = || run.flows.iter().zip(outcomes);
        let flows = pairs().zip(&scenario.flows).map(|((flow, ends), setup)| {
            let (start, stop) = flow.active();
            let active = (start, ends.completed_at.unwrap_or(stop).min(stop));
            let meter = flow.meter().clone().with_ends(ends.meter.clone());
            MeasuredFlow {
                completed_at: ends.completed_at,
                frames: ends.frames,
                delay_target_ms: ends.delay_target_ms,
                queue: run.queue(setup.user),
                ecn_validation: ends.ecn_validation,
                ..MeasuredFlow::new(&setup.scheme, setup.user, active, meter)
            }
        });
        let lost = pairs().enumerate().filter_map(|(index, (flow, ends))| lost_in_socket(index, flow, ends));
        let notes = notes.iter().cloned().chain(run.report.warnings()).chain(lost).collect();
        Ok(run.record(scenario, self.paths.driver(), flows.collect(), notes))
    }

    fn is_real_time(&self, _: &Scenario) -> bool {
        true
    }
}

fn lost_in_socket(index: usize, flow: &UdpFlow, ends: &FlowOutcome) -> Option<String> {
    let lost = flow.arrived_packets().saturating_sub(ends.received_packets);
    (lost as f64 > flow.arrived_packets() as f64 * LOST_IN_SOCKET).then(|| {
        format!(
            "{lost} of the {} packets that arrived for flow {} were lost in its receiver's socket: it came too late to \
             its processor; use a lower rate, or leave it more of the processors",
            flow.arrived_packets(),
            index + 1
        )
    })
}

/// The flows of a Scenario, run by a backend.
struct Flows<'a, P> {
    scenario: &'a Scenario,
    backend: &'a P,
}

impl<P: UdpBackend> Workload for Flows<'_, P> {
    type Flow = UdpFlow;
    type Endpoints = Vec<UdpEndpoints>;
    type Outcome = Result<UdpOutcome, RunError>;

    fn flows(&self) -> Vec<UdpFlow> {
        self.scenario.flows.iter().map(|setup| UdpFlow::new(self.scenario, setup)).collect()
    }

    fn open(&self, topology: &Topology) -> Result<Vec<UdpEndpoints>, EmuError> {
        let flows = self.scenario.flows.iter().enumerate();
        flows.map(|(index, setup)| open(topology, index, setup)).collect()
    }

    fn run(&self, endpoints: Vec<UdpEndpoints>, running: Running) -> Result<Self::Outcome, EmuError> {
        let Running { clock, queues, until } = running;
        Ok(self.backend.run(UdpRun {
            scenario: self.scenario,
            endpoints,
            queues,
            epoch: clock.zero(),
            until,
        }))
    }
}

/// The receive buffer of a socket: at 2 Gbit/s the receiver's thread may be 15 ms late. The kernel counts the memory of whole
/// packets; about half of it is data.
const SOCKET_BYTES: i32 = 1 << 23;

/// The sockets of flow `index`, each in the network namespace of its side, whatever thread uses them.
fn open(topology: &Topology, index: usize, setup: &FlowSetup) -> Result<UdpEndpoints, EmuError> {
    let (user, to) = receiver_of(topology, index, setup)?;
    let from = SocketAddr::from((topology.outside().address4, 0));
    let receiver = user.namespace.run(|| bind(to))?.map_err(EmuError::system("open a receiver's socket"))?;
    let sender = topology.outside().namespace.run(|| bind(from))?;
    Ok(UdpEndpoints { sender: sender.map_err(EmuError::system("open a sender's socket"))?, receiver })
}

fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    sys::set_buffers(socket.as_fd(), SOCKET_BYTES, SOCKET_BYTES)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

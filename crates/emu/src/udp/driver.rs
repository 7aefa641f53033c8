//! A player of UDP flows as a [`Driver`].

use super::ends;
use super::flow::UdpFlow;
use crate::emulation::Clock;
use crate::error::EmuError;
use crate::realtime::{Paths, Traffic};
use crate::topology::Topology;
use cellcc_experiment::{
    Driver, MeasuredFlow, Played, PlayedFlow, Record, ResolveError, RunError, Scenario, UdpEnds, UdpPlay,
    UdpPlayer,
};
use cellcc_units::Time;

/// More than this share of a flow's packets lost in the receiver's socket shows in what its sender does: a tenth of the
/// random loss that published comparisons begin with (1 %).
const LOST_IN_SOCKET: f64 = 0.001;

/// Runs Scenarios in real time: the flows of a player through the emulator.
#[derive(Debug)]
pub struct UdpDriver<P> {
    paths: Paths,
    player: P,
}

impl<P: UdpPlayer> UdpDriver<P> {
    /// The driver `name`, whose flows `player` plays, that has shown that it can emulate a path on this machine. Must be
    /// called before the process has a second thread: an ordinary user gets a user namespace.
    ///
    /// # Errors
    /// What the machine does not allow, and what to do about it.
    pub fn new(name: &'static str, player: P) -> Result<Self, EmuError> {
        Ok(Self { paths: Paths::new(name)?, player })
    }
}

impl<P: UdpPlayer> Driver for UdpDriver<P> {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.player.resolve(scenario)?;
        self.paths.resolve(scenario)
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        let run = self.paths.run(scenario, &Flows { scenario, player: &self.player })?;
        let Played { flows: played, notes } = run.told.as_ref().map_err(Clone::clone)?;
        let pairs = || run.flows.iter().zip(played);
        let meters: Vec<_> =
            pairs().map(|(flow, ends)| flow.meter().clone().with_ends(ends.meter.clone())).collect();
        let flows = pairs().zip(&scenario.flows).zip(&meters).map(|(((flow, ends), setup), meter)| {
            let (start, stop) = flow.active();
            MeasuredFlow {
                scheme: &setup.scheme,
                user: setup.user,
                active: (start, ends.completed_at.unwrap_or(stop).min(stop)),
                meter,
                completed_at: ends.completed_at,
                frames: ends.frames,
                delay_target_ms: ends.delay_target_ms,
            }
        });
        let lost = pairs().enumerate().filter_map(|(index, (flow, ends))| lost_in_socket(index, flow, ends));
        let notes = notes.iter().cloned().chain(run.report.warnings()).chain(lost).collect();
        Ok(run.record(scenario, self.paths.driver(), &flows.collect::<Vec<_>>(), notes))
    }

    fn is_real_time(&self, _: &Scenario) -> bool {
        true
    }
}

fn lost_in_socket(index: usize, flow: &UdpFlow, ends: &PlayedFlow) -> Option<String> {
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

/// The flows of a Scenario, as a player plays them.
struct Flows<'a, P> {
    scenario: &'a Scenario,
    player: &'a P,
}

impl<P: UdpPlayer> Traffic for Flows<'_, P> {
    type Flow = UdpFlow;
    type Ends = Vec<UdpEnds>;
    type Told = Result<Played, RunError>;

    fn flows(&self) -> Vec<UdpFlow> {
        self.scenario.flows.iter().map(|setup| UdpFlow::new(self.scenario, setup)).collect()
    }

    fn open(&self, topology: &Topology) -> Result<Vec<UdpEnds>, EmuError> {
        let flows = self.scenario.flows.iter().enumerate();
        flows.map(|(index, setup)| ends::open(topology, index, setup)).collect()
    }

    fn play(&self, ends: Vec<UdpEnds>, clock: Clock, until: Time) -> Result<Self::Told, EmuError> {
        Ok(self.player.play(UdpPlay { scenario: self.scenario, ends, epoch: clock.zero(), until }))
    }
}

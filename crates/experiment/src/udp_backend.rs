//! Runs the flows of a Scenario over real sockets, while the caller emulates the path between them.

use crate::{FlowMeter, ResolveError, RunError, Scenario, UserQueues};
use cellcc_units::Time;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Instant;

/// Runs the flows of a Scenario over the UDP sockets that it is given.
pub trait UdpBackend: Sync {
    /// Checks the flows and their endpoints, and replaces the names of schemes by their canonical names.
    ///
    /// # Errors
    /// A request that a flow over these sockets cannot meet, with the remedy.
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError>;

    /// Runs all flows, and returns at [`UdpRun::until`].
    ///
    /// # Errors
    /// A flow ended before its time.
    fn run(&self, run: UdpRun<'_>) -> Result<UdpOutcome, RunError>;
}

/// A run over sockets.
#[derive(Debug)]
pub struct UdpRun<'a> {
    /// A resolved Scenario.
    pub scenario: &'a Scenario,
    /// The sockets of each flow.
    pub endpoints: Vec<UdpEndpoints>,
    /// The users' queues.
    pub queues: Arc<dyn UserQueues>,
    /// [`Time::ZERO`].
    pub epoch: Instant,
    /// Time to return: some time after the Scenario's end, so that packets in flight have arrived.
    pub until: Time,
}

/// The two sockets of a flow, each bound to the address that the other sends to.
#[derive(Debug)]
pub struct UdpEndpoints {
    /// The data sender's.
    pub sender: UdpSocket,
    /// The receiver's.
    pub receiver: UdpSocket,
}

/// Measurements of the endpoints, in addition to those of the path.
#[derive(Debug)]
pub struct UdpOutcome {
    /// Each flow.
    pub flows: Vec<FlowOutcome>,
    /// Notes for the reader of the Record.
    pub notes: Vec<String>,
}

/// Measurements of a flow's two endpoints.
#[derive(Debug)]
pub struct FlowOutcome {
    /// Round-trip times, retransmissions, and values recorded at the ends of bins.
    pub meter: FlowMeter,
    /// Time at which the last byte of a sized source was acknowledged.
    pub completed_at: Option<Time>,
    /// Number of frames, and the share that missed its deadline.
    pub frames: Option<(u64, f64)>,
    /// The scheme's delay target in milliseconds, for schemes that have one.
    pub delay_target_ms: Option<f64>,
    /// Fate of ECT(1) on the path, by the receiver's counts.
    pub ecn_validation: Option<&'static str>,
    /// Packets that the receiver read from its socket.
    pub received_packets: u64,
}

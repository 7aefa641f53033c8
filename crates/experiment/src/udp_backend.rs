//! What runs the flows of a Scenario over real sockets, while the caller emulates the path between them.

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
    /// Where a flow over these sockets cannot do what is asked, with what to do about it.
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError>;

    /// Runs all flows, and returns at [`UdpRun::until`].
    ///
    /// # Errors
    /// Why a flow ended before its time.
    fn run(&self, run: UdpRun<'_>) -> Result<UdpOutcome, RunError>;
}

/// What to run.
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
    /// When to return: some time after the Scenario's end, so that packets in flight have arrived.
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

/// What the endpoints measured, beyond what crossed the path.
#[derive(Debug)]
pub struct UdpOutcome {
    /// Each flow.
    pub flows: Vec<FlowOutcome>,
    /// What the reader of the Record must know.
    pub notes: Vec<String>,
}

/// What the two endpoints of a flow measured.
#[derive(Debug)]
pub struct FlowOutcome {
    /// Round-trip times, retransmissions, and what was recorded at the ends of bins.
    pub meter: FlowMeter,
    /// When the last byte of a sized source was acknowledged.
    pub completed_at: Option<Time>,
    /// How many frames there were, and the share that missed its deadline.
    pub frames: Option<(u64, f64)>,
    /// The scheme's delay target in milliseconds, for schemes that have one.
    pub delay_target_ms: Option<f64>,
    /// What the receiver's counts say of ECT(1) on the path.
    pub ecn_validation: Option<&'static str>,
    /// Packets that the receiver read from its socket.
    pub received_packets: u64,
}

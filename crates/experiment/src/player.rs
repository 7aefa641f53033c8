//! Who plays the flows of a Scenario over real sockets, while somebody else emulates the path between them.

use crate::{FlowMeter, ResolveError, RunError, Scenario};
use cellcc_units::Time;
use std::net::UdpSocket;
use std::time::Instant;

/// Plays the flows of a Scenario over UDP sockets that it is given.
pub trait UdpPlayer: Sync {
    /// Checks the flows and what their endpoints are to do, and gives their schemes their canonical names.
    ///
    /// # Errors
    /// What no flow over these sockets can do, and what to do about it.
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError>;

    /// Plays all flows, and returns when it is [`UdpPlay::until`].
    ///
    /// # Errors
    /// Why a flow ended before its time.
    fn play(&self, play: UdpPlay<'_>) -> Result<Played, RunError>;
}

/// What there is to play.
#[derive(Debug)]
pub struct UdpPlay<'a> {
    /// A resolved Scenario.
    pub scenario: &'a Scenario,
    /// The sockets of each flow.
    pub ends: Vec<UdpEnds>,
    /// [`Time::ZERO`].
    pub epoch: Instant,
    /// Some time after the Scenario's end: what was on its way then has arrived.
    pub until: Time,
}

/// The two sockets of a flow, each bound to the address by which the other reaches it.
#[derive(Debug)]
pub struct UdpEnds {
    /// That of the sender of the data.
    pub sender: UdpSocket,
    /// That of the receiver.
    pub receiver: UdpSocket,
}

/// What came of it, beyond what crossed the path.
#[derive(Debug)]
pub struct Played {
    /// Each flow.
    pub flows: Vec<PlayedFlow>,
    /// What the reader of the Record must know.
    pub notes: Vec<String>,
}

/// What the two ends of a flow saw.
#[derive(Debug)]
pub struct PlayedFlow {
    /// Round-trip times, retransmissions, and what was recorded at the ends of bins.
    pub meter: FlowMeter,
    /// When the last byte of a sized source was acknowledged.
    pub completed_at: Option<Time>,
    /// How many frames there were, and the share that missed its deadline.
    pub frames: Option<(u64, f64)>,
    /// The scheme's delay target in milliseconds, for schemes that have one.
    pub delay_target_ms: Option<f64>,
    /// Packets that the receiver read from its socket.
    pub received_packets: u64,
}

//! The pacing rate, and what may leave at once at it.

use cellcc_control::Context;
use cellcc_units::{Bytes, Rate, Span};

/// Share of the estimate that is paced, to keep the queue short (Linux `bbr_pacing_margin_percent`).
const PACING_SHARE: f64 = 0.99;
/// The RTT that the first pacing rate assumes (Linux `bbr_init_pacing_rate_from_rtt`).
pub(crate) const NOMINAL_RTT: Span = Span::from_millis(1);
/// Below 1.2 Mbit/s packets leave one by one (draft section 4.2.2; Linux `bbr_tso_segs_goal`).
pub(crate) const LOW_RATE: Rate = Rate::from_bytes_per_sec(150_000);
/// A send quantum is what the pacing rate carries in this time (draft section 4.2.2) ...
const QUANTUM_SPAN: Span = Span::from_millis(1);
/// ... and no more than this (draft section 4.2.2).
const MAX_QUANTUM: Bytes = Bytes::new(64 * 1024);
/// A pacing rate with its send quantum.
#[derive(Debug, Clone)]
pub(crate) struct Pacing {
    packet_size: Bytes,
    rate: Rate,
    quantum: Bytes,
}

impl Pacing {
    /// Before the RTT is known: the initial window in a nominal one, times `gain`.
    pub(crate) fn new(context: &Context, gain: f64) -> Self {
        let rate = paced(Rate::from_transfer(context.initial_window, NOMINAL_RTT), gain);
        Self { packet_size: context.packet, rate, quantum: send_quantum(rate, context.packet) }
    }

    /// The rate at which packets leave.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// What may leave at once.
    pub(crate) fn quantum(&self) -> Bytes {
        self.quantum
    }

    /// Full packets have another size.
    pub(crate) fn set_packet_size(&mut self, packet_size: Bytes) {
        self.packet_size = packet_size;
        self.quantum = send_quantum(self.rate, packet_size);
    }

    /// Changes the rate; the quantum follows.
    pub(crate) fn pace_at(&mut self, rate: Rate) {
        if rate != self.rate {
            self.rate = rate;
            self.quantum = send_quantum(rate, self.packet_size);
        }
    }
}

/// `bandwidth` times a gain, less the margin; at least a byte per second, since a rate of zero would never end.
pub(crate) fn paced(bandwidth: Rate, gain: f64) -> Rate {
    bandwidth.mul_f64(gain * PACING_SHARE).max(Rate::from_bytes_per_sec(1))
}

/// What may leave at once at a pacing rate (draft section 4.2.2).
fn send_quantum(pacing_rate: Rate, packet: Bytes) -> Bytes {
    if pacing_rate < LOW_RATE {
        return packet;
    }
    let bytes = pacing_rate.bytes_in(QUANTUM_SPAN).min(MAX_QUANTUM);
    (packet * (bytes.get() / packet.get())).max(packet * 2)
}

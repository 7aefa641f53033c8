//! What noq asks for several times per packet, readable without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// noq's pacer cannot be switched off by a controller that names no rate. This one, 8 Tbit/s in bytes per second, earns
/// a packet in two of its nanoseconds.
const UNPACED: u64 = 1_000_000_000_000;

/// A scheme's limits in noq's units: UDP payload in bytes and bytes per second.
#[derive(Debug, Default)]
pub(crate) struct Published {
    gate: AtomicU64,
    window: AtomicU64,
    pacing_rate: AtomicU64,
    send_quantum: AtomicU64,
}

/// See [`Published`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoqLimits {
    /// UDP payload that may be in flight at this moment: the window or what a budget leaves of it.
    pub(crate) gate: u64,
    /// The scheme's window.
    pub(crate) window: u64,
    /// The scheme's pacing rate; `None`: unpaced.
    pub(crate) pacing_rate: Option<u64>,
    /// Payload that may leave as one burst; `None`: no bound.
    pub(crate) send_quantum: Option<u64>,
}

impl Published {
    /// Makes `limits` known. True where they let more leave than before, so that noq must be woken. One caller at a time,
    /// so that it needs no atomic exchange.
    pub(crate) fn set(&self, limits: &NoqLimits) -> bool {
        let NoqLimits { gate, window, pacing_rate, send_quantum } = *limits;
        let rate = pacing_rate.unwrap_or(UNPACED);
        let (gate_before, rate_before) = (self.gate(), self.pacing_rate());
        self.gate.store(gate, Ordering::Relaxed);
        self.pacing_rate.store(rate, Ordering::Relaxed);
        self.window.store(window, Ordering::Relaxed);
        self.send_quantum.store(send_quantum.unwrap_or(u64::MAX), Ordering::Relaxed);
        gate > gate_before || rate > rate_before
    }

    pub(crate) fn gate(&self) -> u64 {
        self.gate.load(Ordering::Relaxed)
    }

    pub(crate) fn window(&self) -> u64 {
        self.window.load(Ordering::Relaxed)
    }

    pub(crate) fn pacing_rate(&self) -> u64 {
        self.pacing_rate.load(Ordering::Relaxed)
    }

    pub(crate) fn send_quantum(&self) -> Option<u64> {
        Some(self.send_quantum.load(Ordering::Relaxed)).filter(|&quantum| quantum < u64::MAX)
    }
}

//! What noq asks for several times per packet, readable without a lock.

use noq_proto::congestion::ControllerMetrics;
use std::sync::atomic::{AtomicU64, Ordering};

/// noq's pacer paces every controller, by its window where that names no rate, but none with a window above 4 GB.
pub(crate) const UNPACED_WINDOW: u64 = u64::MAX;

/// A scheme's limits in noq's units: UDP payload in bytes and bytes per second.
#[derive(Debug, Default)]
pub(crate) struct Published {
    gate: AtomicU64,
    /// Zero: noq does not pace, and the others mean nothing.
    pacing_rate: AtomicU64,
    window: AtomicU64,
    send_quantum: AtomicU64,
}

/// See [`Published`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoqLimits {
    /// UDP payload that may be in flight at this moment: the window, or what a budget or pacing leaves of it.
    pub(crate) gate: u64,
    /// Where noq's pacer is to keep the scheme's rate.
    pub(crate) pacing: Option<NoqPacing>,
}

/// What noq's pacer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoqPacing {
    /// Above zero.
    pub(crate) rate: u64,
    /// The scheme's window.
    pub(crate) window: u64,
    /// Payload that may leave in one system call.
    pub(crate) send_quantum: u64,
}

impl Published {
    /// Makes `limits` known. True where they let more leave than before, so that noq must be woken. One caller at a time,
    /// so that it needs no atomic exchange.
    pub(crate) fn set(&self, limits: &NoqLimits) -> bool {
        let gate_before = self.gate();
        let rate_before = self.pacing_rate.load(Ordering::Relaxed);
        let rate = limits.pacing.map_or(0, |pacing| pacing.rate);
        self.gate.store(limits.gate, Ordering::Relaxed);
        self.pacing_rate.store(rate, Ordering::Relaxed);
        if let Some(pacing) = limits.pacing {
            self.window.store(pacing.window, Ordering::Relaxed);
            self.send_quantum.store(pacing.send_quantum, Ordering::Relaxed);
        }
        let is_faster = rate_before != 0 && (rate > rate_before || rate == 0);
        limits.gate > gate_before || is_faster
    }

    pub(crate) fn gate(&self) -> u64 {
        self.gate.load(Ordering::Relaxed)
    }

    /// What noq's pacer and its log take.
    pub(crate) fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = UNPACED_WINDOW;
        let rate = self.pacing_rate.load(Ordering::Relaxed);
        if rate > 0 {
            metrics.congestion_window = self.window.load(Ordering::Relaxed);
            metrics.pacing_rate = Some(rate);
            metrics.send_quantum = Some(self.send_quantum.load(Ordering::Relaxed));
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(gate: u64, rate: Option<u64>) -> NoqLimits {
        let pacing = rate.map(|rate| NoqPacing { rate, window: 10_000, send_quantum: 1 });
        NoqLimits { gate, pacing }
    }

    #[test]
    fn more_may_leave_through_a_wider_gate_or_at_a_higher_rate() {
        let published = Published::default();
        assert!(published.set(&limits(1000, None)));
        assert!(!published.set(&limits(1000, None)));
        assert!(!published.set(&limits(500, Some(7))));
        assert!(published.set(&limits(500, Some(8))));
        assert!(!published.set(&limits(500, Some(8))));
        assert!(published.set(&limits(500, None)), "unpaced is faster than any rate");
    }

    #[test]
    fn noq_paces_where_it_is_told_a_rate_and_nowhere_else() {
        let published = Published::default();
        published.set(&limits(1000, None));
        let metrics = published.metrics();
        assert_eq!((metrics.pacing_rate, metrics.congestion_window), (None, UNPACED_WINDOW));
        published.set(&limits(1000, Some(7)));
        let metrics = published.metrics();
        assert_eq!((metrics.pacing_rate, metrics.congestion_window), (Some(7), 10_000));
    }
}

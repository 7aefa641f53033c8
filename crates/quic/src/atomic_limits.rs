//! A scheme's limits as atomics: noq reads them several times per packet, without a lock.

use noq_proto::congestion::ControllerMetrics;
use std::sync::atomic::{AtomicU64, Ordering};

/// A window that switches noq's pacer off. Without a pacing rate noq paces by the window, unless that is above 4 GB.
pub(crate) const UNPACED_WINDOW: u64 = u64::MAX;

/// A scheme's limits in noq's units: UDP payload in bytes and bytes per second.
#[derive(Debug, Default)]
pub(crate) struct AtomicLimits {
    cwnd_with_pacing: AtomicU64,
    /// Zero: noq does not pace, and `window` and `send_quantum` are unused.
    pacing_rate: AtomicU64,
    window: AtomicU64,
    send_quantum: AtomicU64,
}

/// The limits as plain numbers for noq.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoqLimits {
    /// UDP payload that may be in flight now: the window, as far as a budget and pacing allow.
    pub(crate) cwnd_with_pacing: u64,
    /// Settings of noq's pacer, if it keeps the scheme's rate.
    pub(crate) pacing: Option<NoqPacing>,
}

/// Settings of noq's pacer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoqPacing {
    /// The rate in bytes per second, above zero.
    pub(crate) rate: u64,
    /// The scheme's window.
    pub(crate) window: u64,
    /// Payload that may leave in one system call.
    pub(crate) send_quantum: u64,
}

impl AtomicLimits {
    /// Stores `limits`. True if they let more leave than before: noq must then be woken. Callers hold the flow's lock, so
    /// this needs no atomic exchange.
    pub(crate) fn set(&self, limits: &NoqLimits) -> bool {
        let cwnd_before = self.cwnd_with_pacing();
        let rate_before = self.pacing_rate.load(Ordering::Relaxed);
        let rate = limits.pacing.map_or(0, |pacing| pacing.rate);
        self.cwnd_with_pacing.store(limits.cwnd_with_pacing, Ordering::Relaxed);
        self.pacing_rate.store(rate, Ordering::Relaxed);
        if let Some(pacing) = limits.pacing {
            self.window.store(pacing.window, Ordering::Relaxed);
            self.send_quantum.store(pacing.send_quantum, Ordering::Relaxed);
        }
        let is_faster = rate_before != 0 && (rate > rate_before || rate == 0);
        limits.cwnd_with_pacing > cwnd_before || is_faster
    }

    pub(crate) fn cwnd_with_pacing(&self) -> u64 {
        self.cwnd_with_pacing.load(Ordering::Relaxed)
    }

    /// Input of noq's pacer and its log.
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

    fn limits(cwnd_with_pacing: u64, rate: Option<u64>) -> NoqLimits {
        let pacing = rate.map(|rate| NoqPacing { rate, window: 10_000, send_quantum: 1 });
        NoqLimits { cwnd_with_pacing, pacing }
    }

    #[test]
    fn more_may_leave_with_a_larger_window_or_at_a_higher_rate() {
        let published = AtomicLimits::default();
        assert!(published.set(&limits(1000, None)));
        assert!(!published.set(&limits(1000, None)));
        assert!(!published.set(&limits(500, Some(7))));
        assert!(published.set(&limits(500, Some(8))));
        assert!(!published.set(&limits(500, Some(8))));
        assert!(published.set(&limits(500, None)), "unpaced is faster than any rate");
    }

    #[test]
    fn noq_paces_if_it_has_a_rate_and_not_otherwise() {
        let published = AtomicLimits::default();
        published.set(&limits(1000, None));
        let metrics = published.metrics();
        assert_eq!((metrics.pacing_rate, metrics.congestion_window), (None, UNPACED_WINDOW));
        published.set(&limits(1000, Some(7)));
        let metrics = published.metrics();
        assert_eq!((metrics.pacing_rate, metrics.congestion_window), (Some(7), 10_000));
    }
}

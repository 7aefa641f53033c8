//! A minimum delay that ages (`robust`): a path whose delay without a queue has risen is learnt anew. The queue of a flow
//! that aims for a multiple of the minimum never empties by itself, so the flow empties it: as BBR's ProbeRTT
//! (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.4), with BBR's values.

use cellcc_units::{Span, Time};

/// Packets in flight while the minimum delay is measured (BBR: `BBRMinPipeCwnd`).
pub(super) const PROBE_WINDOW: u64 = 4;
/// For how long at least once no more than these are in flight (BBR: `ProbeRTTDuration`); a round trip, if that is longer.
const PROBE_LENGTH: Span = Span::from_millis(200);
/// A delay within this factor of the minimum confirms it: traces have a granularity of 1 ms.
const CONFIRMS: f64 = 1.05;

/// When the minimum delay is measured, and what was measured.
#[derive(Debug, Clone)]
pub(super) struct MinDelayProbe {
    /// Zero: never.
    lifetime: Span,
    min_ms: f64,
    confirmed_at: Option<Time>,
    last_ms: f64,
    running: Option<Probe>,
}

/// A probe under way.
#[derive(Debug, Clone, Copy)]
enum Probe {
    /// Until the packets before it have arrived.
    Draining,
    /// Until a time, with the smallest delay so far.
    Measuring(Time, Option<f64>),
}

impl MinDelayProbe {
    pub(super) fn new(lifetime: Span) -> Self {
        Self { lifetime, min_ms: f64::INFINITY, confirmed_at: None, last_ms: 0.0, running: None }
    }

    /// A packet took `delay_ms`.
    pub(super) fn add(&mut self, now: Time, delay_ms: f64) {
        if delay_ms <= self.min_ms * CONFIRMS {
            self.confirmed_at = Some(now);
        }
        self.last_ms = delay_ms;
        if let Some(Probe::Measuring(_, smallest)) = &mut self.running {
            *smallest = Some(smallest.map_or(delay_ms, |smallest| smallest.min(delay_ms)));
        }
    }

    /// An epoch ends with `min_ms` as the minimum delay and `inflight` packets on their way; gives what the minimum is
    /// from now on.
    pub(super) fn end_epoch(&mut self, now: Time, min_ms: f64, inflight: u64) -> f64 {
        self.min_ms = min_ms;
        match self.running {
            Some(Probe::Draining) if inflight <= PROBE_WINDOW => {
                let length = PROBE_LENGTH.max(Span::from_secs_f64(self.last_ms / 1e3));
                self.running = Some(Probe::Measuring(now + length, None));
            }
            Some(Probe::Measuring(ends_at, smallest)) if now >= ends_at => {
                self.running = None;
                self.confirmed_at = Some(now);
                self.min_ms = smallest.unwrap_or(min_ms);
            }
            Some(_) => {}
            None => {
                let confirmed_at = *self.confirmed_at.get_or_insert(now);
                if !self.lifetime.is_zero() && now.since(confirmed_at) >= self.lifetime {
                    self.running = Some(Probe::Draining);
                }
            }
        }
        self.min_ms
    }

    /// The minimum delay is being measured.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_minimum_that_is_not_met_for_its_lifetime_is_measured_on_an_empty_queue() {
        let mut probe = MinDelayProbe::new(Span::from_secs(10));
        assert_eq!(probe.end_epoch(at(0), 20.0, 50), 20.0);
        probe.add(at(5_000), 21.0);
        probe.add(at(9_000), 60.0);
        probe.end_epoch(at(10_005), 20.0, 50);
        assert!(!probe.is_running(), "21 ms confirmed it after 5 s");
        probe.end_epoch(at(15_000), 20.0, 50);
        assert!(probe.is_running());
        probe.add(at(15_040), 40.0);
        probe.end_epoch(at(15_100), 20.0, 4);
        probe.add(at(15_150), 62.0);
        probe.add(at(15_200), 55.0);
        assert_eq!(probe.end_epoch(at(15_295), 20.0, 4), 20.0);
        assert_eq!(
            probe.end_epoch(at(15_300), 20.0, 4),
            55.0,
            "what came while the queue emptied does not count"
        );
        assert!(!probe.is_running());
    }

    #[test]
    fn a_minimum_without_a_lifetime_is_kept() {
        let mut probe = MinDelayProbe::new(Span::ZERO);
        for secs in 0..100 {
            assert_eq!(probe.end_epoch(at(secs * 1000), 20.0, 50), 20.0);
            assert!(!probe.is_running());
        }
    }

    #[test]
    fn a_probe_without_an_answer_changes_nothing() {
        let mut probe = MinDelayProbe::new(Span::from_secs(10));
        for ms in [0, 10_000, 10_005] {
            probe.end_epoch(at(ms), 20.0, 0);
        }
        assert!(probe.is_running());
        assert_eq!(probe.end_epoch(at(10_205), 20.0, 0), 20.0);
        assert!(!probe.is_running());
    }
}

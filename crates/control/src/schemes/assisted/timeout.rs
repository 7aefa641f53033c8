//! Whether there is advice to follow.
//!
//! ```text
//!              first advice, or after a time-out two in a row
//!   alone ------------------------------------------------> following
//!     ^                                                      |   | advice
//!     |            nothing for `timeout` periods,            |   v
//!     +------------------------------------------------------+<--+
//!                  the last advice held until then
//! ```
//!
//! The paper (section 2.4) has a "certain time" without a value. Ours: six periods, so that five losses in a row (at 10 %
//! loss one case in 100,000) are outlasted, and never less than a probe time-out of the path, since advice in band waits
//! in the same queues as the flow's own packets.

use crate::rtt::Rtt;
use cellcc_assist::Advice;
use cellcc_units::{Span, Time};

/// Reports in a row after a time-out before they are followed again: one may be a straggler.
const FRESH_TO_RESUME: u32 = 2;
/// A probe time-out is the smoothed RTT and four deviations (RFC 9002, section 6.2.1).
const DEVIATIONS: u64 = 4;
/// ... and no shorter than Linux' smallest retransmission time-out (`TCP_RTO_MIN`): at a period of 10 ms in band, a link that
/// pauses for 60 ms is no loss of advice.
const MIN_PROBE_TIMEOUT: Span = Span::from_millis(200);

/// The time-out of one flow's advice.
#[derive(Debug, Clone)]
pub(super) struct Timeout {
    periods: f64,
    probe_timeout: Span,
    state: State,
    /// When the period of the newest advice ended; older advice that comes later says nothing.
    newest: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Alone {
        /// Reports that are still to come.
        missing: u32,
        /// Those in hand are too old to count from here on.
        expires_at: Time,
    },
    Following {
        expires_at: Time,
    },
}

impl Timeout {
    /// Times out after `periods` without advice.
    pub(super) fn new(periods: f64) -> Self {
        let state = State::Alone { missing: 1, expires_at: Time::NEVER };
        Self { periods, probe_timeout: MIN_PROBE_TIMEOUT, state, newest: None }
    }

    /// Advice is there to follow.
    pub(super) fn is_following(&self) -> bool {
        matches!(self.state, State::Following { .. })
    }

    /// Takes advice; false where it is older than what is known, or too old to follow.
    pub(super) fn on_advice(&mut self, now: Time, advice: &Advice) -> bool {
        let measured_at = now - advice.age;
        let expires_at = measured_at + advice.period.mul_f64(self.periods).max(self.probe_timeout);
        if self.newest.is_some_and(|newest| measured_at < newest) || expires_at <= now {
            return false;
        }
        self.newest = Some(measured_at);
        self.state = match self.state {
            State::Alone { missing, expires_at: until } => {
                let missing = if until <= now { FRESH_TO_RESUME } else { missing };
                match missing {
                    0 | 1 => State::Following { expires_at },
                    _ => State::Alone { missing: missing - 1, expires_at },
                }
            }
            State::Following { .. } => State::Following { expires_at },
        };
        true
    }

    /// Learns how long the path may take.
    pub(super) fn on_rtt(&mut self, rtt: &Rtt) {
        self.probe_timeout = MIN_PROBE_TIMEOUT.max(rtt.smoothed() + rtt.variation() * DEVIATIONS);
    }

    /// When the advice in hand will be too old.
    pub(super) fn next_timer(&self) -> Option<Time> {
        match self.state {
            State::Following { expires_at } => Some(expires_at),
            State::Alone { .. } => None,
        }
    }

    /// Lets advice expire that is too old by now.
    pub(super) fn on_timer(&mut self, now: Time) {
        if self.next_timer().is_some_and(|expires_at| expires_at <= now) {
            self.state = State::Alone { missing: FRESH_TO_RESUME, expires_at: Time::NEVER };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes::assisted::tests::advice;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn following_since_100_ms() -> Timeout {
        let mut timeout = Timeout::new(6.0);
        assert!(!timeout.is_following());
        assert!(timeout.on_advice(at(100), &advice(12.0)));
        timeout
    }

    #[test]
    fn advice_is_held_for_six_periods() {
        let mut timeout = following_since_100_ms();
        assert_eq!(timeout.next_timer(), Some(at(400)), "50 ms each");
        timeout.on_timer(at(399));
        assert!(timeout.is_following());
        timeout.on_timer(at(400));
        assert!(!timeout.is_following());
    }

    #[test]
    fn after_a_time_out_two_reports_in_a_row_are_needed() {
        let mut timeout = following_since_100_ms();
        timeout.on_timer(at(400));
        timeout.on_advice(at(1000), &advice(12.0));
        assert!(!timeout.is_following());
        // The one at 1000 ms has expired: it does not count.
        timeout.on_advice(at(2000), &advice(12.0));
        assert!(!timeout.is_following());
        timeout.on_advice(at(2050), &advice(12.0));
        assert!(timeout.is_following());
    }

    #[test]
    fn advice_that_is_overtaken_or_too_old_is_not_taken() {
        let mut timeout = following_since_100_ms();
        assert!(!timeout.on_advice(at(110), &Advice { age: Span::from_millis(20), ..advice(1.0) }));
        assert!(!timeout.on_advice(at(900), &Advice { age: Span::from_millis(300), ..advice(1.0) }));
        assert_eq!(timeout.next_timer(), Some(at(400)), "the old deadline stands");
    }

    #[test]
    fn short_periods_do_not_make_a_hasty_time_out() {
        let mut timeout = Timeout::new(6.0);
        timeout.on_advice(at(0), &Advice { period: Span::from_millis(10), ..advice(12.0) });
        assert_eq!(timeout.next_timer(), Some(at(200)));
    }

    #[test]
    fn a_slow_path_waits_for_its_own_probe_time_out() {
        let mut timeout = Timeout::new(6.0);
        let mut rtt = Rtt::default();
        rtt.add(Span::from_millis(400));
        timeout.on_rtt(&rtt);
        timeout.on_advice(at(0), &advice(12.0));
        assert_eq!(timeout.next_timer(), Some(at(1200)), "400 ms and four times 200");
    }
}

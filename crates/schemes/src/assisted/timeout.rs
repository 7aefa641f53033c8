//! Whether there is advice to follow: the state machine of the kernel ([`Freshness`]), with a timer.

use crate::kernel_view::{instant, micros, time};
use cellcc_assist::Advice;
use cellcc_control::Rtt;
use cellcc_fixed::Q16;
use cellcc_fixed::assisted::{self, Config, Freshness, Path};
use cellcc_units::{Span, Time};

/// A probe time-out is the smoothed RTT and four deviations (RFC 9002, section 6.2.1).
const DEVIATIONS: u64 = 4;

/// The time-out of one flow's advice.
#[derive(Debug, Clone)]
pub(super) struct Timeout {
    config: Config,
    probe_timeout: Span,
    freshness: Freshness,
    /// When the period of the newest advice ended.
    newest: Option<Time>,
}

impl Timeout {
    /// Times out after so many periods without advice.
    pub(super) fn new(timeout_periods: Q16) -> Self {
        let config = Config { timeout_periods, ..Config::default() };
        Self { config, probe_timeout: Span::ZERO, freshness: Freshness::START, newest: None }
    }

    /// Advice is there to follow.
    pub(super) fn is_following(&self) -> bool {
        self.freshness.is_following()
    }

    /// Takes advice; false where it is known, older than what is known, or too old to follow.
    pub(super) fn on_advice(&mut self, now: Time, advice: &Advice) -> bool {
        let measured_at = now - advice.age;
        // The kernel does not take it twice either: it looks for news in a map that holds the newest.
        if self.newest == Some(measured_at) {
            return false;
        }
        let seen = assisted::Advice {
            measured_at: instant(measured_at),
            period: micros(advice.period),
            ..assisted::Advice::default()
        };
        let path = Path { now: instant(now), probe_timeout: micros(self.probe_timeout), ..Path::default() };
        let taken = self.freshness.on_advice(&self.config, &seen, &path);
        if taken {
            self.newest = Some(measured_at);
        }
        taken
    }

    /// Learns how long the path may take.
    pub(super) fn on_rtt(&mut self, rtt: &Rtt) {
        self.probe_timeout = rtt.smoothed() + rtt.variation() * DEVIATIONS;
    }

    /// When the advice in hand will be too old.
    pub(super) fn next_timer(&self) -> Option<Time> {
        self.freshness.expires_at().map(time)
    }

    /// Lets advice expire that is too old by now.
    pub(super) fn on_timer(&mut self, now: Time) {
        self.freshness.expire(instant(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assisted::tests::advice;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn following_since_100_ms() -> Timeout {
        let mut timeout = Timeout::new(Q16(6 << 16));
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
        let mut timeout = Timeout::new(Q16(6 << 16));
        timeout.on_advice(at(0), &Advice { period: Span::from_millis(10), ..advice(12.0) });
        assert_eq!(timeout.next_timer(), Some(at(200)));
    }

    #[test]
    fn a_slow_path_waits_for_its_own_probe_time_out() {
        let mut timeout = Timeout::new(Q16(6 << 16));
        let mut rtt = Rtt::default();
        rtt.add(Span::from_millis(400));
        timeout.on_rtt(&rtt);
        timeout.on_advice(at(0), &advice(12.0));
        assert_eq!(timeout.next_timer(), Some(at(1200)), "400 ms and four times 200");
    }
}

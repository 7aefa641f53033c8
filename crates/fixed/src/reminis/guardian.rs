//! The Guardian: network condition inference (paper, section 3.1), non-deterministic exploration (3.2), proactive slowdown
//! and catastrophe mitigation (3.3).

use super::{Config, Exploration, MIN_WINDOW, Profile};
use crate::number::product;
use crate::{Instant, Micros, Packets, Q16, Window};

/// mu before the first interval (paper, Appendix E.1).
const INITIAL_MU: Q16 = Q16::ONE;
/// The largest magnitude of mu that a draw needs: beyond it the sigmoid is 0 or 1 for any word.
const MOST_OF_MU: Q16 = Q16(64 << 16);
/// Bound of exploration where packets are lost: the window in multiples of the packets delivered per round trip. The
/// paper names none; without one the window grows without limit on a one-packet buffer, whose delay never rises. Our
/// choice: exploration and slow start each double a window, so three quarters have to be lost before it acts.
const MOST_OF_DELIVERED: u32 = 4;
/// The Guardian's reading of the delay and its slope (paper, section 3.1).
#[repr(u8)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub enum Zone {
    /// Before the second interval.
    Unknown = 0,
    /// Below the target and not rising: explore.
    Explore = 1,
    /// Below the target but rising: slow down if the next interval would exceed it.
    Slow = 2,
    /// Above the target: cut.
    Cut = 3,
}

/// Observations of a sampling interval.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) now: Instant,
    /// Mean of the RTT samples that arrived in the interval.
    pub(super) mean_rtt: Micros,
    pub(super) min_rtt: Micros,
    /// The nominal length of the interval.
    pub(super) length: Micros,
    /// The delay target, above `min_rtt`.
    pub(super) target: Micros,
    /// Packets delivered.
    pub(super) delivered: u32,
    pub(super) cwnd_limited: bool,
    pub(super) lost: bool,
}

impl Seen {
    /// 1 at the minimum RTT, 0 at the target, negative above it (paper, Equation 1).
    #[inline(always)]
    fn safe_zone(&self, delay: i64) -> Q16 {
        let room = self.target.0.saturating_sub(self.min_rtt.0);
        Q16::ONE.minus(Q16::ratio(delay - self.min_rtt.0 as i64, room))
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub(super) struct Guardian {
    /// The earliest time of the next CM cut: until then the last one has not shown in the delay.
    next_cut_at: Instant,
    /// The mean RTT of the previous interval; zero before the first.
    previous_rtt: Micros,
    /// The mean of the Gaussian that exploration draws from; it follows the slope of the delay.
    pub(super) mu: Q16,
    /// The fraction of a packet that the last multiplication left, in units of 2^-16: without it a window of three
    /// packets would hardly grow.
    fraction: u16,
    pub(super) zone: Zone,
    /// True after the one write to ssthresh: the delay has exceeded the target once.
    slow_start_ended: bool,
}

impl Guardian {
    pub(super) const START: Self = Self {
        next_cut_at: Instant(0),
        previous_rtt: Micros::ZERO,
        mu: INITIAL_MU,
        fraction: 0,
        zone: Zone::Unknown,
        slow_start_ended: false,
    };

    /// One iteration of Algorithm 1 at the end of a sampling interval.
    #[inline(always)]
    pub(super) fn act(&mut self, config: &Config, seen: &Seen, window: &mut Window, random: u32) {
        let previous = core::mem::replace(&mut self.previous_rtt, seen.mean_rtt);
        if previous == Micros::ZERO {
            return;
        }
        let rise = seen.mean_rtt.0 as i64 - previous.0 as i64;
        self.mu = self.mu.minus(Q16::ratio(rise, seen.length.0));
        self.zone = if seen.mean_rtt > seen.target {
            Zone::Cut
        } else if rise > 0 {
            Zone::Slow
        } else {
            Zone::Explore
        };
        let factor = match self.zone {
            Zone::Explore if seen.cwnd_limited => self.explore(config, seen, window.cwnd, random),
            Zone::Slow if config.proactive_slowdown => {
                // PS (paper, Equations 3 and 4): the delay is expected to rise once more by the same amount.
                seen.safe_zone(seen.mean_rtt.0 as i64 + rise).min(Q16::ZERO).exp2()
            }
            Zone::Cut => self.cut(config, seen),
            _ => Q16::ONE,
        };
        if config.profile == Profile::Following {
            self.follow(seen, factor, window);
        }
        self.multiply(window, factor);
        let ends_slow_start = self.zone == Zone::Cut && !self.slow_start_ended && window.in_slow_start();
        self.slow_start_ended |= self.zone == Zone::Cut;
        if ends_slow_start || (config.profile == Profile::Literal && factor < Q16::ONE) {
            window.ssthresh = window.cwnd;
        }
    }

    /// Multiplies the window by `factor`, down to the floor.
    #[inline(always)]
    fn multiply(&mut self, window: &mut Window, factor: Q16) {
        let parts = ((window.cwnd.0 as u64) << 16) + self.fraction as u64;
        let parts = factor.of(parts).max((MIN_WINDOW.0 as u64) << 16);
        window.cwnd = Packets((parts >> 16).min(u32::MAX as u64) as u32);
        self.fraction = parts as u16;
    }

    /// NDE (paper, section 3.2), bounded by the packets delivered where some are lost.
    #[inline(always)]
    fn explore(&self, config: &Config, seen: &Seen, cwnd: Packets, random: u32) -> Q16 {
        let mu = self.mu.clamp(Q16(-MOST_OF_MU.0), MOST_OF_MU);
        let x = match config.exploration {
            Exploration::Off => return Q16::ONE,
            Exploration::Deterministic => mu,
            // The variance is |mu| / 4 (paper, section 3.2).
            Exploration::Random => Q16((mu.0.abs() + 2) >> 2).sqrt().times(Q16::normal(random)).plus(mu),
        };
        // 2^S(x), 1 to 2 (paper, Equation 2).
        let factor = x.sigmoid().exp2();
        if !seen.lost {
            return factor;
        }
        let delivered = Q16::ratio(seen.mean_rtt.0 as i64, seen.length.0).of(seen.delivered as u64);
        let most = product(delivered, MOST_OF_DELIVERED).min(u32::MAX as u64) as i64;
        factor.min(Q16::ratio(most, cwnd.0).max(Q16::ONE))
    }

    /// CM (paper, Equation 5), at most once per measured RTT except in the literal profile.
    #[inline(always)]
    fn cut(&mut self, config: &Config, seen: &Seen) -> Q16 {
        let waiting = config.profile != Profile::Literal && seen.now < self.next_cut_at;
        if !config.catastrophe_mitigation || waiting {
            return Q16::ONE;
        }
        self.next_cut_at = seen.now.after(seen.mean_rtt);
        // A cut at least halves the window.
        seen.safe_zone(seen.mean_rtt.0 as i64).minus(Q16::ONE).exp2()
    }

    /// Moves ssthresh towards the window that would have met the target, and up with a window that meets it (profile
    /// `following`; ours). A fade that lasts for a cut or two moves it little; a lasting fall moves it all the way
    /// within a dozen cuts. The step of a quarter decides how long "lasting" is; 0.1 to 0.5 would do.
    #[inline(always)]
    fn follow(&self, seen: &Seen, factor: Q16, window: &mut Window) {
        if window.ssthresh == Packets::INFINITE_SSTHRESH {
            return;
        }
        if self.zone != Zone::Cut {
            window.ssthresh = window.ssthresh.max(window.cwnd);
        } else if factor < Q16::ONE {
            let fitting = (window.cwnd.0 as u64 * seen.target.0 as u64).checked_div(seen.mean_rtt.0 as u64);
            // A quarter of the way, to the nearest packet: rounding down would by itself lower small thresholds.
            let parts = window.ssthresh.0 as u64 * 3 + fitting.unwrap_or(0) + 2;
            window.ssthresh = Packets((parts >> 2) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: f64 = 1.0 / 65536.0;

    /// Observations on a path with an RTT of 20 ms and a target of 30 ms.
    fn seen(mean_rtt: u32) -> Seen {
        Seen {
            now: Instant(1_000_000),
            mean_rtt: Micros(mean_rtt),
            min_rtt: Micros(20_000),
            length: Micros(20_000),
            target: Micros(30_000),
            delivered: 0,
            cwnd_limited: true,
            lost: false,
        }
    }

    /// The Guardian's factor for a window after an interval with a mean RTT of `previous`.
    fn factor(previous: u32, mean_rtt: u32, mu: Q16, word: u32) -> f64 {
        let mut guardian = Guardian { previous_rtt: Micros(previous), mu, ..Guardian::START };
        let mut window = Window { cwnd: Packets(1 << 24), ssthresh: Packets(1) };
        guardian.act(&Config::default(), &seen(mean_rtt), &mut window, word);
        f64::from(window.cwnd.0) / f64::from(1 << 24)
    }

    /// The normal number that is exceeded with this probability, by bisection.
    fn exact_normal(probability: f64) -> f64 {
        let (mut low, mut high) = (-8.0, 8.0);
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            let beyond = libm::erfc(middle / core::f64::consts::SQRT_2) / 2.0;
            if beyond > probability { low = middle } else { high = middle }
        }
        low
    }

    #[test]
    fn exploration_is_off_by_less_than_6e_4_of_the_formula() {
        // The sum of the parts' bounds where it is largest, at mu = 10 with a draw that leads back to zero: 6e-4.
        for mu in (-12 << 16..12 << 16).step_by(9_973) {
            for word in (0..=u32::MAX).step_by(67_108_859) {
                let tail = f64::from(word << 1 | 1) / 8_589_934_592.0;
                let normal = exact_normal(if word >> 31 == 0 { tail } else { 1.0 - tail });
                let mean = f64::from(mu) * UNIT;
                let x = mean + (mean.abs() / 4.0).sqrt() * normal;
                let exact = libm::exp2(1.0 / (1.0 + libm::exp(-x)));
                let drawn = factor(25_000, 25_000, Q16(mu), word);
                assert!((drawn / exact - 1.0).abs() < 6e-4, "mu {mean}, word {word}: {drawn}, {exact}");
            }
        }
    }

    #[test]
    fn slowdowns_and_cuts_are_off_by_less_than_1e_4() {
        // 1.5e-5 of the power, and a unit each of safe zone, power and window: 7e-5.
        for mean_rtt in (20_001..120_000).step_by(37) {
            let safe_zone = |delay: f64| 1.0 - (delay - 20_000.0) / 10_000.0;
            let rise = 700.0;
            let expected = f64::from(mean_rtt) + rise;
            let exact = match mean_rtt > 30_000 {
                true => libm::exp2(safe_zone(f64::from(mean_rtt)) - 1.0),
                false => libm::exp2(safe_zone(expected).min(0.0)),
            };
            let computed = factor(mean_rtt - 700, mean_rtt, Q16::ONE, 0);
            assert!((computed - exact).abs() < 1e-4, "{mean_rtt} us: {computed}, {exact}");
        }
    }

    #[test]
    fn mu_falls_by_the_slope_of_the_delay() {
        let mut guardian = Guardian { previous_rtt: Micros(21_000), ..Guardian::START };
        let mut window = Window { cwnd: Packets(100), ssthresh: Packets(1) };
        guardian.act(&Config::default(), &seen(26_000), &mut window, 0);
        assert_eq!((guardian.mu, guardian.zone), (Q16(3 << 14), Zone::Slow), "1 less 5 ms in 20");
    }

    #[test]
    fn a_cut_comes_at_most_once_per_round_trip_but_in_every_interval_by_the_letter() {
        for (profile, after) in [(Profile::Paper, 499), (Profile::Literal, 249)] {
            let config = Config { profile, ..Config::default() };
            let mut guardian = Guardian { previous_rtt: Micros(30_000), ..Guardian::START };
            let mut window = Window { cwnd: Packets(1000), ssthresh: Packets(2000) };
            // At the target's edge a cut halves the window. The second interval ends 20 ms after the first.
            guardian.act(&config, &seen(30_001), &mut window, 0);
            guardian.act(&config, &Seen { now: Instant(1_020_000), ..seen(30_001) }, &mut window, 0);
            assert_eq!(window.cwnd, Packets(after));
        }
    }
}

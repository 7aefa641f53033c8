//! The window against flows that fill the queue: CUBIC's, since that is what most of them have.
//!
//! It begins at the window with which the flow still had its share, and grows by half in an RTT until the first loss shows how
//! much the path holds. From there on it is CUBIC's, with a few packets of growth in an RTT as the least.

use super::window::min_window;
use super::{Event, WINDOW_BITS};
use crate::number::product;
use crate::{Instant, Micros};

/// RFC 9438, section 4.6: a loss leaves this share of the window, 0.7, in units of 2^-16.
const BETA: u32 = 45_875;
/// RFC 9438, section 4.4: the window grows by half per RTT at most; and so it does before the first loss (prototype).
const HALF: u32 = 1;
/// Prototype: the least growth per RTT, in packets.
const MIN_GROWTH_PACKETS: u64 = 4;
/// RFC 9438, section 4.2: the cube of the time to the last largest window, in milliseconds cubed a packet: 0.3 / 0.4 s^3.
const MILLIS_CUBED_PER_PACKET: u64 = 750_000_000;
/// RFC 9438, section 5.1: 0.4 packets a second cubed. So many milliseconds cubed are a 2^-16th of a packet.
const MILLIS_CUBED_PER_UNIT: u64 = 38_147;
/// A time whose cube has 63 bits: 35 minutes.
const MOST_MILLIS: u64 = 2_097_151;
/// The largest window whose time is computed exactly, in packets.
const MOST_PACKETS: u64 = 1 << 24;

/// A window in CUBIC's manner.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct Competition {
    window: u64,
    /// The window at the last loss; zero: the flow has not lost anything since it began to compete.
    most: u64,
    /// When that was.
    since: Instant,
    /// From then until the window is as large again.
    to_most_ms: u64,
}

impl Competition {
    pub(super) const NONE: Self = Self { window: 0, most: 0, since: Instant(0), to_most_ms: 0 };

    #[inline(always)]
    pub(super) const fn from_window(window: u64) -> Self {
        Self { window, ..Self::NONE }
    }

    /// The same after a pause of so long, which does not count, with `window` at least.
    #[inline(always)]
    pub(super) fn resumed(self, pause: Micros, window: u64) -> Self {
        Self { window: self.window.max(window), since: self.since.after(pause), ..self }
    }

    #[inline(always)]
    pub(super) const fn is_lossless(&self) -> bool {
        self.most == 0
    }

    #[inline(always)]
    pub(super) const fn window(&self) -> u64 {
        self.window
    }

    #[inline(always)]
    pub(super) fn on_ack(&mut self, event: &Event) {
        let acked = (event.acked.0 as u64) << WINDOW_BITS;
        if self.is_lossless() {
            self.window = self.window.saturating_add(acked >> HALF);
            return;
        }
        let passed = event.now.since(self.since).plus(event.smoothed_rtt).0 as u64 / 1_000;
        let goal = cubic(self.most, passed as i64 - self.to_most_ms as i64);
        let goal = goal.clamp(self.window, self.window.saturating_add(self.window >> HALF));
        let growth = goal.saturating_sub(self.window).max(MIN_GROWTH_PACKETS << WINDOW_BITS);
        let growth = product(product(growth, event.acked.0), 1 << WINDOW_BITS);
        self.window = self.window.saturating_add(growth.checked_div(self.window).unwrap_or(0));
    }

    /// A recovery episode begins.
    #[inline(always)]
    pub(super) fn on_loss(&mut self, now: Instant) {
        self.most = self.window;
        self.since = now;
        self.window = (product(self.window, BETA) >> 16).max(min_window());
        let most = self.most.min(MOST_PACKETS << WINDOW_BITS);
        self.to_most_ms = cube_root(((most >> 8) * MILLIS_CUBED_PER_PACKET) >> 8);
    }
}

/// `most` and the cube of the time from there.
#[inline(always)]
fn cubic(most: u64, from_most_ms: i64) -> u64 {
    let millis = from_most_ms.unsigned_abs().min(MOST_MILLIS);
    let units = (millis * millis * millis) / MILLIS_CUBED_PER_UNIT;
    if from_most_ms < 0 { most.saturating_sub(units) } else { most.saturating_add(units) }
}

/// Rounded down; bit by bit, without a branch: the kernel's verifier would follow each way through all of them.
#[inline(always)]
fn cube_root(number: u64) -> u64 {
    let (mut rest, mut root, mut shift) = (number, 0u64, 63u32);
    loop {
        root <<= 1;
        let next = 3 * root * (root + 1) + 1;
        // Both are below 2^63. The compiler would make a branch of the sign.
        let left = core::hint::black_box((rest >> (shift & 63)).wrapping_sub(next));
        let fits = 1 - (left >> 63);
        rest -= (next * fits) << (shift & 63);
        root += fits;
        if shift == 0 {
            return root;
        }
        shift -= 3;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packets;

    /// Long enough for the cubic function to grow faster than by four packets per RTT.
    const RTT: Micros = Micros(1_000_000);

    fn with_window(packets: u64) -> Competition {
        Competition::from_window(packets << WINDOW_BITS)
    }

    fn packets(competition: &Competition) -> f64 {
        competition.window() as f64 / 65536.0
    }

    /// Acknowledges a window an RTT, for so long.
    fn run(competition: &mut Competition, from: Instant, span: Micros) {
        let mut now = from;
        while now < from.after(span) {
            for _ in 0..packets(competition) as u64 {
                competition.on_ack(&Event { now, smoothed_rtt: RTT, acked: Packets(1), ..Event::default() });
            }
            now = now.after(RTT);
        }
    }

    #[test]
    fn before_a_loss_the_window_grows_by_half_in_an_rtt() {
        let mut competition = with_window(100);
        run(&mut competition, Instant(0), RTT);
        assert_eq!(packets(&competition), 150.0);
    }

    #[test]
    fn a_loss_leaves_seventy_percent_which_is_made_up_for_in_k_seconds() {
        let mut competition = with_window(1000);
        competition.on_loss(Instant(0));
        assert!((packets(&competition) - 700.0).abs() < 0.01);
        // RFC 9438, equation 2.
        let k = libm::cbrt(300.0 / 0.4);
        run(&mut competition, Instant(0), Micros((k * 1e6) as u32));
        assert!((1000.0..=1005.0).contains(&packets(&competition)), "{}", packets(&competition));
    }

    #[test]
    fn a_window_of_few_packets_grows_by_four_in_an_rtt() {
        // Of 2.9 packets the core once took 2 for the window, and grew by half more.
        let mut competition = Competition::from_window(29 * (1 << WINDOW_BITS) / 10);
        competition.on_loss(Instant(0));
        let before = packets(&competition);
        competition.on_ack(&Event { smoothed_rtt: Micros(1), acked: Packets(1), ..Event::default() });
        let growth = (packets(&competition) - before) * before;
        assert!((growth - 4.0).abs() < 0.01, "{growth}");
    }

    #[test]
    fn time_without_competition_does_not_count() {
        let mut competition = with_window(1000);
        competition.on_loss(Instant(0));
        let pause = Micros(100_000_000);
        let mut resumed = competition.resumed(pause, 0);
        run(&mut competition, Instant(0), Micros(5_000_000));
        run(&mut resumed, Instant(0).after(pause), Micros(5_000_000));
        assert_eq!(resumed.window(), competition.window());
    }

    #[test]
    fn a_cube_root_is_the_largest_number_whose_cube_fits() {
        let numbers =
            (0..100_000u64).chain((0..63).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1]));
        for number in numbers {
            let root = cube_root(number);
            assert!(root.pow(3) <= number && (root + 1).pow(3) > number, "{number}: {root}");
        }
    }
}

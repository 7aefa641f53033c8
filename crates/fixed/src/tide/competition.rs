//! The window against flows that fill the queue: CUBIC's, since that is what most of them have.

use super::window::min_window;
use super::{Event, WINDOW_BITS};
use crate::{Instant, Micros};

/// RFC 9438, section 4.6: a loss leaves this share of the window, 0.7, in units of 2^-16.
const BETA: u64 = 45_875;
/// RFC 9438, section 4.4: the window grows by half per RTT at most; and so it does before the first loss.
const HALF: u32 = 1;
/// The least growth per RTT, in packets.
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
        // Whole packets acknowledged times growth in units of 2^-16, by a window in whole packets.
        let packets = (self.window >> WINDOW_BITS).max(1);
        let growth = crate::number::product(growth, event.acked.0).checked_div(packets).unwrap_or(0);
        self.window = self.window.saturating_add(growth);
    }

    /// A recovery episode begins.
    #[inline(always)]
    pub(super) fn on_loss(&mut self, now: Instant) {
        self.most = self.window;
        self.since = now;
        self.window = (crate::number::product(self.window, BETA as u32) >> 16).max(min_window());
        let packets = (self.most >> WINDOW_BITS).min(MOST_PACKETS);
        self.to_most_ms = cube_root(packets * MILLIS_CUBED_PER_PACKET);
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

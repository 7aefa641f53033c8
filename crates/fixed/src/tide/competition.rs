//! The window against flows that fill the queue.
//!  It begins at the window with which the flow still had its share, and grows by half per RTT until the first loss
//! shows the path's capacity. From then on it grows by a few per cent per RTT, at least by a few packets; each loss
//! reduces it as CUBIC does.

use super::WINDOW_BITS;
use super::window::min_window;
use crate::number::product;
use crate::{Packets, Q16};

/// RFC 9438, section 4.6: the share of the window that a loss leaves, 0.7.
const BETA: Q16 = Q16(45_875);
/// Prototype: growth per RTT before the first loss: a half.
const GROWTH_BEFORE_LOSS: Q16 = Q16(32_768);
/// Growth per RTT after it, 0.03, so that twelve RTTs make up for a loss. A first guess: no other value was tried.
const GROWTH: Q16 = Q16(1_966);
/// Prototype: the least growth per RTT, in packets.
const MIN_GROWTH_PACKETS: u64 = 4;

/// A window that only losses reduce.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct Competition {
    window: u64,
    /// Not zero: the flow has lost packets since it began to compete.
    lossy: u64,
}

impl Competition {
    pub(super) const NONE: Self = Self { window: 0, lossy: 0 };

    #[inline(always)]
    pub(super) const fn from_window(window: u64) -> Self {
        Self { window, ..Self::NONE }
    }

    /// Resumes after a pause, with a window of at least `window`.
    #[inline(always)]
    pub(super) fn resumed(self, window: u64) -> Self {
        Self { window: self.window.max(window), ..self }
    }

    #[inline(always)]
    pub(super) const fn is_lossless(&self) -> bool {
        self.lossy == 0
    }

    #[inline(always)]
    pub(super) const fn window(&self) -> u64 {
        self.window
    }

    #[inline(always)]
    pub(super) fn on_ack(&mut self, acked: Packets) {
        let growth = if self.is_lossless() {
            GROWTH_BEFORE_LOSS.of(self.window)
        } else {
            GROWTH.of(self.window).max(MIN_GROWTH_PACKETS << WINDOW_BITS)
        };
        let growth = product(product(growth, acked.0), 1 << WINDOW_BITS);
        self.window = self.window.saturating_add(growth.checked_div(self.window).unwrap_or(0));
    }

    /// A recovery episode begins.
    #[inline(always)]
    pub(super) fn on_loss(&mut self) {
        self.lossy = 1;
        self.window = BETA.of(self.window).max(min_window());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_window(packets: u64) -> Competition {
        Competition::from_window(packets << WINDOW_BITS)
    }

    fn packets(competition: &Competition) -> f64 {
        competition.window() as f64 / 65536.0
    }

    /// Acknowledges a window.
    fn pass_an_rtt(competition: &mut Competition) {
        (0..packets(competition) as u64).for_each(|_| competition.on_ack(Packets(1)));
    }

    #[test]
    fn before_a_loss_the_window_grows_by_half_in_an_rtt() {
        let mut competition = with_window(100);
        pass_an_rtt(&mut competition);
        assert!((149.9..=150.0).contains(&packets(&competition)), "{}", packets(&competition));
    }

    #[test]
    fn a_loss_leaves_seventy_percent_which_is_made_up_for_in_a_dozen_rtts() {
        let mut competition = with_window(1000);
        competition.on_loss();
        assert!((packets(&competition) - 700.0).abs() < 0.01);
        (0..12).for_each(|_| pass_an_rtt(&mut competition));
        assert!((980.0..1030.0).contains(&packets(&competition)), "{}", packets(&competition));
    }

    #[test]
    fn a_window_of_few_packets_grows_by_four_in_an_rtt() {
        // The core once truncated a window of 2.9 packets to 2, and grew by half more.
        let mut competition = Competition::from_window(29 * (1 << WINDOW_BITS) / 10);
        competition.on_loss();
        let before = packets(&competition);
        competition.on_ack(Packets(1));
        let growth = (packets(&competition) - before) * before;
        assert!((growth - 4.0).abs() < 0.01, "{growth}");
    }
}

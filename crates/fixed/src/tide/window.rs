//! The window, from the delivery rate and the queue.
//!
//! ```text
//! window = rate * (base RTT + target + ramp) + extra packets + aggregation
//! ```
//!
//! - An RTT holds `rate * (base RTT + queueing delay)`, so a queue above the target makes the next window smaller. The
//!   queue settles where the rate times its excess over the target equals the extra packets.
//! - The ramp lets the window grow where the queue stays empty although a target is set: there the measured rate is the
//!   window's own.
//! - The aggregation is the most packets beyond one that an acknowledgement of this round or the last covers. A
//!   receiver that acknowledges every sixteenth packet keeps the sender waiting until sixteen have arrived. With a
//!   window that does not also hold these, the sender waits for the receiver's timer, and measures the timer's rate.
//! - The extra packets do not depend on the rate. They equalise the shares of several flows, since a slow flow gains
//!   more from them than a fast one, and they let a flow of few packets grow.

use super::settings::Config;
use super::{WINDOW_BITS, part, window_of};
use crate::{Micros, Packets, Q16};

/// RFC 9002, section 7.2: the smallest window.
const MIN_WINDOW: Packets = Packets(2);
/// Time after which a flow no longer counts as limited by its application: longer than most pauses of a cellular link,
/// in which packets wait although the application sends little.
pub(super) const LONG_PAUSE: Micros = Micros(1_000_000);

/// The inputs of the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub(super) rate: u64,
    pub(super) base_rtt: Micros,
    pub(super) target: Micros,
    /// Time for which the queue has been shorter than half of the target; `None` if always.
    pub(super) empty_for: Option<Micros>,
    /// Time since the application had nothing to send; `None` if it always had data.
    pub(super) app_limited_before: Option<Micros>,
    /// The share left of target and extra packets after losses.
    pub(super) share: Q16,
    /// Packets beyond one that an acknowledgement covers.
    pub(super) aggregated: Packets,
}

impl State {
    /// The window, in units of 2^-16 packets.
    #[inline(always)]
    pub(super) fn window(&self, config: &Config) -> u64 {
        let target = part(self.share, self.target);
        let ramp = part(self.ramp(config), self.base_rtt);
        let time = self.base_rtt.plus(target).plus(ramp);
        // Each number is below 2^31, and the product of both below 2^46.
        let extra = self.shared(config.extra_packets);
        let aggregated = (self.aggregated.0 as u64) << WINDOW_BITS;
        window_of(self.rate, time).saturating_add(extra).saturating_add(aggregated).max(self.least(config))
    }

    /// The smallest window: the restart window where the application limits the flow.
    #[inline(always)]
    fn least(&self, config: &Config) -> u64 {
        match self.app_limited_before {
            Some(before) if before < LONG_PAUSE => self.shared(config.restart_window).max(min_window()),
            _ => min_window(),
        }
    }

    /// A number of packets times the share left after losses, in units of 2^-16 packets.
    #[inline(always)]
    fn shared(&self, packets: Q16) -> u64 {
        ((packets.0 as i64 * self.share.0 as i64) >> 16).max(0) as u64
    }

    /// The ramp in base RTTs, up to one: then the window is twice the packets delivered in the last RTT. It begins when
    /// the queue has been empty for a base RTT (prototype).
    #[inline(always)]
    fn ramp(&self, config: &Config) -> Q16 {
        let Some(empty_for) = self.empty_for else { return Q16::ONE };
        let beyond = empty_for.0.saturating_sub(self.base_rtt.0);
        let rtts = Q16::ratio(beyond as i64, self.base_rtt.0);
        let ramp = Q16::ratio(rtts.0 as i64, config.ramp_rtts.0.max(1) as u32);
        ramp.min(Q16::ONE)
    }
}

/// The smallest window, in units of 2^-16 packets.
#[inline(always)]
pub(super) const fn min_window() -> u64 {
    (MIN_WINDOW.0 as u64) << WINDOW_BITS
}

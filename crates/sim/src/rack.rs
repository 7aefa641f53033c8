//! Loss detection by time, TCP's: RACK-TLP (RFC 8985), with the retransmission time-out (RFC 6298) and F-RTO (RFC 5682).
//!
//! 1. A packet is lost once one sent later has arrived and an RTT and the reordering window have passed since it left.
//! 2. The window is nothing, after three packets beyond a gap, until packets are seen out of order; then a quarter of the
//!    smallest RTT, and a quarter more for each round in which a packet arrived that was taken for lost.
//! 3. LossTimer after the last packet of a flight is probed once after two RTTs (the tail loss probe).
//! 4. Then the retransmission time-out declares packets lost that have waited long enough, and doubles while nothing arrives.
//! 5. If a packet arrives that the time-out took for lost, the path was slow and nothing was: all of it is undone (F-RTO).
//!
//! Differences from the RFCs: packets have numbers of their own, as if every acknowledgement carried timestamps. Thus a packet
//! that arrives after it was taken for lost is known at once, and stands for the DSACK that its retransmission would cause
//! a round trip later. The timer of the reordering window waits for the first packet that is due, not for the last.

use cellcc_control::Rtt;
use cellcc_units::{Span, Time};

/// Packets beyond a gap that make it a loss while nothing has arrived out of order (RFC 8985, section 4, `DupThresh`).
pub(crate) const DUPLICATE_THRESHOLD: usize = 3;
/// Recoveries without a packet wrongly declared lost, until the window shrinks to its first size (RFC 8985, section 6.2, step 4).
const PERSISTENCE: u32 = 16;
/// The retransmission time-out is at least this much above the smoothed RTT (Linux, `TCP_RTO_MIN` in tcp.h; RFC 6298 asks for
/// a second in all).
const MIN_VARIATION: Span = Span::from_millis(200);

/// A flow's known reordering, and its timers.
#[derive(Debug, Clone)]
pub(crate) struct Rack {
    /// The RTT of the packet that arrived last.
    rtt: Span,
    reordering_seen: bool,
    /// Quarters of the smallest RTT in the reordering window.
    quarters: u32,
    /// Recoveries until `quarters` is one again.
    persists: u32,
    /// The window grows again when all packets before this one are settled: once a round.
    grows_after: u64,
    /// Since when the retransmission time-out runs.
    timeout_from: Time,
    /// A tail loss probe has left, and nothing has arrived since.
    probed: bool,
}

/// The action due when nothing has arrived for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossTimer {
    /// A tail loss probe.
    TailLossProbe(Time),
    /// The retransmission time-out.
    Retransmission(Time),
}

impl LossTimer {
    pub(crate) fn at(self) -> Time {
        match self {
            Self::TailLossProbe(at) | Self::Retransmission(at) => at,
        }
    }
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            rtt: Span::ZERO,
            reordering_seen: false,
            quarters: 1,
            persists: 0,
            grows_after: 0,
            timeout_from: Time::ZERO,
            probed: false,
        }
    }
}

impl Rack {
    /// A packet arrived that left at `sent_at`; `in_order`: none that left after it had arrived.
    #[inline]
    pub(crate) fn on_arrival(&mut self, now: Time, sent_at: Time, in_order: bool) {
        self.rtt = now.since(sent_at);
        self.reordering_seen |= !in_order;
        self.timeout_from = now;
        self.probed = false;
    }

    /// A packet arrived that was taken for lost. `oldest`: the oldest packet in flight; `next`: the number of the next to leave.
    pub(crate) fn on_wrongly_lost(&mut self, oldest: u64, next: u64) {
        self.reordering_seen = true;
        self.persists = PERSISTENCE;
        if oldest >= self.grows_after {
            self.grows_after = next;
            self.quarters += 1;
        }
    }

    /// All that was lost has arrived.
    pub(crate) fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.quarters = 1;
        }
    }

    /// The first packet leaves after a pause, with nothing else in flight.
    pub(crate) fn on_flight_begins(&mut self, now: Time) {
        self.timeout_from = now;
    }

    pub(crate) fn on_probe(&mut self, now: Time) {
        self.probed = true;
        self.timeout_from = now;
    }

    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.timeout_from = now;
    }

    /// How long after it left a packet is lost, once one sent later has arrived (RFC 8985, section 6.2, steps 4 and 5).
    /// `no_window`: something is lost already, or the gap is followed by [`DUPLICATE_THRESHOLD`] packets, so that there is no
    /// reordering window unless packets have been seen out of order.
    #[inline]
    pub(crate) fn loss_delay(&self, rtt: &Rtt, no_window: bool) -> Span {
        let window = if self.reordering_seen {
            (rtt.min() / 4 * u64::from(self.quarters)).min(rtt.smoothed())
        } else if no_window {
            Span::ZERO
        } else {
            rtt.min() / 4
        };
        self.rtt + window
    }

    /// True where no packet has been seen out of order: only then [`loss_delay`](Self::loss_delay) looks at `no_window`.
    #[inline]
    pub(crate) fn in_order_so_far(&self) -> bool {
        !self.reordering_seen
    }

    /// The next action due if nothing arrives, after `timeouts` in a row; `last_sent_at`: when the last packet left; `probes`:
    /// a tail loss probe may be sent, if none has been.
    #[inline]
    pub(crate) fn loss_timer(
        &self,
        rtt: &Rtt,
        max_ack_delay: Span,
        last_sent_at: Time,
        timeouts: u32,
        probes: bool,
    ) -> LossTimer {
        let timeout = rtt.smoothed() + (rtt.variation() * 4).max(MIN_VARIATION);
        let timeout_at = self.timeout_from + timeout * (1 << timeouts);
        if !probes || self.probed || timeouts > 0 {
            return LossTimer::Retransmission(timeout_at);
        }
        // RFC 8985, section 7.2.
        let probe_at = last_sent_at.max(self.timeout_from) + rtt.smoothed() * 2 + max_ack_delay;
        if probe_at < timeout_at {
            LossTimer::TailLossProbe(probe_at)
        } else {
            LossTimer::Retransmission(timeout_at)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// The RTT assumed before any sample is its own minimum and mean.
    const RTT: Span = Rtt::INITIAL;

    #[test]
    fn without_reordering_a_gap_of_three_packets_is_lost_at_once() {
        let mut rack = Rack::default();
        rack.on_arrival(at(50), at(10), true);
        assert_eq!(rack.loss_delay(&Rtt::default(), true), Span::from_millis(40));
        assert_eq!(rack.loss_delay(&Rtt::default(), false), Span::from_millis(40) + RTT / 4);
    }

    #[test]
    fn the_window_grows_once_a_round_up_to_the_mean_rtt_and_shrinks_after_sixteen_recoveries() {
        let mut rack = Rack::default();
        let window = |rack: &Rack| rack.loss_delay(&Rtt::default(), true);
        rack.on_wrongly_lost(0, 10);
        assert_eq!(window(&rack), RTT / 4 * 2);
        rack.on_wrongly_lost(9, 12);
        assert_eq!(window(&rack), RTT / 4 * 2, "the same round");
        rack.on_wrongly_lost(10, 20);
        assert_eq!(window(&rack), RTT / 4 * 3);
        (0..9).for_each(|round| rack.on_wrongly_lost(20 + 10 * round, 30 + 10 * round));
        assert_eq!(window(&rack), RTT);
        (0..15).for_each(|_| rack.on_recovered());
        assert_eq!(window(&rack), RTT);
        rack.on_recovered();
        assert_eq!(window(&rack), RTT / 4);
    }

    #[test]
    fn silence_is_probed_once_and_then_times_out() {
        let mut rack = Rack::default();
        rack.on_arrival(at(1000), at(900), true);
        let timer =
            |rack: &Rack, timeouts| rack.loss_timer(&Rtt::default(), Span::ZERO, at(1000), timeouts, true);
        assert_eq!(timer(&rack, 0), LossTimer::TailLossProbe(at(1000) + RTT * 2));
        rack.on_probe(at(2000));
        let timeout = RTT + RTT / 2 * 4;
        assert_eq!(timer(&rack, 0), LossTimer::Retransmission(at(2000) + timeout));
        rack.on_timeout(at(3000));
        assert_eq!(timer(&rack, 1), LossTimer::Retransmission(at(3000) + timeout * 2), "it doubles");
    }
}

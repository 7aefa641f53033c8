//! The competitive mode: when others fill the queue, and how much of it to take then.

use super::settings::{MIN_WINDOW_PACKETS, Mode};
use cellcc_control::{Ack, filters::RecentMin};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::cmp::Reverse;

/// Paper, section 2.2: a queue that only flows of Copa share is nearly empty once in so many RTTs.
const NEARLY_EMPTY_EVERY_RTTS: u64 = 5;
/// Paper, section 2.2: nearly empty is below this share of the RTT's range.
const NEARLY_EMPTY: f64 = 0.1;
/// Paper, section 2.2: the range is that of the last four RTTs.
const RANGE_RTTS: u64 = 4;
/// A flow sees the queue only through its own packets: of a queue that is empty for less than the time between two of them it may
/// see nothing, and one of its own may wait in it.
const OWN_PACKETS: f64 = 1.0;
/// Our choice: a window that holds more than so many times the packets that it is to keep in the queue is still on its way down.
const ON_TARGET: f64 = 2.0;

/// An acknowledgement's information on the queue.
pub(super) struct Look {
    min_rtt: Span,
    /// The least of the last half smoothed RTT.
    queueing_delay: Span,
    /// The newest packet's RTT.
    sample: Span,
    /// The flow's own queued packets: the data in flight as the newest packet left, times the fraction of the RTT that it waited.
    own_packets: f64,
}

impl Look {
    pub(super) fn new(ack: &Ack<'_>, sample: Span, min_rtt: Span, queueing_delay: Span) -> Self {
        let inflight = ack.packets.last().map_or(Bytes::ZERO, |newest| newest.inflight);
        // At the smallest window one packet is in flight before the other leaves, however many others wait.
        let inflight = inflight.max(ack.packet_size * MIN_WINDOW_PACKETS).in_packets(ack.packet_size);
        let waited = sample.saturating_sub(min_rtt).as_secs_f64() / sample.as_secs_f64();
        Self { min_rtt, queueing_delay, sample, own_packets: inflight * waited }
    }
}

/// The mode of a flow, and its delta.
#[derive(Debug)]
pub(super) struct Competition {
    mode: Mode,
    default_delta: f64,
    /// `1/delta`, in packets; fixed in the default mode.
    packets: f64,
    max_rtt: RecentMin<Reverse<Span>>,
    /// None before the first RTT sample.
    nearly_empty_at: Option<Time>,
    is_on: bool,
    lost_in_round: bool,
    /// None in the default mode, after a loss, and while the window is far from its target.
    gain: Option<Gain>,
}

impl Competition {
    pub(super) fn new(mode: Mode, delta: f64) -> Self {
        Self {
            mode,
            default_delta: delta,
            packets: 1.0 / delta,
            max_rtt: RecentMin::default(),
            nearly_empty_at: None,
            is_on: mode == Mode::Competitive,
            lost_in_round: false,
            gain: None,
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(super) fn delta(&self) -> f64 {
        if self.is_on { 1.0 / self.packets } else { self.default_delta }
    }

    /// An RTT sample, and its information on the queue.
    pub(super) fn on_rtt(&mut self, ack: &Ack<'_>, look: &Look) {
        let smoothed = ack.rtt.smoothed();
        let Reverse(max) = self.max_rtt.add(ack.now, Reverse(look.sample), smoothed * RANGE_RTTS);
        let range = max.saturating_sub(look.min_rtt);
        let nearly_empty = self.nearly_empty_at.get_or_insert(ack.now);
        if look.queueing_delay <= range.mul_f64(NEARLY_EMPTY)
            || (self.mode != Mode::Literal && look.own_packets <= OWN_PACKETS)
        {
            *nearly_empty = ack.now;
        }
        if matches!(self.mode, Mode::Auto | Mode::Literal) {
            let competes = ack.now.since(*nearly_empty) > smoothed * NEARLY_EMPTY_EVERY_RTTS;
            self.turn(competes);
        }
        if ack.round_start {
            self.on_round();
            if self.mode == Mode::Auto && self.is_on && self.gains_nothing(ack, look) {
                self.nearly_empty_at = Some(ack.now);
                self.turn(false);
            }
        }
    }

    /// The first loss of a recovery episode.
    pub(super) fn on_loss(&mut self) {
        self.lost_in_round = true;
        if self.is_on {
            self.packets = (self.packets / 2.0).max(1.0 / self.default_delta);
            self.gain = None;
        }
    }

    fn turn(&mut self, competes: bool) {
        if self.is_on && !competes {
            self.packets = 1.0 / self.default_delta;
            self.gain = None;
        }
        self.is_on = competes;
    }

    fn on_round(&mut self) {
        if self.is_on && !self.lost_in_round {
            self.packets += 1.0;
        }
        self.lost_in_round = false;
    }

    /// The packets in the queue have doubled without a gain: no other flow fills it. A flow that is alone and keeps less than a
    /// bandwidth-delay product queued drains the queue by itself, and shows so; with more its swing dies out, and the queue stands.
    fn gains_nothing(&mut self, ack: &Ack<'_>, look: &Look) -> bool {
        if look.own_packets > ON_TARGET * self.packets {
            self.gain = None;
            return false;
        }
        let gain = self.gain.get_or_insert_with(|| Gain::new(ack.now, ack.delivered, self.packets));
        gain.is_none(ack.now, ack.delivered, self.packets) && look.queueing_delay > look.min_rtt
    }
}

// Tests for a gain of a larger share of the queue, as there is where others fill the rest.

/// Twice the packets in the queue of others double a flow's rate, unless most of the queue was its own before: with nine tenths of
/// it they bring 5 % more, and alone nothing.
const LEAST_GAIN: f64 = 1.05;

/// The delivery from one doubling of `1/delta` to the next.
#[derive(Debug)]
pub(super) struct Gain {
    began: Time,
    delivered: Bytes,
    /// `1/delta` when it began, in packets.
    packets: f64,
    /// The rate of the doubling before.
    before: Option<Rate>,
}

impl Gain {
    /// Begins with `1/delta` of `packets`.
    pub(super) fn new(now: Time, delivered: Bytes, packets: f64) -> Self {
        Self { began: now, delivered, packets, before: None }
    }

    /// A round is over. True if `packets` are a doubling without a gain.
    fn is_none(&mut self, now: Time, delivered: Bytes, packets: f64) -> bool {
        if packets < 2.0 * self.packets {
            return false;
        }
        let rate = Rate::from_transfer(delivered.saturating_sub(self.delivered), now.since(self.began));
        let is_none = self.before.is_some_and(|before| rate < before.mul_f64(LEAST_GAIN));
        *self = Self { before: Some(rate), ..Self::new(now, delivered, packets) };
        is_none
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Span;

    /// The verdict of each of eight rounds of 100 ms, each of which delivers `more` bytes than the one before; `1/delta` begins
    /// with two packets and grows by one.
    fn shows(more: u64) -> [bool; 8] {
        let mut now = Time::ZERO;
        let mut delivered = Bytes::ZERO;
        let mut gain = Gain::new(now, delivered, 2.0);
        std::array::from_fn(|round| {
            now += Span::from_millis(100);
            delivered += Bytes::new(10_000 + more * round as u64);
            gain.is_none(now, delivered, 3.0 + round as f64)
        })
    }

    #[test]
    fn nothing_is_gained_where_twice_the_packets_in_the_queue_bring_no_more_than_the_doubling_before() {
        // From two packets to four and from four to eight: the second doubling is held against the first.
        assert_eq!(shows(0), [false, false, false, false, false, true, false, false]);
        assert_eq!(shows(1_000), [false; 8]);
    }
}

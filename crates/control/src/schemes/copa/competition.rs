//! The competitive mode: when others fill the queue, and how much of it to take then.

use super::settings::Mode;
use crate::contract::Ack;
use crate::filters::RecentMin;
use cellcc_units::{Span, Time};
use std::cmp::Reverse;

/// Paper, section 2.2: a queue that only flows of Copa share is nearly empty once in so many RTTs.
const NEARLY_EMPTY_EVERY_RTTS: u64 = 5;
/// Paper, section 2.2: nearly empty is below this share of the RTT's range.
const NEARLY_EMPTY: f64 = 0.1;
/// Paper, section 2.2: the range is that of the last four RTTs.
const RANGE_RTTS: u64 = 4;

/// What a flow sees of the queue.
pub(super) struct Look {
    pub(super) min_rtt: Span,
    pub(super) standing_rtt: Span,
    pub(super) queueing_delay: Span,
    /// Whole packets in the window.
    pub(super) packets: u64,
}

impl Look {
    /// The queueing delay is no more than the time between two packets of the flow. It sees the queue only through these: of a
    /// queue that is empty for less time it may see nothing, and one packet of its own may wait in it.
    fn is_within_spacing(&self) -> bool {
        self.queueing_delay * self.packets <= self.standing_rtt
    }
}

/// The mode of a flow, and its delta.
#[derive(Debug)]
pub(super) struct Competition {
    mode: Mode,
    default_delta: f64,
    /// `1/delta`, in packets; what is fixed in the default mode.
    packets: f64,
    max_rtt: RecentMin<Reverse<Span>>,
    /// None before the first RTT sample.
    nearly_empty_at: Option<Time>,
    is_on: bool,
    lost_in_round: bool,
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
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(super) fn delta(&self) -> f64 {
        if self.is_on { 1.0 / self.packets } else { self.default_delta }
    }

    /// An RTT sample, and what it tells of the queue.
    pub(super) fn on_rtt(&mut self, ack: &Ack<'_>, sample: Span, look: &Look) {
        let smoothed = ack.rtt.smoothed();
        let Reverse(max) = self.max_rtt.add(ack.now, Reverse(sample), smoothed * RANGE_RTTS);
        let range = max.saturating_sub(look.min_rtt);
        let nearly_empty = self.nearly_empty_at.get_or_insert(ack.now);
        let is_nearly_empty = look.queueing_delay <= range.mul_f64(NEARLY_EMPTY)
            || (self.mode != Mode::Literal && look.is_within_spacing());
        if is_nearly_empty {
            *nearly_empty = ack.now;
        }
        if matches!(self.mode, Mode::Auto | Mode::Literal) {
            let competes = ack.now.since(*nearly_empty) > smoothed * NEARLY_EMPTY_EVERY_RTTS;
            if self.is_on && !competes {
                self.packets = 1.0 / self.default_delta;
            }
            self.is_on = competes;
        }
        if ack.round_start {
            self.on_round();
        }
    }

    /// The first loss of a recovery episode.
    pub(super) fn on_loss(&mut self) {
        self.lost_in_round = true;
        if self.is_on {
            self.packets = (self.packets / 2.0).max(1.0 / self.default_delta);
        }
    }

    fn on_round(&mut self) {
        if self.is_on && !self.lost_in_round {
            self.packets += 1.0;
        }
        self.lost_in_round = false;
    }
}

//! PIE: Proportional Integral Controller Enhanced (RFC 8033).
//!
//! Packets are dropped (or marked) at random as they arrive. The probability is updated periodically: it grows with the
//! distance of the queueing delay from its target, and with the growth of the delay since the update before.
//!
//! The names and the order of steps are those of the RFC's sections 4 and 5. The queueing delay is measured by time
//! stamps (section 4.3 leaves the choice) and not from a departure rate, which a cellular link does not hold: it is the
//! age of the packet at the head.

use super::fifo::{Fifo, FifoDiscipline, Verdict};
use super::text::{Part, part, part_in};
use super::{Backlog, Discipline, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::Packet;
use crate::share::Loss;
use cellcc_units::{Bytes, QueueLimit, Ratio, Span, Time};
use std::sync::Arc;

/// The settings of PIE (RFC 8033).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pie {
    /// The queueing delay to be held (QDELAY_REF).
    pub target: Span,
    /// For how long a queue may fill before anything is dropped (MAX_BURST).
    pub burst: Span,
    /// Time between updates of the drop probability (T_UPDATE); not below [`Pie::SHORTEST_UPDATE`].
    pub update: Span,
    /// Limit of the queue; drop-tail beyond it.
    pub limit: QueueLimit,
    /// Marks ECN-capable packets instead of dropping them while the probability is low.
    pub ecn: bool,
}

impl Pie {
    /// An update costs some work, and packets come hardly more often.
    pub const SHORTEST_UPDATE: Span = Span::from_millis(1);

    /// 15 ms, 150 ms and 15 ms (RFC 8033, sections 4.2 and 4.4), no limit, no ECN.
    pub const DEFAULT: Self = Self {
        target: Span::from_millis(15),
        burst: Span::from_millis(150),
        update: Span::from_millis(15),
        limit: QueueLimit::Unlimited,
        ecn: false,
    };
}

impl Discipline for Pie {
    const NAME: &'static str = "pie";
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part_in("target=15ms", "", |own| &mut own.target, |own| !own.target.is_zero()),
        part("burst=150ms", |own| &mut own.burst),
        part_in(
            "update=15ms",
            "1ms or more",
            |own| &mut own.update,
            |own| own.update >= Self::SHORTEST_UPDATE,
        ),
        part("limit=1000pkt", |own| &mut own.limit),
        part("ecn", |own| &mut own.ecn),
    ];
    type Waiting<P> = Fifo<P, PieState>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.limit
    }

    fn waiting<P: Packet>(self, _: &Arc<Capacity>, seed: u64) -> Fifo<P, PieState> {
        Fifo::new(PieState::new(self, seed))
    }
}

/// A PIE controller.
#[derive(Debug, Clone)]
pub(crate) struct PieState {
    settings: Pie,
    drop_prob: f64,
    qdelay_old: Span,
    burst_allowance: Span,
    /// The sum of the probabilities since the last drop: keeps drops from coming in clumps (section 5.4).
    accu_prob: f64,
    /// [`Time::NEVER`] while nothing is going on.
    next_update: Time,
    chance: Loss,
}

/// Weights of the delay's distance and growth, per second (section 4.2).
const ALPHA_PER_S: f64 = 0.125;
const BETA_PER_S: f64 = 1.25;
/// Below the probability on the left, a change is divided by the number on the right (section 4.2).
const SCALES: [(f64, f64); 6] =
    [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];
/// From this probability on, one update adds at most that much (section 5.5).
const CAP_FROM: f64 = 0.1;
const LARGEST_STEP: f64 = 0.02;
/// Factor on the probability at an update without delay (section 4.2).
const DECAY: f64 = 0.98;
/// Below this probability a delay under half of the target is left alone (section 4.1).
const SAFE_PROBABILITY: f64 = 0.2;
/// Two packets are no queue (section 4.1).
const NO_QUEUE: Bytes = Bytes::new(2 * 1500);
/// Up to this probability ECN-capable packets are marked (section 5.1).
const MARK_UP_TO: f64 = 0.1;
/// No drop below the first sum of probabilities, a certain one from the second on (section 5.4).
const ACCUMULATED: (f64, f64) = (0.85, 8.5);
/// Keeps the draws apart from those of other parts of a link with the same seed.
const STREAM: u64 = 0x70_6965; // "pie"

impl PieState {
    pub(crate) fn new(settings: Pie, seed: u64) -> Self {
        let settings = Pie { update: settings.update.max(Pie::SHORTEST_UPDATE), ..settings };
        Self {
            settings,
            drop_prob: 0.0,
            qdelay_old: Span::ZERO,
            burst_allowance: settings.burst,
            accu_prob: 0.0,
            next_update: Time::NEVER,
            chance: Loss::new(Ratio::ZERO, seed ^ STREAM),
        }
    }

    /// Updates the probability up to `now`. `oldest` is when the oldest packet in the queue arrived.
    pub(crate) fn update_until(&mut self, now: Time, oldest: Option<Time>) {
        while self.next_update <= now && self.next_update < Time::NEVER {
            let qdelay = oldest.map_or(Span::ZERO, |since| self.next_update.since(since));
            self.update(qdelay);
            let at_rest =
                oldest.is_none() && self.drop_prob == 0.0 && self.burst_allowance == self.settings.burst;
            self.next_update = if at_rest { Time::NEVER } else { self.next_update + self.settings.update };
        }
    }

    /// One update (`calculate_drop_prob`).
    fn update(&mut self, qdelay: Span) {
        let seconds = |span: Span| span.as_secs_f64();
        let target = self.settings.target;
        let mut change = ALPHA_PER_S * (seconds(qdelay) - seconds(target))
            + BETA_PER_S * (seconds(qdelay) - seconds(self.qdelay_old));
        if let Some((_, divisor)) = SCALES.iter().find(|(below, _)| self.drop_prob < *below) {
            change /= divisor;
        }
        if self.drop_prob >= CAP_FROM {
            change = change.min(LARGEST_STEP);
        }
        self.drop_prob += change;
        if qdelay.is_zero() && self.qdelay_old.is_zero() {
            self.drop_prob *= DECAY;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(self.settings.update);
        if self.drop_prob == 0.0 && qdelay < target / 2 && self.qdelay_old < target / 2 {
            self.burst_allowance = self.settings.burst;
        }
        self.qdelay_old = qdelay;
    }

    /// What happens to a packet that arrives at `now` at a queue of `queued` bytes.
    pub(crate) fn judge(&mut self, now: Time, queued: Bytes, ecn_capable: bool) -> Verdict {
        if self.next_update == Time::NEVER {
            self.next_update = now + self.settings.update;
        }
        if !self.burst_allowance.is_zero() || !self.drops_early(queued) {
            return Verdict::Enqueue;
        }
        let marks = self.settings.ecn && ecn_capable && self.drop_prob < MARK_UP_TO;
        if marks { Verdict::Mark } else { Verdict::Drop }
    }

    fn drops_early(&mut self, queued: Bytes) -> bool {
        let calm = self.qdelay_old < self.settings.target / 2 && self.drop_prob < SAFE_PROBABILITY;
        if calm || queued <= NO_QUEUE {
            return false;
        }
        self.accu_prob = if self.drop_prob == 0.0 { 0.0 } else { self.accu_prob + self.drop_prob };
        let drops = match self.accu_prob {
            sum if sum < ACCUMULATED.0 => false,
            sum if sum >= ACCUMULATED.1 => true,
            _ => {
                self.chance.set(Ratio::new(self.drop_prob));
                self.chance.strikes()
            }
        };
        if drops {
            self.accu_prob = 0.0;
        }
        drops
    }
}

impl<P: Packet> FifoDiscipline<P> for PieState {
    fn admit(&mut self, now: Time, _: Bytes, packet: &P, backlog: &Backlog<P>) -> Verdict {
        self.update_until(now, backlog.oldest());
        self.judge(now, backlog.bytes(), packet.is_ecn_capable())
    }

    fn next(&mut self, now: Time, backlog: &mut Backlog<P>) -> Option<QueuedPacket<P>> {
        self.update_until(now, backlog.oldest());
        backlog.pop(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    fn pie() -> PieState {
        PieState::new(Pie::DEFAULT, 1)
    }

    fn after(drop_prob: f64, qdelay_old: u64, qdelay: u64) -> f64 {
        let mut pie = PieState { drop_prob, qdelay_old: millis(qdelay_old), ..pie() };
        pie.update(millis(qdelay));
        pie.drop_prob
    }

    #[test]
    fn the_probability_follows_the_formula_of_the_rfc() {
        let near = |value: f64, expected: f64| {
            assert!((value - expected).abs() < 1e-12, "{value}, expected {expected}");
        };
        // 0.125 * (40 - 15) ms + 1.25 * (40 - 20) ms = 0.003125 + 0.025 = 0.028125, then divided by the table's number.
        near(after(0.0, 20, 40), 0.028_125 / 2048.0);
        near(after(0.000_005, 20, 40), 0.000_005 + 0.028_125 / 512.0);
        near(after(0.000_05, 20, 40), 0.000_05 + 0.028_125 / 128.0);
        near(after(0.000_5, 20, 40), 0.000_5 + 0.028_125 / 32.0);
        near(after(0.005, 20, 40), 0.005 + 0.028_125 / 8.0);
        near(after(0.05, 20, 40), 0.05 + 0.028_125 / 2.0);
        // From 10 % on, at most 2 % at a time; but it falls as fast as the formula says.
        near(after(0.5, 20, 40), 0.52);
        near(after(0.5, 40, 20), 0.5 + 0.125 * 0.005 - 1.25 * 0.020);
        // Without any delay it also decays.
        near(after(0.5, 0, 0), (0.5 - 0.125 * 0.015) * 0.98);
        near(after(0.000_001, 40, 0), 0.0);
        near(after(0.999, 100, 900), 1.0);
    }

    #[test]
    fn a_burst_is_let_through_and_the_allowance_comes_back_when_the_queue_is_gone() {
        let mut pie = PieState { drop_prob: 1.0, ..pie() };
        let full = Bytes::new(100_000);
        for _ in 0..10 {
            assert_eq!(pie.judge(Time::ZERO, full, false), Verdict::Enqueue);
            pie.update(millis(100));
        }
        // 150 ms of allowance last for ten updates.
        assert_eq!(pie.judge(Time::ZERO, full, false), Verdict::Drop);
        (0..1000).for_each(|_| pie.update(Span::ZERO));
        assert_eq!((pie.drop_prob, pie.burst_allowance), (0.0, millis(150)));
    }

    #[test]
    fn updates_stop_when_the_queue_has_been_empty_for_long() {
        let mut pie = PieState { drop_prob: 0.3, burst_allowance: Span::ZERO, ..pie() };
        pie.judge(Time::ZERO, Bytes::ZERO, false);
        assert_eq!(pie.next_update, Time::ZERO + millis(15));
        pie.update_until(Time::from_nanos(u64::MAX - 1), None);
        assert_eq!((pie.next_update, pie.drop_prob), (Time::NEVER, 0.0));
    }

    #[test]
    fn the_share_of_drops_is_the_probability_and_they_do_not_come_in_clumps() {
        let mut pie =
            PieState { drop_prob: 0.05, burst_allowance: Span::ZERO, qdelay_old: millis(20), ..pie() };
        let full = Bytes::new(100_000);
        let dropped: Vec<usize> =
            (0..100_000).filter(|_| pie.judge(Time::ZERO, full, false) == Verdict::Drop).collect();
        // No drop within the first 0.85 / 0.05 = 17 packets, then each with the probability of 5 %: one in 17 - 1 + 20.
        assert!(dropped.windows(2).all(|pair| pair[1] - pair[0] >= 17));
        // 2778 gaps of 36 with a standard deviation of 19.5: one of 28.5 in their count.
        assert!(dropped.len().abs_diff(100_000 / 36) < 4 * 29, "{}", dropped.len());
    }

    #[test]
    fn marks_take_the_place_of_drops_only_while_the_probability_is_low() {
        let full = Bytes::new(100_000);
        let verdict = |drop_prob, ecn_capable| {
            let settings = Pie { ecn: true, ..Pie::DEFAULT };
            let state = PieState::new(settings, 1);
            let mut pie =
                PieState { drop_prob, burst_allowance: Span::ZERO, qdelay_old: millis(20), ..state };
            (0..1000).map(|_| pie.judge(Time::ZERO, full, ecn_capable)).find(|&it| it != Verdict::Enqueue)
        };
        assert_eq!(verdict(0.05, true), Some(Verdict::Mark));
        assert_eq!(verdict(0.05, false), Some(Verdict::Drop));
        assert_eq!(verdict(0.2, true), Some(Verdict::Drop));
    }
}

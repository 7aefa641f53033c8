//! PIE as Mahimahi has it (`pie_packet_queue.cc` of version 0.98), which the papers ran: a draft's, not RFC 8033's.
//!
//! Differences from the RFC:
//! - The formula takes delays in milliseconds where the RFC has seconds, and divides by 128, 32 or 16: an update changes the
//!   probability by 62 times as much where it is above 0.1 %, and by more below.
//! - The probability is updated every 30 ms, at the next packet that comes or goes.
//! - The delay is the backlog over a departure rate, which is measured only while 16 KiB wait. Both are whole numbers.
//! - Drops are not spread evenly. The allowance for a burst begins at nothing.

use super::fifo::{Fifo, FifoDiscipline, Verdict};
use super::mahimahi_codel::{FULL_PACKET, is_whole_millis, whole_millis};
use super::pie::Pie;
use super::text::{Part, part, part_in};
use super::{Backlog, Discipline, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::Packet;
use crate::share::Loss;
use cellcc_units::{Bytes, QueueLimit, Ratio, Span, Time};
use std::sync::Arc;

/// Time between updates, in ms (`t_update_`).
const UPDATE_MS: u64 = 30;
/// Weights of the delay's distance and growth, per millisecond (`alpha_`, `beta_`).
const ALPHA_PER_MS: f64 = 0.125;
const BETA_PER_MS: f64 = 1.25;
/// Below the probability on the left, a change is divided by the number on the right.
const SCALES: [(f64, f64); 3] = [(0.01, 128.0), (0.1, 32.0), (f64::INFINITY, 16.0)];
/// Factor on the probability at an update without delay.
const DECAY: f64 = 0.98;
/// Below this probability a delay under half of the target is left alone.
const SAFE_PROBABILITY: f64 = 0.2;
/// The departure rate is measured over so many bytes (`dq_threshold_`).
const MEASURED_BYTES: u64 = 16_384;
/// Keeps the draws apart from those of other parts of a link with the same seed.
const STREAM: u64 = 0x6d_6d70_6965; // "mmpie"

/// The settings of Mahimahi's PIE, which knows no ECN and looks at its probability every 30 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MahimahiPie {
    /// The queueing delay to be held, in whole milliseconds (`qdelay_ref`).
    pub target: Span,
    /// For how long a queue may fill after a rest before anything is dropped, in whole milliseconds (`max_burst`).
    pub burst: Span,
    /// Limit of the queue; drop-tail beyond it.
    pub limit: QueueLimit,
}

impl MahimahiPie {
    /// Mahimahi has no defaults of its own: RFC 8033's.
    pub const DEFAULT: Self =
        Self { target: Pie::DEFAULT.target, burst: Pie::DEFAULT.burst, limit: QueueLimit::Unlimited };
}

impl Discipline for MahimahiPie {
    const NAME: &'static str = "pie";
    const VARIANT: Option<&'static str> = Some("mahimahi");
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part_in(
            "target=15ms",
            "in whole milliseconds",
            |own| &mut own.target,
            |own| is_whole_millis(own.target),
        ),
        part_in(
            "burst=150ms",
            "in whole milliseconds",
            |own| &mut own.burst,
            |own| is_whole_millis(own.burst),
        ),
        part("limit=1000pkt", |own| &mut own.limit),
    ];
    type Waiting<P> = Fifo<P, MahimahiPieState>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.limit
    }

    fn waiting<P: Packet>(self, _: &Arc<Capacity>, seed: u64) -> Fifo<P, MahimahiPieState> {
        Fifo::new(MahimahiPieState::new(self, seed))
    }
}

/// A PIE controller; its times are in milliseconds.
#[derive(Debug, Clone)]
pub(crate) struct MahimahiPieState {
    target: u64,
    burst: u64,
    drop_prob: f64,
    burst_allowance: u64,
    qdelay: u64,
    qdelay_old: u64,
    last_update: u64,
    /// Since when, and how many bytes left since then, while the rate is measured.
    measuring: Option<(u64, u64)>,
    /// Bytes per millisecond; zero for unknown.
    departure_rate: u64,
    chance: Loss,
}

impl MahimahiPieState {
    pub(crate) fn new(settings: MahimahiPie, seed: u64) -> Self {
        let millis = |span: Span| span.as_nanos() / Span::from_millis(1).as_nanos();
        Self {
            target: millis(settings.target),
            burst: millis(settings.burst),
            drop_prob: 0.0,
            burst_allowance: 0,
            qdelay: 0,
            qdelay_old: 0,
            last_update: 0,
            measuring: None,
            departure_rate: 0,
            chance: Loss::new(Ratio::ZERO, seed ^ STREAM),
        }
    }

    /// What happens to a packet that arrives at `now` at a queue of `queued` bytes.
    pub(crate) fn judge(&mut self, now: Time, queued: Bytes) -> Verdict {
        self.update_until(whole_millis(now), queued);
        let calm = self.qdelay_old < self.target / 2 && self.drop_prob < SAFE_PROBABILITY;
        if self.burst_allowance > 0 || calm || queued < FULL_PACKET * 2 {
            return Verdict::Enqueue;
        }
        self.chance.set(Ratio::new(self.drop_prob));
        if self.chance.strikes() { Verdict::Drop } else { Verdict::Enqueue }
    }

    /// A packet of `size` leaves at `now`, and `queued` bytes stay.
    pub(crate) fn note_service(&mut self, now: Time, size: Bytes, queued: Bytes) {
        let now = whole_millis(now);
        self.measure_rate(now, size.get(), queued.get());
        self.update_until(now, queued);
    }

    fn measure_rate(&mut self, now: u64, size: u64, queued: u64) {
        if self.measuring.is_none() && queued >= MEASURED_BYTES {
            self.measuring = Some((now, 0));
        }
        let Some((since, departed)) = &mut self.measuring else { return };
        *departed += size;
        let (took, departed) = (now - *since, *departed);
        if departed <= MEASURED_BYTES || took == 0 {
            return;
        }
        let sample = departed / took;
        self.departure_rate = match self.departure_rate {
            0 => sample,
            rate => rate - rate / 8 + sample / 8,
        };
        self.measuring = (queued >= MEASURED_BYTES).then_some((now, 0));
        self.burst_allowance = self.burst_allowance.saturating_sub(took);
    }

    fn update_until(&mut self, now: u64, queued: Bytes) {
        while now.saturating_sub(self.last_update) > UPDATE_MS {
            let before = (self.drop_prob, self.qdelay, self.qdelay_old, self.burst_allowance);
            self.update(queued.get());
            self.last_update += UPDATE_MS;
            if before == (self.drop_prob, self.qdelay, self.qdelay_old, self.burst_allowance) {
                // Those that are missing would change nothing either.
                self.last_update += (now - self.last_update) / UPDATE_MS * UPDATE_MS;
            }
        }
    }

    /// One update (`calculate_drop_prob`).
    fn update(&mut self, queued: u64) {
        self.qdelay_old = self.qdelay;
        self.qdelay = queued.checked_div(self.departure_rate).unwrap_or(0);
        let difference = |other: u64| self.qdelay as f64 - other as f64;
        let change = ALPHA_PER_MS * difference(self.target) + BETA_PER_MS * difference(self.qdelay_old);
        let scale = SCALES.iter().find(|(below, _)| self.drop_prob < *below);
        let moved = self.drop_prob + change / scale.map_or(1.0, |(_, divisor)| *divisor);
        self.drop_prob = moved.clamp(0.0, 1.0);
        let unknown = self.qdelay == 0 && queued != 0;
        if self.qdelay == 0 && self.qdelay_old == 0 && !unknown && moved <= 1.0 {
            self.drop_prob *= DECAY;
        }
        self.burst_allowance = self.burst_allowance.saturating_sub(UPDATE_MS);
        let calm = self.qdelay < self.target / 2 && self.qdelay_old < self.target / 2;
        if self.drop_prob == 0.0 && calm && self.departure_rate > 0 {
            self.measuring = None;
            self.departure_rate = 0;
            self.burst_allowance = self.burst;
        }
    }
}

impl<P: Packet> FifoDiscipline<P> for MahimahiPieState {
    fn admit(&mut self, now: Time, _: Bytes, _: &P, backlog: &Backlog<P>) -> Verdict {
        self.judge(now, backlog.bytes())
    }

    fn next(&mut self, now: Time, backlog: &mut Backlog<P>) -> Option<QueuedPacket<P>> {
        let next = backlog.pop(now)?;
        self.note_service(now, next.packet.size(), backlog.bytes());
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pie() -> MahimahiPieState {
        MahimahiPieState::new(MahimahiPie::DEFAULT, 1)
    }

    fn millis(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// The probability after an update at a departure rate of 1500 bytes/ms.
    fn after(drop_prob: f64, qdelay_before: u64, qdelay: u64) -> f64 {
        let mut pie = MahimahiPieState { drop_prob, qdelay: qdelay_before, departure_rate: 1500, ..pie() };
        pie.update(qdelay * 1500);
        pie.drop_prob
    }

    #[test]
    fn the_probability_follows_mahimahis_formula_in_milliseconds() {
        // 0.125 * (40 - 15) + 1.25 * (40 - 20) = 28.125, then divided.
        assert_eq!(after(0.0, 20, 40), 28.125 / 128.0);
        assert_eq!(after(0.05, 20, 40), 0.05 + 28.125 / 32.0);
        assert_eq!(after(0.5, 20, 40), 1.0);
        assert_eq!(after(0.5, 40, 20), 0.0);
        assert_eq!(after(0.5, 16, 16), 0.5 + 0.125 / 16.0);
        // Below the target without growth: 0.125 * -15 / 16.
        assert_eq!(after(0.5, 0, 0), (0.5 - 0.117_187_5) * 0.98);
    }

    #[test]
    fn the_departure_rate_is_measured_over_16_kib_while_as_much_waits() {
        let mut pie = pie();
        // 1500 bytes every 2 ms: more than 16 KiB have left with the eleventh, 20 ms after the first.
        (0..11).for_each(|packet| pie.note_service(millis(2 * packet), FULL_PACKET, FULL_PACKET * 20));
        assert_eq!((pie.departure_rate, pie.measuring), (16_500 / 20, Some((20, 0))));
        pie.note_service(millis(22), FULL_PACKET, FULL_PACKET);
        assert_eq!(pie.departure_rate, 16_500 / 20, "one packet tells nothing");
    }

    #[test]
    fn nothing_is_allowed_for_the_first_burst_and_something_for_those_after_a_rest() {
        let mut pie = MahimahiPieState { drop_prob: 1.0, ..pie() };
        assert_eq!(pie.judge(Time::ZERO, FULL_PACKET * 10), Verdict::Drop);
        let mut pie = MahimahiPieState { departure_rate: 1500, ..self::pie() };
        pie.judge(millis(31), Bytes::ZERO);
        assert_eq!((pie.burst_allowance, pie.departure_rate), (150, 0));
    }

    #[test]
    fn a_long_rest_takes_no_longer_than_a_short_one() {
        let mut pie = MahimahiPieState { drop_prob: 0.7, ..pie() };
        pie.judge(Time::from_nanos(u64::MAX - 1), Bytes::ZERO);
        assert_eq!(pie.drop_prob, 0.0);
    }
}

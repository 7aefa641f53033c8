//! RED: Random Early Detection (Floyd and Jacobson 1993), gentle (Floyd 2000).
//!
//! Packets are dropped (or marked) at random as they arrive. The probability follows the average length of the queue: none
//! below `min`, up to `probability` at `max`, from there up to certainty at twice `max`. The average is a low-pass filter's, so
//! that a burst is let through.
//!
//! The names are those of the paper's Figure 2. The queue is counted in bytes, which drops large packets no more often than
//! small ones. An empty queue lowers the average as if packets of [`IDLE_PACKET_TIME`] had found it empty; it counts as empty
//! from the beginning of the last service.

use super::fifo::{Fifo, FifoDiscipline, Verdict};
use super::text::{Part, part, part_in};
use super::{Backlog, Discipline, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::Packet;
use crate::share::Loss;
use cellcc_units::{Bytes, QueueLimit, Ratio, Span, Time};
use std::sync::Arc;

/// The weight of a packet's queue in the average (w_q; paper, section 6).
const WEIGHT: f64 = 0.002;
/// The paper's s, the time of a small packet: 1500 bytes at 10 Mbit/s, which `tc-red` takes where no rate is given. A cellular
/// link has no rate that could stand here.
const IDLE_PACKET_TIME: Span = Span::from_micros(1200);
/// Keeps the draws apart from those of other parts of a link with the same seed.
const STREAM: u64 = 0x72_6564; // "red"

/// The settings of gentle RED (Floyd and Jacobson 1993, Floyd 2000).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Red {
    /// Below this average length nothing is dropped (min_th).
    pub min: Bytes,
    /// The average length at which `probability` is reached (max_th), above `min`; at twice as much every packet is dropped.
    pub max: Bytes,
    /// The probability of a drop at `max` (max_p).
    pub probability: Ratio,
    /// Limit of the queue; drop-tail beyond it.
    pub limit: QueueLimit,
    /// Marks ECN-capable packets instead of dropping them while the average is below `max`.
    pub ecn: bool,
}

impl Red {
    /// 5 and 15 packets of 1500 bytes, 10 % (Floyd, "RED: Discussions of Setting Parameters", 1997), no limit, no ECN.
    pub const DEFAULT: Self = Self {
        min: Bytes::new(7500),
        max: Bytes::new(22_500),
        probability: Ratio::new(0.1),
        limit: QueueLimit::Unlimited,
        ecn: false,
    };

    /// 3 and 9 Mbit, 10 % (Zaki et al., Verus, SIGCOMM 2015, section 6).
    pub const VERUS: Self = Self { min: Bytes::new(375_000), max: Bytes::new(1_125_000), ..Self::DEFAULT };
}

impl Discipline for Red {
    const NAME: &'static str = "red";
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT), ("verus", Self::VERUS)];
    const PARTS: &'static [Part<Self>] = &[
        part("min=7.5kB", |own| &mut own.min),
        part_in("max=22.5kB", "above `min`", |own| &mut own.max, |_| true),
        part_in("probability=10%", "above 0%, up to 100%", |own| &mut own.probability, |_| true),
        part("limit=1000pkt", |own| &mut own.limit),
        part("ecn", |own| &mut own.ecn),
    ];
    type Waiting<P> = Fifo<P, RedState>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.limit
    }

    fn contradiction(&self) -> Option<String> {
        (self.min >= self.max).then(|| format!("min={}, max={}", self.min, self.max))
    }

    fn waiting<P: Packet>(self, _: &Arc<Capacity>, seed: u64) -> Fifo<P, RedState> {
        Fifo::new(RedState::new(self, seed))
    }
}

/// A RED controller.
#[derive(Debug, Clone)]
pub(crate) struct RedState {
    settings: Red,
    /// In bytes.
    avg: f64,
    /// Packets since the last drop; none while the average is below `min`.
    count: Option<u64>,
    last_service: Time,
    chance: Loss,
}

impl RedState {
    pub(crate) fn new(settings: Red, seed: u64) -> Self {
        Self {
            settings,
            avg: 0.0,
            count: None,
            last_service: Time::ZERO,
            chance: Loss::new(Ratio::ZERO, seed ^ STREAM),
        }
    }

    /// The service of a packet begins.
    pub(crate) fn note_service(&mut self, now: Time) {
        self.last_service = now;
    }

    /// What happens to a packet that arrives at `now` at a queue of `queued` bytes.
    pub(crate) fn judge(&mut self, now: Time, queued: Bytes, ecn_capable: bool) -> Verdict {
        self.update(now, queued);
        let max = self.settings.max.as_f64();
        let p_b = self.probability();
        if p_b == 0.0 {
            self.count = None;
            return Verdict::Enqueue;
        }
        let count = self.count.map_or(0, |count| count + 1);
        self.count = Some(count);
        // The sum of p_b reaches one after 1/p_b packets: drops are spread evenly.
        let spread = 1.0 - count as f64 * p_b;
        self.chance.set(Ratio::new(if spread > p_b { p_b / spread } else { 1.0 }));
        if !self.chance.strikes() {
            return Verdict::Enqueue;
        }
        self.count = Some(0);
        // RFC 3168, section 7: above the upper threshold marks no longer take the place of drops.
        if self.settings.ecn && ecn_capable && self.avg < max { Verdict::Mark } else { Verdict::Drop }
    }

    fn update(&mut self, now: Time, queued: Bytes) {
        if queued.is_zero() {
            let missed = now.since(self.last_service).as_secs_f64() / IDLE_PACKET_TIME.as_secs_f64();
            self.avg *= libm::pow(1.0 - WEIGHT, missed);
        }
        self.avg += WEIGHT * (queued.as_f64() - self.avg);
    }

    /// p_b for the present average.
    fn probability(&self) -> f64 {
        let Red { min, max, probability, .. } = self.settings;
        let (min, max, max_p) = (min.as_f64(), max.as_f64(), probability.get());
        match self.avg {
            avg if avg < min => 0.0,
            avg if avg < max => max_p * (avg - min) / (max - min),
            // Gentle.
            avg => (max_p + (1.0 - max_p) * (avg - max) / max).min(1.0),
        }
    }
}

impl<P: Packet> FifoDiscipline<P> for RedState {
    fn admit(&mut self, now: Time, queued: Bytes, packet: &P, _: &Backlog<P>) -> Verdict {
        self.judge(now, queued, packet.is_ecn_capable())
    }

    fn next(&mut self, now: Time, backlog: &mut Backlog<P>) -> Option<QueuedPacket<P>> {
        let next = backlog.pop(now)?;
        self.note_service(now);
        Some(next)
    }

    fn average(&self) -> Option<Bytes> {
        Some(Bytes::new(self.avg as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Red = Red { min: Bytes::new(10_000), max: Bytes::new(30_000), ..Red::DEFAULT };

    fn at_average(avg: f64) -> RedState {
        RedState { avg, ..RedState::new(RED, 1) }
    }

    #[test]
    fn the_probability_rises_to_a_tenth_between_the_thresholds_and_to_one_at_twice_the_upper() {
        let cases = [
            (0.0, 0.0),
            (9999.0, 0.0),
            (20_000.0, 0.05),
            (30_000.0, 0.1),
            (45_000.0, 0.55),
            (60_000.0, 1.0),
            (9e9, 1.0),
        ];
        for (avg, expected) in cases {
            let p_b = at_average(avg).probability();
            assert!((p_b - expected).abs() < 1e-12, "{p_b} at {avg}, expected {expected}");
        }
    }

    #[test]
    fn drops_are_spread_evenly() {
        // At p_b = 5 %, with a count of one for the first packet after a drop (paper, Figure 2), the distance is any of 1 to 19
        // alike: 10 on average.
        let mut red = at_average(20_000.0);
        let (mut drops, mut since) = (0_u32, 0);
        for _ in 0..20_000 {
            red.avg = 20_000.0;
            since += 1;
            if red.judge(Time::ZERO, Bytes::new(20_000), false) == Verdict::Drop {
                assert!(since <= 19, "{since} packets without a drop");
                (drops, since) = (drops + 1, 0);
            }
        }
        let mean = 20_000.0 / f64::from(drops);
        assert!((mean - 10.0).abs() < 0.5, "{mean} packets for each drop");
    }

    #[test]
    fn a_burst_is_let_through_and_a_standing_queue_is_not() {
        let mut red = RedState::new(RED, 1);
        let mut arrivals = (0..5000).map(|_| red.judge(Time::ZERO, Bytes::new(50_000), false));
        // 1 - 0.998^n of 50,000 is at `min` after 111 packets.
        assert!(arrivals.by_ref().take(111).all(|verdict| verdict == Verdict::Enqueue));
        assert!(arrivals.any(|verdict| verdict == Verdict::Drop));
    }

    #[test]
    fn idle_time_lowers_the_average_as_packets_at_an_empty_queue_would() {
        let mut red = at_average(20_000.0);
        red.note_service(Time::ZERO);
        red.judge(Time::ZERO + IDLE_PACKET_TIME * 500, Bytes::ZERO, false);
        let expected = 20_000.0 * libm::pow(0.998, 501.0);
        assert!((red.avg - expected).abs() < 1e-6, "{}, expected {expected}", red.avg);
    }

    #[test]
    fn marks_take_the_place_of_drops_up_to_the_upper_threshold() {
        let verdicts = |avg: f64, ecn_capable: bool| {
            let mut red = RedState::new(Red { ecn: true, ..RED }, 1);
            let mut judge = || {
                red.avg = avg;
                red.judge(Time::ZERO, Bytes::new(avg as u64), ecn_capable)
            };
            (0..1000).map(|_| judge()).find(|verdict| *verdict != Verdict::Enqueue)
        };
        assert_eq!(verdicts(20_000.0, true), Some(Verdict::Mark));
        assert_eq!(verdicts(20_000.0, false), Some(Verdict::Drop));
        assert_eq!(verdicts(40_000.0, true), Some(Verdict::Drop));
    }
}

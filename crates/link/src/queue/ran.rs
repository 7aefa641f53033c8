//! RAN: marks in the base station, by the wait that is predicted for a packet when it arrives.
//!
//! 1. While a queue lasts, the departures within a millisecond, or until the next departure after it, are a sample of the
//!    link's rate. r and e are mean and standard deviation, by time, of the last 100 ms. Where nothing has waited for so long,
//!    nothing is predicted, and nothing marked: marks by the rate of an outage would keep flows so small that nothing waits.
//! 2. A packet with ECT(1) that finds B bytes needs the rate B / 10 ms. It is marked for certain where that is above r + e, and
//!    never below r - e.
//! 3. A packet that would wait 30 ms and more is, if not ECT(1), marked or dropped with the probability at which Reno fills the
//!    link and waits 30 ms, or CUBIC where it needs more; with the square of how much longer it would wait.
//! 4. If such flows came within the last second, packets with ECT(1) are marked by twice the square root of Reno's, as in
//!    DualPI2, and not by rule 2: both then share the wait, and Prague in competition with CUBIC would get a twentieth of its
//!    rate.
//!
//! Source: L4Span (PrincetonUniversity/L4Span at cef83f8), which also has one queue for both kinds. A mark that waits behind no
//! queue reaches the receiver one queueing time earlier than one that a departing packet gets.
//!
//! Differences from L4Span:
//! - Samples count by time, and not by packets; L4Span uses the last 50. A pause that is slower than the mean also counts: in
//!   an outage waiting packets are marked.
//! - The published code truncates the slope between r - e and r + e to whole bytes per microsecond. Here it is whole, and e is at
//!   least 2 % of r.
//! - It answers classic flows beyond 225 kB, by the queue's wait as their RTT, and so the less the longer the queue is: CUBIC
//!   keeps the queue of drop-tail. Here it is beyond 30 ms, and the RTT is that and 40 ms of path.
//! - It has no rule for flows of both kinds, and marks TCP in the echo on the uplink. The coupling is DualPI2's, and all marks
//!   are on packets. Two queues, as DualPI2 has, are not built: next to CUBIC Prague waits as long as that.
//! - Its rule is only Reno's, so that CUBIC waits for 73 ms at 300 Mbit/s, and for more where the rate jumps.
//! - `channel` is ours: the rate is the link's capacity, which a base station knows of a phone that reports its channel, and e
//!   is the least. In a cell that is the user's own link, without its share of the slots.

use super::fifo::{Fifo, FifoDiscipline, Verdict};
use super::text::{Part, part, part_in};
use super::{Backlog, Discipline, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::Packet;
use crate::share::Loss;
use cellcc_units::{Bytes, Ecn, QueueLimit, Ratio, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// No sample is shorter (L4Span: the least time between two reports of the radio).
const SHORTEST: Span = Span::from_millis(1);
/// Fewer samples predict nothing, and so many are kept, however old. Our choice.
const LEAST_SAMPLES: usize = 5;
/// The deviation is at least this share of the mean. Our choice.
const LEAST_DEVIATION: f64 = 0.02;
/// The constant of Reno's window under random losses, sqrt(3/2) (Mathis et al. 1997).
const RENO: f64 = 1.22;
/// The factor of CUBIC's, to the power of 4/3: (C (3 + beta) / (4 (1 - beta)))^(1/3) per second (RFC 9438, equation 6).
const CUBIC: f64 = 1.072;
/// The part of a classic flow's RTT besides the queue. Our choice.
const PATH: Span = Span::from_millis(40);
/// The largest probability for classic packets (RFC 9332, p_Cmax).
const MOST_CLASSIC: f64 = 0.25;
/// DualPI2's coupling factor (RFC 9332).
const COUPLING: f64 = 2.0;
/// So long a flow counts as present after its last packet (L4Span).
const PRESENT: Span = Span::from_secs(1);
/// Keeps the draws apart from those of other parts of a link with the same seed.
const STREAM: u64 = 0x72_616e; // "ran"

/// The settings of marking in the base station (after L4Span).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ran {
    /// The wait that packets with ECT(1) are to have.
    pub threshold: Span,
    /// The wait beyond which others are marked or dropped.
    pub classic: Span,
    /// How long a sample of the rate counts.
    pub window: Span,
    /// Limit of the queue; drop-tail beyond it.
    pub limit: QueueLimit,
    /// The rate is the link's capacity, with or without a queue.
    pub channel: bool,
}

impl Ran {
    /// L4Span's threshold; the others are ours.
    pub const DEFAULT: Self = Self {
        threshold: Span::from_millis(10),
        classic: Span::from_millis(30),
        window: Span::from_millis(100),
        limit: QueueLimit::Unlimited,
        channel: false,
    };
}

impl Discipline for Ran {
    const NAME: &'static str = "ran";
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part_in("threshold=10ms", "", |own| &mut own.threshold, |own| !own.threshold.is_zero()),
        part_in("classic=30ms", "", |own| &mut own.classic, |own| !own.classic.is_zero()),
        part_in("window=100ms", "", |own| &mut own.window, |own| !own.window.is_zero()),
        part("limit=3200pkt", |own| &mut own.limit),
        part("channel", |own| &mut own.channel),
    ];
    type Waiting<P> = Fifo<P, RanState>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.limit
    }

    fn waiting<P: Packet>(self, capacity: &Arc<Capacity>, seed: u64) -> Fifo<P, RanState> {
        Fifo::new(RanState::new(self, Arc::clone(capacity), seed))
    }
}

/// The link's rate in bytes per second: mean and standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Predicted {
    mean: f64,
    deviation: f64,
}

impl Predicted {
    fn new(mean: f64, deviation: f64) -> Self {
        Self { mean, deviation: deviation.max(LEAST_DEVIATION * mean) }
    }

    /// Mean and deviation of samples by time; `None` where there are none.
    fn of(samples: impl Iterator<Item = Sample>) -> Option<Self> {
        let (mut seconds, mut bytes, mut squares) = (0.0, 0.0, 0.0);
        for sample in samples {
            let (length, departed) = (sample.length.as_secs_f64(), sample.departed.as_f64());
            seconds += length;
            bytes += departed;
            squares += departed * departed / length;
        }
        let mean = bytes / seconds;
        (seconds > 0.0).then(|| Self::new(mean, libm::sqrt((squares / seconds - mean * mean).max(0.0))))
    }

    /// The probability of a mark where `queued` bytes are to leave within `threshold`.
    fn marks(self, queued: Bytes, threshold: Span) -> f64 {
        let needed = queued.as_f64() / threshold.as_secs_f64();
        match needed - (self.mean - self.deviation) {
            above if above < 0.0 => 0.0,
            above if above >= 2.0 * self.deviation => 1.0,
            above => above / (2.0 * self.deviation),
        }
    }

    /// The probability of a drop, or a mark with ECT(0), of a classic packet of `size` that is the last of `queued` bytes; and
    /// that of a mark with ECT(1) by the coupling.
    fn drops(self, queued: Bytes, size: Bytes, threshold: Span) -> (f64, f64) {
        let longer = queued.as_f64() / (self.mean * threshold.as_secs_f64());
        if longer <= 1.0 {
            return (0.0, 0.0);
        }
        let rtt = (PATH + threshold).as_secs_f64();
        let packets = self.mean * rtt / size.as_f64();
        let reno = longer * RENO / packets;
        let cubic = longer * longer * CUBIC * rtt / (packets * libm::cbrt(packets));
        ((reno * reno).max(cubic).min(MOST_CLASSIC), COUPLING * reno.min(libm::sqrt(MOST_CLASSIC)))
    }
}

/// Departures in a time with a queue throughout.
#[derive(Debug, Clone, Copy)]
struct Sample {
    begin: Time,
    length: Span,
    departed: Bytes,
}

/// A base station's knowledge of a phone's queue.
#[derive(Debug, Clone)]
pub(crate) struct RanState {
    settings: Ran,
    capacity: Arc<Capacity>,
    /// Samples of the window, oldest first, and their prediction.
    samples: VecDeque<Sample>,
    predicted: Option<Predicted>,
    /// The beginning of the open sample, and the departures since; `None` without a queue.
    open: Option<(Time, Bytes)>,
    /// When the last packet without ECT(1) came.
    classic_at: Option<Time>,
    chance: Loss,
}

impl RanState {
    fn new(settings: Ran, capacity: Arc<Capacity>, seed: u64) -> Self {
        Self {
            settings,
            capacity,
            samples: VecDeque::new(),
            predicted: None,
            open: None,
            classic_at: None,
            chance: Loss::new(Ratio::ZERO, seed ^ STREAM),
        }
    }

    /// The service of a packet begins at `now`; `waits` if others wait after it.
    fn note_service(&mut self, now: Time, size: Bytes, waits: bool) {
        let (begin, departed) = self.open.unwrap_or((now, Bytes::ZERO));
        let length = now.since(begin);
        let is_over = length >= SHORTEST;
        if is_over {
            self.add(Sample { begin, length, departed });
        }
        let open = if is_over { (now, size) } else { (begin, departed + size) };
        self.open = waits.then_some(open);
    }

    fn add(&mut self, sample: Sample) {
        let end = sample.begin + sample.length;
        self.samples.push_back(sample);
        while self.samples.len() > LEAST_SAMPLES
            && self.samples.front().is_some_and(|oldest| end.since(oldest.begin) > self.settings.window)
        {
            self.samples.pop_front();
        }
        self.predicted = Predicted::of(self.samples.iter().copied());
    }

    /// The rate that is expected at `now`.
    fn predicted(&self, now: Time) -> Option<Predicted> {
        if self.settings.channel {
            let from = now - self.settings.window.min(now.since(Time::ZERO));
            let seconds = now.since(from).as_secs_f64();
            let carried = self.capacity.bytes_between(from, now).as_f64();
            return (seconds > 0.0).then(|| Predicted::new(carried / seconds, 0.0));
        }
        let predicted = self.predicted.filter(|_| self.samples.len() >= LEAST_SAMPLES)?;
        let newest = self.samples.back()?;
        let busy_since = self.open.map_or(now, |(begin, _)| begin);
        if busy_since.since(newest.begin + newest.length) > self.settings.window {
            return None;
        }
        let Some((begin, departed)) = self.open else { return Some(predicted) };
        // Shorter ones say nothing while a packet is on its way.
        let length = now.since(begin);
        if length.as_secs_f64() * predicted.mean <= departed.as_f64() {
            return Some(predicted);
        }
        let open = Sample { begin, length, departed };
        Predicted::of(self.samples.iter().copied().chain([open]))
    }

    /// What happens to a packet of `size` that arrives at `now` behind `before` bytes.
    fn judge(&mut self, now: Time, before: Bytes, size: Bytes, ecn: Ecn) -> Verdict {
        let is_l4s = matches!(ecn, Ecn::Ect1 | Ecn::Ce);
        if !is_l4s {
            self.classic_at = Some(now);
        }
        let Some(predicted) = self.predicted(now) else { return Verdict::Enqueue };
        let queued = before + size;
        let (classic, coupled) = predicted.drops(queued, size, self.settings.classic);
        let probability = if is_l4s {
            match self.classic_at.is_some_and(|at| now.since(at) <= PRESENT) {
                true => coupled,
                false => predicted.marks(queued, self.settings.threshold),
            }
        } else {
            classic
        };
        self.chance.set(Ratio::new(probability.min(1.0)));
        match self.chance.strikes() {
            false => Verdict::Enqueue,
            true if ecn == Ecn::NotEct => Verdict::Drop,
            true => Verdict::Mark,
        }
    }
}

impl<P: Packet> FifoDiscipline<P> for RanState {
    fn admit(&mut self, now: Time, queued: Bytes, packet: &P, _: &Backlog<P>) -> Verdict {
        self.judge(now, queued, packet.size(), packet.ecn())
    }

    fn next(&mut self, now: Time, backlog: &mut Backlog<P>) -> Option<QueuedPacket<P>> {
        let next = backlog.pop(now)?;
        self.note_service(now, next.packet.size(), !backlog.bytes().is_zero());
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Rate;

    const PACKET: Bytes = Bytes::new(1500);

    fn at_millis(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn ran(settings: Ran) -> RanState {
        let capacity = Capacity::constant(Rate::from_mbit_per_sec(12.0)).unwrap();
        RanState::new(settings, Arc::new(capacity), 1)
    }

    /// After so many milliseconds, with a packet that left every so many, while others waited or not.
    fn after(millis: u64, every: usize, waits: bool) -> RanState {
        let mut ran = ran(Ran::DEFAULT);
        (0..=millis).step_by(every).for_each(|millis| ran.note_service(at_millis(millis), PACKET, waits));
        ran
    }

    fn share(ran: &mut RanState, now: Time, before: Bytes, ecn: Ecn, verdict: Verdict) -> f64 {
        const DRAWS: u32 = 20_000;
        let judged = (0..DRAWS).filter(|_| ran.judge(now, before, PACKET, ecn) == verdict);
        judged.count() as f64 / f64::from(DRAWS)
    }

    #[test]
    fn marks_rise_from_none_to_all_within_a_deviation_of_the_rate() {
        // 10 ms of 1500 bytes a millisecond.
        let predicted = Predicted::new(1.5e6, 3e5);
        let cases =
            [(11_999, 0.0), (12_000, 0.0), (13_500, 0.25), (15_000, 0.5), (18_000, 1.0), (18_001, 1.0)];
        for (queued, expected) in cases {
            let found = predicted.marks(Bytes::new(queued), Ran::DEFAULT.threshold);
            assert!((found - expected).abs() < 1e-9, "{queued} bytes: {found}, expected {expected}");
        }
        assert_eq!(Predicted::new(0.0, 0.0).marks(PACKET, Ran::DEFAULT.threshold), 1.0, "an outage");
    }

    #[test]
    fn classic_packets_are_dropped_beyond_30_ms_as_reno_needs_it_or_cubic_where_that_is_more() {
        let drops =
            |predicted: Predicted, packets| predicted.drops(PACKET * packets, PACKET, Ran::DEFAULT.classic).0;
        let predicted = Predicted::new(1.5e6, 0.0);
        assert_eq!(drops(predicted, 30), 0.0);
        // A window of 40 packets on the path and 30 in the queue, a third more in number.
        let expected = RENO * RENO * 16.0 / (70.0 * 70.0 * 9.0);
        assert!((drops(predicted, 40) - expected).abs() < 1e-12, "{}", drops(predicted, 40));
        assert_eq!(drops(Predicted::new(1e4, 0.0), 1), MOST_CLASSIC);
        // At 1 Gbit/s, 30 ms and a packet of 12 us: 5833 packets and more within 70 ms, and CUBIC's average window at that loss.
        let found = drops(Predicted::new(1.25e8, 0.0), 2501);
        let window = 1.0538 * libm::sqrt(0.07 * libm::sqrt(0.07)) / libm::sqrt(found * libm::sqrt(found));
        assert!((window - 5833.0).abs() < 10.0, "{found}: {window}");
    }

    #[test]
    fn the_rate_is_that_of_times_in_which_something_waited_throughout() {
        let near = |ran: &RanState, now, mean: f64, deviation: f64| {
            let found = ran.predicted(at_millis(now)).expect("enough samples");
            assert!(
                (found.mean - mean).abs() < 1.0 && (found.deviation - deviation).abs() < 1.0,
                "{found:?}"
            );
        };
        near(&after(5, 1, true), 5, 1.5e6, 3e4);
        assert_eq!(after(4, 1, true).predicted(at_millis(4)), None, "too few");
        assert_eq!(after(200, 1, false).predicted(at_millis(200)), None, "nothing waited");
        // Holds also on a slow link, where a packet takes ten milliseconds.
        near(&after(200, 10, true), 205, 1.5e5, 3e3);
        let ran = after(300, 1, true);
        assert_eq!(ran.samples.len(), 100, "a window");
        // A pause of as long as a window: half of the rate, as far from none as from all.
        near(&ran, 400, 1.515e6 / 2.0, 742_500.0);
        // Once the queue is empty for longer than a window, earlier samples do not count.
        let mut ran = after(300, 1, true);
        ran.note_service(at_millis(301), PACKET, false);
        near(&ran, 401, 1.5e6, 3e4);
        assert_eq!(ran.predicted(at_millis(402)), None);
        ran.note_service(at_millis(500), PACKET, true);
        assert_eq!(ran.predicted(at_millis(500)), None, "a queue that has just begun");
    }

    #[test]
    fn channel_knows_the_rate_without_a_queue() {
        let mut ran = ran(Ran { channel: true, ..Ran::DEFAULT });
        assert_eq!(ran.judge(at_millis(50), PACKET * 20, PACKET, Ecn::Ect1), Verdict::Mark);
        assert_eq!(ran.judge(at_millis(50), PACKET * 5, PACKET, Ecn::Ect1), Verdict::Enqueue);
    }

    #[test]
    fn each_codepoint_has_its_answer_and_flows_of_both_kinds_are_coupled() {
        let now = at_millis(301);
        let behind = |every, packets: u64, ecn, verdict| {
            share(&mut after(300, every, true), now, PACKET * packets, ecn, verdict)
        };
        assert_eq!(behind(1, 15, Ecn::Ect1, Verdict::Mark), 1.0);
        assert_eq!(behind(1, 5, Ecn::Ect1, Verdict::Mark), 0.0);
        assert_eq!(behind(1, 25, Ecn::NotEct, Verdict::Enqueue), 1.0);
        // A tenth of the rate: 4 packets on the path and 3 in the queue, twice as many in number.
        let expected = RENO * RENO * 4.0 / (7.0 * 7.0);
        for (ecn, verdict) in [(Ecn::NotEct, Verdict::Drop), (Ecn::Ect0, Verdict::Mark)] {
            let found = behind(10, 5, ecn, verdict);
            assert!((found - expected).abs() < 3e-3, "{found}, expected {expected}");
        }
        let mut ran = after(300, 10, true);
        assert_eq!(share(&mut ran, now, PACKET * 5, Ecn::Ect1, Verdict::Mark), 1.0, "alone");
        ran.judge(now, PACKET, PACKET, Ecn::NotEct);
        let (found, coupled) =
            (share(&mut ran, now, PACKET * 5, Ecn::Ect1, Verdict::Mark), COUPLING * RENO / 7.0 * 2.0);
        assert!((found - coupled).abs() < 0.01, "{found}, expected {coupled}");
    }
}

//! DualPI2: two queues, coupled, for traffic that answers to every mark (L4S) and for all other (RFC 9332).
//!
//! Packets with ECT(1) or CE wait in the queue L, all others in C. A PI controller follows the delay of both. Its output squared is
//! the probability p_C of a drop, or of a mark, in C; the same output times `k` marks in L, so that flows of both kinds get about
//! the same rate. L also marks packets by itself that waited longer than a millisecond. While both wait, `weight` is C's share of
//! the link: 10 % by default.
//!
//! The order of steps is that of Linux's `sch_dualpi2.c`, which decides when a service begins. Its rates of the controller are
//! those of the default; `rfc` has the RFC's. Otherwise than there, a limit in time counts both queues together, and so does a
//! queue whose head arrived after the service began (a cell's slot) count as empty.
//!
//! `radio` is ours, for links whose rate changes within milliseconds: no update without service, since an outage would drop the
//! whole queue; at most 2 % more in an update (as PIE); the delay of L is that of the packet behind and not of the one in
//! front; and L's marks begin above the grain of the slots.

mod starvation;

use super::text::{Part, Value, part, part_in};
use super::waiting::Waiting;
use super::{Backlog, Discipline, OwnCounter, OwnCounters, QueueCounters, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::{DropReason, Dropped, Packet};
use crate::share::Loss;
use cellcc_units::{Bytes, Ecn, QueueLimit, Ratio, Span, Time};
use starvation::Starvation;
use std::collections::VecDeque;
use std::sync::Arc;

/// Less than two full packets are no queue (Linux, `must_drop`).
const NO_QUEUE: Bytes = Bytes::new(2 * 1500);
/// The largest step of an update with `radio` (RFC 8033, section 5.5).
const LARGEST_STEP: f64 = 0.02;
/// Keeps the draws apart from those of other parts of a link with the same seed.
const STREAM: u64 = 0x64_7069; // "dpi"

/// The settings of DualPI2 (RFC 9332).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualPi2 {
    /// The delay that C is to have.
    pub target: Span,
    /// Time between updates of the probability (Tupdate).
    pub update: Span,
    /// Weights of the delay's distance from the target and of its growth, per second.
    pub alpha: f64,
    /// See [`alpha`](Self::alpha).
    pub beta: f64,
    /// The coupling factor.
    pub k: f64,
    /// The delay from which L marks by itself.
    pub marks: Ramp,
    /// L marks by itself only packets that found more packets than that in it.
    pub min_qlen: u32,
    /// C's share while both wait.
    pub weight: Ratio,
    /// Limit of both queues together; drop-tail beyond it.
    pub limit: QueueLimit,
    /// For links whose rate changes within milliseconds.
    pub radio: bool,
}

/// A probability that grows from zero at one delay to one at another, or steps there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ramp {
    /// Up to here nothing is marked.
    pub from: Span,
    /// Beyond it everything is.
    pub to: Span,
}

impl Ramp {
    const fn of_micros(from: u64, to: u64) -> Self {
        Self { from: Span::from_micros(from), to: Span::from_micros(to) }
    }

    fn probability(self, delay: Span) -> f64 {
        match () {
            () if delay <= self.from => 0.0,
            () if delay > self.to => 1.0,
            () => {
                let within = |span: Span| span.saturating_sub(self.from).as_secs_f64();
                within(delay) / within(self.to)
            }
        }
    }
}

impl Value for Ramp {
    fn read(&mut self, text: &str) -> Option<()> {
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        *self = Self { from: from.parse().ok()?, to: to.parse().ok()? };
        (self.from <= self.to).then_some(())
    }
    fn written(&self) -> Option<String> {
        Some(if self.from == self.to { self.to.to_string() } else { format!("{}..{}", self.from, self.to) })
    }
}

impl DualPi2 {
    /// Linux's `sch_dualpi2.c`, except for packets that are alone in L: a step would mark each of them on a slow link (the
    /// RFC's Th_len).
    pub const DEFAULT: Self = Self {
        target: Span::from_millis(15),
        update: Span::from_millis(16),
        alpha: 0.16,
        beta: 3.2,
        k: 2.0,
        marks: Ramp::of_micros(1000, 1000),
        min_qlen: 1,
        weight: Ratio::new(0.1),
        limit: QueueLimit::Packets(10_000),
        radio: false,
    };

    /// RFC 9332, appendix A, for RTTs of up to 100 ms; the weight is its example in section 4.2.2.
    pub const RFC: Self = Self {
        update: Span::from_millis(15),
        alpha: 0.15,
        beta: 3.0,
        marks: Ramp::of_micros(800, 1200),
        weight: Ratio::new(1.0 / 16.0),
        ..Self::DEFAULT
    };

    /// Ours; 2 to 10 ms is Ericsson's example for a base station.
    pub const RADIO: Self = Self {
        target: Span::from_millis(30),
        update: Span::from_millis(32),
        marks: Ramp::of_micros(2000, 10_000),
        radio: true,
        ..Self::DEFAULT
    };
}

/// A gain or a factor.
fn is_above_zero(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

impl Discipline for DualPi2 {
    const NAME: &'static str = "dualpi2";
    const BASES: &'static [(&'static str, Self)] =
        &[("", Self::DEFAULT), ("rfc", Self::RFC), ("radio", Self::RADIO)];
    const PARTS: &'static [Part<Self>] = &[
        part_in("target=15ms", "", |own| &mut own.target, |own| !own.target.is_zero()),
        part_in(
            "update=16ms",
            "1ms or more",
            |own| &mut own.update,
            |own| own.update >= Span::from_millis(1),
        ),
        part_in("alpha=0.16", "above 0", |own| &mut own.alpha, |own| is_above_zero(own.alpha)),
        part_in("beta=3.2", "above 0", |own| &mut own.beta, |own| is_above_zero(own.beta)),
        part_in("k=2", "above 0", |own| &mut own.k, |own| is_above_zero(own.k)),
        part_in(
            "marks=1ms",
            "or from one time to a longer one, 800us..1200us",
            |own| &mut own.marks,
            |_| true,
        ),
        part("min-qlen=1", |own| &mut own.min_qlen),
        part_in("weight=10%", "above 0%, up to 100%", |own| &mut own.weight, |_| true),
        part("limit=10000pkt", |own| &mut own.limit),
    ];
    type Waiting<P> = DualQueue<P>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.limit
    }

    fn waiting<P: Packet>(self, capacity: &Arc<Capacity>, seed: u64) -> DualQueue<P> {
        DualQueue::new(self, Arc::clone(capacity), seed)
    }
}

/// The state of L when a packet came.
#[derive(Debug, Clone, Copy)]
struct Found {
    packets: usize,
    /// With itself.
    bytes: Bytes,
}

/// Both queues.
#[derive(Debug, Clone)]
pub(crate) struct DualQueue<P> {
    settings: DualPi2,
    capacity: Arc<Capacity>,
    low: Backlog<P>,
    /// State found by each packet in L.
    found: VecDeque<Found>,
    /// It has the drops of both queues.
    classic: Backlog<P>,
    /// p', and the delay at the update before.
    base: f64,
    base_over_time: Span,
    delay_before: Span,
    /// [`Time::NEVER`] while nothing is going on.
    next_update: Time,
    /// Bytes that C may send before L, by their weights; L's turn while it is not positive.
    credit: f64,
    chance: Loss,
    starvation: Starvation,
}

impl<P: Packet> DualQueue<P> {
    pub(crate) fn new(settings: DualPi2, capacity: Arc<Capacity>, seed: u64) -> Self {
        let queue = Self {
            settings,
            capacity,
            low: Backlog::default(),
            found: VecDeque::new(),
            classic: Backlog::default(),
            base: 0.0,
            base_over_time: Span::ZERO,
            delay_before: Span::ZERO,
            next_update: Time::NEVER,
            credit: 0.0,
            chance: Loss::new(Ratio::ZERO, seed ^ STREAM),
            starvation: Starvation::default(),
        };
        Self { credit: queue.first_credit(), ..queue }
    }

    /// L begins.
    fn first_credit(&self) -> f64 {
        1500.0 * (2.0 * self.settings.weight.get() - 1.0)
    }

    fn strikes(&mut self, probability: f64) -> bool {
        self.chance.set(Ratio::new(probability.clamp(0.0, 1.0)));
        self.chance.strikes()
    }

    fn p_classic(&self) -> f64 {
        self.base * self.base
    }

    fn p_coupled(&self) -> f64 {
        (self.settings.k * self.base).min(1.0)
    }

    /// Updates the probability up to `now`, each time by the heads that waited then.
    fn update_until(&mut self, now: Time) {
        self.starvation.advance(now, self.classic.len() > 0);
        let oldest = self.oldest();
        while self.next_update <= now && self.next_update < Time::NEVER {
            let delay = oldest.map_or(Span::ZERO, |since| self.next_update.since(since));
            self.base_over_time += self.settings.update.mul_f64(self.base);
            self.update(delay);
            let at_rest = oldest.is_none() && self.base == 0.0;
            self.next_update = if at_rest { Time::NEVER } else { self.next_update + self.settings.update };
        }
    }

    fn update(&mut self, delay: Span) {
        let seconds = |span: Span| span.as_secs_f64();
        let DualPi2 { alpha, beta, target, update, radio, .. } = self.settings;
        let change =
            alpha * (seconds(delay) - seconds(target)) + beta * (seconds(delay) - seconds(self.delay_before));
        self.delay_before = delay;
        if radio && self.capacity.bytes_between(self.next_update - update, self.next_update).is_zero() {
            return;
        }
        let change = if radio { change.min(LARGEST_STEP) } else { change };
        self.base = (self.base + change).clamp(0.0, 1.0);
    }

    /// True if L is served next; `None` where nothing waits.
    fn serves_low(&self, now: Time) -> Option<bool> {
        let waits = |queue: &Backlog<P>| queue.oldest().is_some_and(|since| since <= now);
        match (waits(&self.low), waits(&self.classic)) {
            (false, false) => None,
            (true, true) => Some(self.credit <= 0.0),
            (low, _) => Some(low),
        }
    }

    /// The head of L, marked or not; nothing where it was dropped.
    fn next_low(&mut self, now: Time, is_queue: bool) -> Option<QueuedPacket<P>> {
        let backlog = self.low.bytes();
        let (mut next, found) = (self.low.pop(now)?, self.found.pop_front()?);
        let coupled = if is_queue { self.p_coupled() } else { 0.0 };
        if coupled >= 1.0 && self.strikes(self.p_classic()) {
            self.classic.note_drop(next.packet, now, DropReason::Aqm);
            return None;
        }
        let sojourn = now.since(next.queued_at);
        let growth = (backlog.as_f64() / found.bytes.as_f64()).max(1.0);
        let delay = if self.settings.radio { sojourn.mul_f64(growth) } else { sojourn };
        let is_alone = found.packets <= self.settings.min_qlen as usize;
        let native = if is_alone { 0.0 } else { self.settings.marks.probability(delay) };
        if self.strikes(native.max(coupled)) {
            next.packet.mark_congestion();
        }
        Some(next)
    }

    /// The head of C, marked or not; nothing where it was dropped.
    fn next_classic(&mut self, now: Time, is_queue: bool) -> Option<QueuedPacket<P>> {
        let mut next = self.classic.pop(now)?;
        if is_queue && self.strikes(self.p_classic()) {
            if !next.packet.is_ecn_capable() || self.p_coupled() >= 1.0 {
                self.classic.note_drop(next.packet, now, DropReason::Aqm);
                return None;
            }
            next.packet.mark_congestion();
        }
        Some(next)
    }

    /// A packet of this size leaves one of the queues.
    fn charge(&mut self, low: bool, size: Bytes) {
        self.starvation.on_left(low, size);
        let weight = self.settings.weight.get();
        match (self.low.len(), self.classic.len()) {
            (0, 0) => self.credit = self.first_credit(),
            (_, 1..) if low => self.credit += weight * size.as_f64(),
            (1.., _) if !low => self.credit -= (1.0 - weight) * size.as_f64(),
            _ => {}
        }
    }
}

impl<P: Packet> Waiting<P> for DualQueue<P> {
    fn push(&mut self, now: Time, packet: P, _: Bytes) -> Result<(), Dropped<P>> {
        self.update_until(now);
        if self.next_update == Time::NEVER {
            self.next_update = now + self.settings.update;
        }
        if matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) {
            self.found.push_back(Found { packets: self.low.len(), bytes: self.low.bytes() + packet.size() });
            self.low.push(packet, now);
        } else {
            self.classic.push(packet, now);
        }
        Ok(())
    }

    fn make_room(&mut self, _: Time, _: &P) -> bool {
        false
    }

    fn next(&mut self, now: Time) -> Option<QueuedPacket<P>> {
        self.update_until(now);
        loop {
            let low = self.serves_low(now)?;
            let is_queue = self.bytes() >= NO_QUEUE;
            let next = if low { self.next_low(now, is_queue) } else { self.next_classic(now, is_queue) };
            if let Some(next) = next {
                self.charge(low, next.packet.size());
                return Some(next);
            }
        }
    }

    fn oldest(&self) -> Option<Time> {
        self.low.oldest().into_iter().chain(self.classic.oldest()).min()
    }

    fn next_drop(&mut self) -> Option<Dropped<P>> {
        self.classic.next_drop()
    }

    fn next_drop_at(&self) -> Time {
        self.classic.next_drop_at()
    }

    fn len(&self) -> usize {
        self.low.len() + self.classic.len()
    }

    fn bytes(&self) -> Bytes {
        self.low.bytes() + self.classic.bytes()
    }

    fn add_counters(&mut self, now: Time, to: &mut QueueCounters) {
        self.update_until(now);
        let own = [
            OwnCounter::mean("p_base_mean", self.base_over_time),
            OwnCounter::seconds("classic_starvation_s", self.starvation.starved()),
        ];
        to.own = OwnCounters::new(now, own);
    }
}

#[cfg(test)]
mod tests;

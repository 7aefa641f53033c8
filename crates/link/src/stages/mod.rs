//! The stages of a link, in the order in which a packet crosses them.
//!
//! ```text
//!   Entry: loss  ->  queue  ->  Timing: access  ->  service  ->  Timing: repetitions, delay, jitter
//! ```
//!
//! A new stage is a file of its own and its lines here: a setting in [`LinkConfig`], and its place in one of the two groups.
//! Every kind of link, and each user of a cell, has these groups. A policer and reordering apply to a whole path:
//! `forward_path.rs` has their places.

mod access;
mod burst_loss;
mod correlated_jitter;
mod harq;
mod jitter;
mod loss;
pub(crate) mod policer;
mod reordering;

pub use access::Access;
pub use burst_loss::BurstLoss;
pub use correlated_jitter::CorrelatedJitter;
pub use harq::Harq;
pub use jitter::Jitter;
pub use policer::Policer;
pub use reordering::{Reordering, ReorderingConfig};

use crate::capacity::Capacity;
use crate::capacity::schedule::StepCursor;
use crate::delay::Delay;
use crate::packet::DropReason;
use crate::queue::Queue;
use crate::share::ShareOverTime;
use access::AccessOverTime;
use cellcc_units::{QueueLimit, Ratio, Span, Time};
use harq::HarqOverTime;
use jitter::JitterOverTime;
use loss::LossOverTime;
use std::sync::Arc;

/// One direction of a path.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// Its capacity over time.
    pub capacity: Arc<Capacity>,
    /// How many packets may wait, and which are dropped or marked.
    pub queue: Queue,
    /// Propagation delay after the service.
    pub delay: Delay,
    /// By how much the delay differs from packet to packet.
    pub jitter: Jitter,
    /// Share of the packets that are lost at random and independently of each other, before the queue.
    pub loss: ShareOverTime,
    /// Additional losses in bursts.
    pub burst_loss: Option<BurstLoss>,
    /// The uplink access delay, if this is an uplink.
    pub access: Option<Access>,
    /// How blocks fail behind the service, and are sent again.
    pub harq: Option<Harq>,
}

impl LinkConfig {
    /// A link that does nothing: without limit, loss and delay.
    pub fn transparent() -> Self {
        Self {
            capacity: Arc::new(Capacity::unlimited()),
            queue: QueueLimit::Unlimited.into(),
            delay: Delay::constant(Span::ZERO),
            jitter: Jitter::NONE,
            loss: ShareOverTime::constant(Ratio::ZERO),
            burst_loss: None,
            access: None,
            harq: None,
        }
    }

    /// Two links, one behind the other, that do the same: the first up to the service, the second behind it.
    pub fn split(self) -> [Self; 2] {
        let Self { capacity, queue, delay, jitter, loss, burst_loss, access, harq } = self;
        let behind = Capacity { delay: capacity.delay.clone(), ..Capacity::unlimited() };
        let capacity = Arc::new(Capacity { delay: None, ..(*capacity).clone() });
        let until_served = Self { capacity, queue, loss, burst_loss, access, ..Self::transparent() };
        [until_served, Self { capacity: Arc::new(behind), delay, jitter, harq, ..Self::transparent() }]
    }

    /// The longest way of a packet that finds the queue empty and leaves at `time`, except for its service.
    pub fn longest_way(&self, time: Time) -> Span {
        let access = self.access.map_or(Span::ZERO, |access| access.longest());
        let harq = self.harq.map_or(Span::ZERO, |harq| harq.longest());
        access + harq + self.delay.at(time) + self.capacity.delay_at(time) + self.jitter.longest()
    }

    /// True where the delay of a packet follows from when it leaves: no packet overtakes another.
    pub(crate) fn has_no_jitter(&self) -> bool {
        self.jitter.is_none()
    }

    /// This link in a cell with slots of this length.
    pub(crate) fn in_slots(self, slot: Span) -> Self {
        Self { harq: self.harq.map(|harq| Harq { slot, ..harq }), ..self }
    }
}

/// The stages before the queue: they lose packets.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    loss: Option<LossOverTime>,
}

impl Entry {
    /// `seed` decides which packets are lost.
    pub(crate) fn new(config: &LinkConfig, seed: u64) -> Self {
        Self { loss: LossOverTime::new(config.loss.clone(), config.burst_loss, seed) }
    }

    /// The reason why a packet of `now` is lost; `None` where it passes.
    #[inline(always)]
    pub(crate) fn refuses(&mut self, now: Time) -> Option<DropReason> {
        self.loss.as_mut().is_some_and(|loss| loss.strikes(now)).then_some(DropReason::Loss)
    }
}

/// The stages around the service: they move times.
#[derive(Debug, Clone)]
pub(crate) struct Timing {
    /// Most links have none: a branch that is always taken the same way.
    radio: Option<Box<Radio>>,
    delay: Delay,
    delay_now: StepCursor<Span>,
    /// The arrival of the packet that left last.
    last_arrival: Time,
}

/// The stages that few links have.
#[derive(Debug, Clone)]
struct Radio {
    access: Option<AccessOverTime>,
    harq: Option<HarqOverTime>,
    /// The link, where it has a delay of its own.
    delayed: Option<Arc<Capacity>>,
    jitter: Option<JitterOverTime>,
}

impl Timing {
    /// `seed` decides what is random.
    pub(crate) fn new(config: &LinkConfig, seed: u64) -> Self {
        let delay = config.delay.clone();
        Self { radio: Radio::new(config, seed), delay_now: delay.0.start(), delay, last_arrival: Time::ZERO }
    }

    /// The time at which the service of a packet may begin that comes at `now`. `is_first`: into an empty queue.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Time, is_first: bool) -> Time {
        self.radio.as_mut().map_or(now, |radio| radio.begin(now, is_first))
    }

    /// The time at which the service of a packet may begin that came at `since`.
    pub(crate) fn ready(&self, since: Time) -> Time {
        self.radio.as_ref().map_or(since, |radio| radio.ready(since))
    }

    /// The arrival of a packet whose last byte leaves at `departed_at`, which must not decrease.
    #[inline(always)]
    pub(crate) fn arrival(&mut self, departed_at: Time) -> Time {
        let delay = self.delay_now.value_at(&self.delay.0, departed_at);
        self.last_arrival = match &mut self.radio {
            None => (departed_at + delay).max(self.last_arrival),
            Some(radio) => radio.arrival(departed_at, delay, self.last_arrival),
        };
        self.last_arrival
    }
}

impl Radio {
    fn new(config: &LinkConfig, seed: u64) -> Option<Box<Self>> {
        let radio = Self {
            access: config.access.map(|access| AccessOverTime::new(access, seed)),
            harq: config.harq.map(|harq| HarqOverTime::new(harq, seed)),
            delayed: config.capacity.delay.is_some().then(|| Arc::clone(&config.capacity)),
            jitter: JitterOverTime::new(config.jitter, seed),
        };
        let is_empty = matches!(radio, Self { access: None, harq: None, delayed: None, jitter: None });
        (!is_empty).then(|| Box::new(radio))
    }

    // A call, as below, so that the usual link is inlined and laid out where it is used.
    #[inline(never)]
    fn begin(&mut self, now: Time, is_first: bool) -> Time {
        if is_first && let Some(access) = &mut self.access {
            access.on_first(now);
        }
        self.ready(now)
    }

    fn ready(&self, since: Time) -> Time {
        self.access.as_ref().map_or(since, |access| access.ready(since))
    }

    #[inline(never)]
    fn arrival(&mut self, departed_at: Time, delay: Span, last_arrival: Time) -> Time {
        if let Some(access) = &mut self.access {
            access.on_departed(departed_at);
        }
        let released_at = self.harq.as_mut().map_or(departed_at, |harq| harq.release(departed_at));
        let own = self.delayed.as_ref().map_or(Span::ZERO, |link| link.delay_at(departed_at));
        let arrived_at = released_at + delay + own;
        match &mut self.jitter {
            None => arrived_at.max(last_arrival),
            Some(jitter) => jitter.arrival(arrived_at, last_arrival),
        }
    }
}

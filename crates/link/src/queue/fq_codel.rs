//! FQ-CoDel: a queue for each flow, served by deficit round robin, and CoDel in each (RFC 8290).
//!
//! A queue that was empty goes to the list of new queues, which is served before the list of old ones: a flow that sends less
//! than its share does not wait for those that send more. A queue may send a quantum of bytes before the others' turn. Beyond the
//! limit, packets of the queue with the most bytes are dropped.
//!
//! The steps are those of the RFC's section 4. A flow's queue is its number ([`Packet::flow`]) modulo the number of queues. The
//! simulator numbers its flows from zero, so that they share no queue until there are more flows than queues. The emulator's
//! numbers are hashes of addresses, protocol and ports, so that two flows can share a queue, as in Linux. CoDel looks at the
//! bytes of its own queue where it leaves the last packet alone; Linux looks at all queues' there.

use super::codel::{CoDel, CoDelState};
use super::text::{Part, part, part_in};
use super::waiting::Waiting;
use super::{Backlog, Discipline, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::{DropReason, Dropped, Packet};
use cellcc_units::{Bytes, QueueLimit, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// At the limit, half of the longest queue goes, and not more than that many packets (section 4.1).
const MOST_DROPPED_AT_ONCE: usize = 64;

/// The settings of FQ-CoDel (RFC 8290).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCoDel {
    /// CoDel of each queue, except for the limit, which applies to all queues together; beyond it packets of the longest queue
    /// are dropped.
    pub codel: CoDel,
    /// Bytes that a queue may send before the others' turn; not below [`FqCoDel::SMALLEST_QUANTUM`].
    pub quantum: Bytes,
    /// How many queues there are, from one to 65,536 as in Linux.
    pub queues: u32,
}

impl FqCoDel {
    /// As in Linux: with less, a queue needs too many rounds for a packet.
    pub const SMALLEST_QUANTUM: Bytes = Bytes::new(256);

    /// 5 ms, 100 ms, 10,240 packets, 1514 bytes and 1024 queues (RFC 8290, section 5.2), no ECN.
    pub const DEFAULT: Self = Self {
        codel: CoDel { limit: QueueLimit::Packets(10_240), ..CoDel::DEFAULT },
        quantum: Bytes::new(1514),
        queues: 1024,
    };
}

impl Discipline for FqCoDel {
    const NAME: &'static str = "fq-codel";
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part_in(
            "quantum=1514B",
            "256B or more",
            |own| &mut own.quantum,
            |own| own.quantum >= Self::SMALLEST_QUANTUM,
        ),
        part_in("queues=1024", "1 to 65536", |own| &mut own.queues, |own| (1..=65_536).contains(&own.queues)),
        part_in("target=5ms", "", |own| &mut own.codel.target, |own| !own.codel.target.is_zero()),
        part_in("interval=100ms", "", |own| &mut own.codel.interval, |own| !own.codel.interval.is_zero()),
        part("limit=10240pkt", |own| &mut own.codel.limit),
        part("ecn", |own| &mut own.codel.ecn),
    ];
    type Waiting<P> = FlowQueues<P>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.codel.limit
    }

    fn waiting<P: Packet>(self, _: &Arc<Capacity>, _: u64) -> FlowQueues<P> {
        FlowQueues::new(self)
    }
}

/// The queues of all flows.
#[derive(Debug, Clone)]
pub(crate) struct FlowQueues<P> {
    settings: FqCoDel,
    /// Only as many as the largest number of a flow has needed.
    queues: Vec<FlowQueue<P>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    len: usize,
    bytes: Bytes,
    dropped: VecDeque<Dropped<P>>,
}

#[derive(Debug, Clone)]
struct FlowQueue<P> {
    backlog: Backlog<P>,
    codel: CoDelState,
    /// Bytes that it may send in this round.
    credits: i64,
    /// It is in one of the lists.
    is_listed: bool,
}

impl<P: Packet> FlowQueue<P> {
    fn new(codel: CoDel) -> Self {
        Self { backlog: Backlog::default(), codel: CoDelState::new(codel), credits: 0, is_listed: false }
    }

    /// False where its packets arrived after `now`: a cell's slot began before.
    fn is_ready(&self, now: Time) -> bool {
        self.backlog.oldest().is_none_or(|since| since <= now)
    }
}

impl<P: Packet> FlowQueues<P> {
    pub(crate) fn new(settings: FqCoDel) -> Self {
        Self {
            settings,
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            len: 0,
            bytes: Bytes::ZERO,
            dropped: VecDeque::new(),
        }
    }

    /// The queue of a packet's flow.
    fn index(&self, packet: &P) -> usize {
        (packet.flow() % u64::from(self.settings.queues)) as usize
    }

    fn quantum(&self) -> i64 {
        self.settings.quantum.get() as i64
    }

    /// CoDel's next packet of one queue.
    fn dequeue(&mut self, now: Time, index: usize) -> Option<QueuedPacket<P>> {
        let queue = &mut self.queues[index];
        let (len, bytes) = (queue.backlog.len(), queue.backlog.bytes());
        let next = queue.codel.dequeue(now, &mut queue.backlog);
        self.len -= len - queue.backlog.len();
        self.bytes -= bytes - queue.backlog.bytes();
        self.dropped.extend(std::iter::from_fn(|| queue.backlog.next_drop()));
        if let Some(next) = &next {
            queue.credits -= next.packet.size().get() as i64;
        }
        next
    }

    /// CoDel gave nothing. An empty new queue becomes an old one, so that its flow does not come first again and again; an
    /// empty old one leaves the list (section 4.2).
    fn unlist_empty(&mut self, is_new: bool, place: usize) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        let index = list[place];
        let queue = &mut self.queues[index];
        if queue.backlog.len() > 0 {
            return;
        }
        list.remove(place);
        queue.is_listed = is_new;
        if is_new {
            self.old.push_back(index);
        }
    }
}

impl<P: Packet> Waiting<P> for FlowQueues<P> {
    fn push(&mut self, now: Time, packet: P, _: Bytes) -> Result<(), Dropped<P>> {
        let index = self.index(&packet);
        if index >= self.queues.len() {
            self.queues.resize_with(index + 1, || FlowQueue::new(self.settings.codel));
        }
        self.len += 1;
        self.bytes += packet.size();
        let quantum = self.quantum();
        let queue = &mut self.queues[index];
        queue.backlog.push(packet, now);
        if !queue.is_listed {
            queue.is_listed = true;
            queue.credits = quantum;
            self.new.push_back(index);
        }
        Ok(())
    }

    /// Drops from the head of the queue that has the most bytes once `packet` is in its own. False where `packet` itself is that
    /// head.
    fn make_room(&mut self, now: Time, packet: &P) -> bool {
        let own = self.index(packet);
        let bytes_of = |index: usize, queue: &FlowQueue<P>| {
            queue.backlog.bytes() + if index == own { packet.size() } else { Bytes::ZERO }
        };
        let sizes = self.queues.iter().enumerate().map(|(index, queue)| (bytes_of(index, queue), index));
        // As in Linux, the first of several.
        let longest = sizes.max_by_key(|&(bytes, index)| (bytes, usize::MAX - index));
        // A flow that never had a queue has none here: with this packet it may be the longest.
        let Some((bytes, longest)) = longest.filter(|&(bytes, _)| bytes >= packet.size()) else {
            return false;
        };
        let half = Bytes::new(bytes.get() / 2);
        let backlog = &mut self.queues[longest].backlog;
        let (mut count, mut dropped) = (0, Bytes::ZERO);
        while count < MOST_DROPPED_AT_ONCE && (count == 0 || dropped < half) {
            let Some(oldest) = backlog.pop(Time::NEVER) else { break };
            count += 1;
            dropped += oldest.packet.size();
            let reason = DropReason::QueueHead;
            self.dropped.push_back(Dropped { packet: oldest.packet, at: now, reason });
        }
        self.len -= count;
        self.bytes -= dropped;
        count > 0
    }

    fn next(&mut self, now: Time) -> Option<QueuedPacket<P>> {
        loop {
            let ready = |list: &VecDeque<usize>| list.iter().position(|&at| self.queues[at].is_ready(now));
            let (is_new, place) = match ready(&self.new) {
                Some(place) => (true, place),
                None => (false, ready(&self.old)?),
            };
            let quantum = self.quantum();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = list[place];
            let queue = &mut self.queues[index];
            if queue.credits <= 0 {
                queue.credits += quantum;
                list.remove(place);
                self.old.push_back(index);
                continue;
            }
            if let Some(next) = self.dequeue(now, index) {
                return Some(next);
            }
            self.unlist_empty(is_new, place);
        }
    }

    fn oldest(&self) -> Option<Time> {
        self.new.iter().chain(&self.old).filter_map(|&index| self.queues[index].backlog.oldest()).min()
    }

    fn next_drop(&mut self) -> Option<Dropped<P>> {
        self.dropped.pop_front()
    }

    fn next_drop_at(&self) -> Time {
        self.dropped.front().map_or(Time::NEVER, |dropped| dropped.at)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }
}

#[cfg(test)]
mod tests;

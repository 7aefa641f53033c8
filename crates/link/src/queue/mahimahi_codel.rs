//! CoDel as Mahimahi has it (`codel_packet_queue.cc` of version 0.98), which the papers ran: not RFC 8289's.
//!
//! Differences from the RFC:
//! - The packet at the head is always sent. Where CoDel decides to drop, the one behind it goes, and after an interval without
//!   rest, the one behind that.
//! - A packet that is dropped takes its place in the count even where it waited less than the target.
//! - The clock and the times between drops are cut to whole milliseconds.
//! - The last packet of the queue ends the state of dropping, whatever its size.

use super::codel::CoDel;
use super::fifo::{Fifo, FifoDiscipline};
use super::text::{Part, part, part_in};
use super::{Backlog, Discipline, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::{DropReason, Packet};
use cellcc_units::{Bytes, QueueLimit, Span, Time};
use std::sync::Arc;

/// Mahimahi's `PACKET_SIZE`, without the four bytes of its device.
pub(crate) const FULL_PACKET: Bytes = Bytes::new(1500);

/// A dropping state that follows the one before within this many intervals goes on at its rate.
const RECENT_INTERVALS: u64 = 16;

/// A time above zero in whole milliseconds.
pub(crate) fn is_whole_millis(span: Span) -> bool {
    !span.is_zero() && span.as_nanos().is_multiple_of(Span::from_millis(1).as_nanos())
}

/// Whole milliseconds, as Mahimahi's clock has them.
pub(crate) fn whole_millis(time: Time) -> u64 {
    time.as_nanos() / Span::from_millis(1).as_nanos()
}

/// The settings of Mahimahi's CoDel, which knows no ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MahimahiCoDel {
    /// A queueing delay that is always acceptable, in whole milliseconds.
    pub target: Span,
    /// How long the delay may stay above the target, in whole milliseconds.
    pub interval: Span,
    /// Limit of the queue; drop-tail beyond it.
    pub limit: QueueLimit,
}

impl MahimahiCoDel {
    /// Mahimahi has no defaults of its own: RFC 8289's.
    pub const DEFAULT: Self = Self {
        target: CoDel::DEFAULT.target,
        interval: CoDel::DEFAULT.interval,
        limit: QueueLimit::Unlimited,
    };
}

impl Discipline for MahimahiCoDel {
    const NAME: &'static str = "codel";
    const VARIANT: Option<&'static str> = Some("mahimahi");
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part_in(
            "target=5ms",
            "in whole milliseconds",
            |own| &mut own.target,
            |own| is_whole_millis(own.target),
        ),
        part_in(
            "interval=100ms",
            "in whole milliseconds",
            |own| &mut own.interval,
            |own| is_whole_millis(own.interval),
        ),
        part("limit=1000pkt", |own| &mut own.limit),
    ];
    type Waiting<P> = Fifo<P, MahimahiCoDelState>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.limit
    }

    fn waiting<P: Packet>(self, _: &Arc<Capacity>, _: u64) -> Fifo<P, MahimahiCoDelState> {
        Fifo::new(MahimahiCoDelState::new(self))
    }
}

/// A CoDel controller; its times are in milliseconds.
#[derive(Debug, Clone)]
pub(crate) struct MahimahiCoDelState {
    target: u64,
    interval: u64,
    /// When a delay above the target will have lasted for an interval; `None` while it is below.
    first_above: Option<u64>,
    dropping: bool,
    drop_next: u64,
    count: u32,
    last_count: u32,
}

impl MahimahiCoDelState {
    pub(crate) fn new(settings: MahimahiCoDel) -> Self {
        let millis = |span: Span| span.as_nanos() / Span::from_millis(1).as_nanos();
        Self {
            target: millis(settings.target),
            interval: millis(settings.interval),
            first_above: None,
            dropping: false,
            drop_next: 0,
            count: 0,
            last_count: 0,
        }
    }

    /// The packet to be sent at `now`: the head of the queue. Those behind it may be dropped.
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        now: Time,
        queue: &mut Backlog<P>,
    ) -> Option<QueuedPacket<P>> {
        let millis = whole_millis(now);
        let (sent, ok_to_drop) = self.look_at_next(now, queue);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && millis >= self.drop_next {
                self.dropping = self.drop_next_packet(now, queue);
                self.count = self.count.wrapping_add(1);
                if self.dropping {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if ok_to_drop {
            self.drop_next_packet(now, queue);
            self.dropping = true;
            let drops = self.count.wrapping_sub(self.last_count);
            let recent = millis.wrapping_sub(self.drop_next) < RECENT_INTERVALS * self.interval;
            self.count = if drops > 1 && recent { drops } else { 1 };
            self.drop_next = self.control_law(millis);
            self.last_count = self.count;
        }
        sent
    }

    /// Takes the next packet, and says whether one may be dropped (`dodequeue`).
    fn look_at_next<P: Packet>(
        &mut self,
        now: Time,
        queue: &mut Backlog<P>,
    ) -> (Option<QueuedPacket<P>>, bool) {
        let next = queue.pop(now);
        let millis = whole_millis(now);
        let sojourn = next.as_ref().map_or(0, |next| millis - whole_millis(next.queued_at));
        if sojourn < self.target || queue.bytes() <= FULL_PACKET {
            self.first_above = None;
            return (next, false);
        }
        match self.first_above {
            None => {
                self.first_above = Some(millis + self.interval);
                (next, false)
            }
            Some(first_above) => (next, millis >= first_above),
        }
    }

    /// Drops the packet that has come to the head, and says whether the one behind it may also be dropped.
    fn drop_next_packet<P: Packet>(&mut self, now: Time, queue: &mut Backlog<P>) -> bool {
        let (next, ok_to_drop) = self.look_at_next(now, queue);
        if let Some(next) = next {
            queue.note_drop(next.packet, now, DropReason::Aqm);
        }
        ok_to_drop
    }

    fn control_law(&self, from: u64) -> u64 {
        from + (self.interval as f64 / libm::sqrt(f64::from(self.count))) as u64
    }
}

impl<P: Packet> FifoDiscipline<P> for MahimahiCoDelState {
    fn next(&mut self, now: Time, backlog: &mut Backlog<P>) -> Option<QueuedPacket<P>> {
        self.dequeue(now, backlog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::backlog::testing::{Full, drops, fill, millis};

    const RFC: MahimahiCoDel = MahimahiCoDel::DEFAULT;

    #[test]
    fn the_times_between_drops_are_cut_to_whole_milliseconds() {
        // 100/sqrt(n): 100, 70, 57, 50, 44 and 40 ms; RFC 8289 drops at 110, 210, 281, 339, 389, 434 and 474.
        let mut codel = MahimahiCoDelState::new(RFC);
        assert_eq!(
            drops(10..480, |now, queue| codel.dequeue(now, queue)),
            [110, 210, 280, 337, 387, 431, 471]
        );
    }

    #[test]
    fn the_head_is_sent_and_the_packet_behind_it_goes() {
        let mut codel = MahimahiCoDelState::new(RFC);
        let mut queue = Backlog::default();
        let packet = |number| Numbered { number };
        (0..200).for_each(|number| queue.push(packet(number), Time::ZERO));
        let sent: Vec<_> = (10..=110).filter_map(|now| codel.dequeue(millis(now), &mut queue)).collect();
        assert_eq!(sent.last().map(|sent| sent.packet.number), Some(100));
        assert_eq!(queue.next_drop().map(|drop| drop.packet.number), Some(101));
    }

    #[derive(Debug, Clone, Copy)]
    struct Numbered {
        number: u64,
    }

    impl Packet for Numbered {
        fn size(&self) -> Bytes {
            FULL_PACKET
        }
    }

    #[test]
    fn the_last_packet_of_a_queue_is_never_dropped() {
        let mut codel = MahimahiCoDelState::new(RFC);
        for now in [0, 200, 400, 2000].map(millis) {
            let mut queue = fill(1, Full::default());
            assert!(codel.dequeue(now, &mut queue).is_some() && queue.next_drop().is_none());
        }
    }
}

//! CoDel: Controlled Delay Active Queue Management (RFC 8289).
//!
//! A queue is good while packets wait less than a target at least once per interval. Where all of an interval's packets
//! waited longer, CoDel drops (or marks) one at the head, and then others at times that come closer together with the
//! square root of their count, until a packet waited less than the target.
//!
//! The names and the order of steps are those of the RFC's pseudocode, section 5. As in Linux, a mark stands in for a
//! drop, and the marked packet is the one that is sent.

use super::fifo::{Fifo, FifoDiscipline};
use super::text::{Part, part, part_in};
use super::{Backlog, Discipline, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::{DropReason, Packet};
use cellcc_units::{Bytes, QueueLimit, Span, Time};
use std::sync::Arc;

/// The settings of CoDel (RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDel {
    /// A queueing delay that is always acceptable.
    pub target: Span,
    /// How long the delay may stay above the target: about the longest RTT that is common.
    pub interval: Span,
    /// Limit of the queue; drop-tail beyond it.
    pub limit: QueueLimit,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl CoDel {
    /// 5 ms and 100 ms (RFC 8289, sections 4.4 and 4.3), no limit, no ECN.
    pub const DEFAULT: Self = Self {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        limit: QueueLimit::Unlimited,
        ecn: false,
    };
}

impl Discipline for CoDel {
    const NAME: &'static str = "codel";
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part_in("target=5ms", "", |own| &mut own.target, |own| !own.target.is_zero()),
        part_in("interval=100ms", "", |own| &mut own.interval, |own| !own.interval.is_zero()),
        part("limit=1000pkt", |own| &mut own.limit),
        part("ecn", |own| &mut own.ecn),
    ];
    type Waiting<P> = Fifo<P, CoDelState>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.limit
    }

    fn waiting<P: Packet>(self, _: &Arc<Capacity>, _: u64) -> Fifo<P, CoDelState> {
        Fifo::new(CoDelState::new(self))
    }
}

/// A CoDel controller.
#[derive(Debug, Clone)]
pub(crate) struct CoDelState {
    settings: CoDel,
    /// When a delay above the target will have lasted for an interval; `None` while it is below.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Drops since the dropping state was entered.
    count: u32,
    /// The count when it was entered last.
    last_count: u32,
    largest_packet: Bytes,
}

/// A dropping state that follows the one before within this many intervals goes on at its rate (section 5.5).
const RECENT_INTERVALS: u64 = 16;

impl CoDelState {
    pub(crate) fn new(settings: CoDel) -> Self {
        Self {
            settings,
            first_above: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            largest_packet: Bytes::ZERO,
        }
    }

    /// The packet to be sent at `now`: the first of the queue that is not dropped.
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        now: Time,
        queue: &mut Backlog<P>,
    ) -> Option<QueuedPacket<P>> {
        let (mut next, mut ok_to_drop) = self.look_at_next(now, queue);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let sent = self.signal(now, &mut next, queue);
                if !sent {
                    (next, ok_to_drop) = self.look_at_next(now, queue);
                    self.dropping = ok_to_drop;
                }
                if self.dropping {
                    self.drop_next = self.control_law(self.drop_next);
                }
                if sent {
                    break;
                }
            }
        } else if ok_to_drop {
            if !self.signal(now, &mut next, queue) {
                (next, _) = self.look_at_next(now, queue);
            }
            self.dropping = true;
            let drops = self.count - self.last_count;
            let recent = now.since(self.drop_next) < self.settings.interval * RECENT_INTERVALS;
            self.count = if drops > 1 && recent { drops } else { 1 };
            self.last_count = self.count;
            self.drop_next = self.control_law(now);
        }
        next
    }

    /// Takes the next packet, and says whether it may be dropped (`dodequeue`).
    fn look_at_next<P: Packet>(
        &mut self,
        now: Time,
        queue: &mut Backlog<P>,
    ) -> (Option<QueuedPacket<P>>, bool) {
        let Some(next) = queue.pop(now) else {
            self.first_above = None;
            return (None, false);
        };
        self.largest_packet = self.largest_packet.max(next.packet.size());
        let sojourn = now.since(next.queued_at);
        if sojourn < self.settings.target || queue.bytes() <= self.largest_packet {
            self.first_above = None;
            return (Some(next), false);
        }
        let first_above = *self.first_above.get_or_insert(now + self.settings.interval);
        (Some(next), now >= first_above)
    }

    /// Signals congestion with this packet: true where it was marked, false where it was dropped.
    fn signal<P: Packet>(
        &self,
        now: Time,
        next: &mut Option<QueuedPacket<P>>,
        queue: &mut Backlog<P>,
    ) -> bool {
        if let Some(queued) = next.as_mut().filter(|next| self.settings.ecn && next.packet.is_ecn_capable()) {
            queued.packet.mark_congestion();
            return true;
        }
        if let Some(queued) = next.take() {
            queue.note_drop(queued.packet, now, DropReason::Aqm);
        }
        false
    }

    fn control_law(&self, from: Time) -> Time {
        let interval = self.settings.interval.as_nanos() as f64;
        from + Span::from_nanos((interval / libm::sqrt(f64::from(self.count))) as u64)
    }
}

impl<P: Packet> FifoDiscipline<P> for CoDelState {
    fn next(&mut self, now: Time, backlog: &mut Backlog<P>) -> Option<QueuedPacket<P>> {
        self.dequeue(now, backlog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::backlog::testing::{Full, drops, fill, millis};
    use cellcc_units::Ecn;

    fn drops_of(settings: CoDel, times: std::ops::Range<u64>) -> Vec<u64> {
        let mut codel = CoDelState::new(settings);
        drops(times, |now, queue| codel.dequeue(now, queue))
    }

    #[test]
    fn drops_come_closer_with_the_square_root_of_their_count() {
        // Above the target from 10 ms on; the first drop an interval later, then 100/sqrt(n) ms after the one before:
        // 110 + 100 = 210, + 70.71 = 280.71, + 57.74 = 338.45, + 50 = 388.45, + 44.72 = 433.17, + 40.82 = 473.99.
        assert_eq!(drops_of(CoDel::DEFAULT, 10..480), [110, 210, 281, 339, 389, 434, 474]);
    }

    #[test]
    fn a_delay_below_the_target_is_left_alone_however_long_it_lasts() {
        let patient = CoDel { target: Span::from_secs(2), ..CoDel::DEFAULT };
        assert_eq!(drops_of(patient, 10..1990), [0_u64; 0]);
    }

    #[test]
    fn the_last_packet_of_a_queue_is_never_dropped() {
        let mut codel = CoDelState::new(CoDel::DEFAULT);
        for now in [0, 200, 400, 2000].map(millis) {
            let mut queue = fill(1, Full::default());
            assert!(codel.dequeue(now, &mut queue).is_some() && queue.next_drop().is_none());
        }
    }

    #[test]
    fn a_packet_below_the_target_ends_the_dropping_and_a_new_one_resumes_near_its_rate() {
        let mut codel = CoDelState::new(CoDel::DEFAULT);
        let mut queue = fill(10_000, Full::default());
        let mut run = |from: u64, to: u64, queue: &mut Backlog<Full>| {
            let mut drops = Vec::new();
            for now in from..to {
                codel.dequeue(millis(now), queue);
                while queue.next_drop().is_some() {
                    drops.push(now);
                }
            }
            drops
        };
        assert_eq!(run(10, 480, &mut queue).len(), 7);
        // Fresh packets: no delay.
        let mut fresh = Backlog::default();
        fresh.push(Full::default(), millis(480));
        fresh.push(Full::default(), millis(480));
        fresh.push(Full::default(), millis(480));
        assert_eq!(run(481, 482, &mut fresh), [0_u64; 0]);
        // Bad again from 482 on: the first drop at 582 with the count at 7 - 1 = 6, the next 100/sqrt(6) = 40.8 ms later.
        assert_eq!(run(482, 640, &mut queue), [582, 623]);
    }

    #[test]
    fn a_packet_that_can_be_marked_is_marked_and_sent_instead() {
        let able = Full { ecn: Ecn::Ect0 };
        for (ecn, packet) in [(true, able), (true, Full::default()), (false, able)] {
            let mut codel = CoDelState::new(CoDel { ecn, ..CoDel::DEFAULT });
            let mut queue = fill(10_000, packet);
            let sent: Vec<_> = (10..480).filter_map(|now| codel.dequeue(millis(now), &mut queue)).collect();
            let marked = sent.iter().filter(|queued| queued.packet.is_marked()).count();
            let dropped = std::iter::from_fn(|| queue.next_drop()).count();
            assert_eq!((marked, dropped), if ecn && packet.is_ecn_capable() { (7, 0) } else { (0, 7) });
        }
    }
}

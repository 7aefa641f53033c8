//! One queue for all packets, served in order of arrival: drop-tail, drop-head, CoDel, PIE, RED or ABC.

use crate::abc::AbcState;
use crate::backlog::{Backlog, QueuedPacket};
use crate::codel::CoDelState;
use crate::mahimahi_codel::MahimahiCoDelState;
use crate::mahimahi_pie::MahimahiPieState;
use crate::packet::{DropReason, Dropped, Packet};
use crate::pie::{PieState, Verdict};
use crate::red::RedState;
use cellcc_units::{Bytes, Span, Time};

/// A first-in-first-out queue with its discipline.
#[derive(Debug, Clone)]
pub(crate) struct InOrder<P> {
    discipline: Discipline,
    ack_filter: bool,
    pub(crate) backlog: Backlog<P>,
}

/// What decides about a packet when it arrives, and when its service begins.
#[derive(Debug, Clone)]
pub(crate) enum Discipline {
    DropTail { mark_above: Option<Span> },
    DropHead,
    CoDel(CoDelState),
    MahimahiCoDel(MahimahiCoDelState),
    Pie(PieState),
    MahimahiPie(MahimahiPieState),
    Red(RedState),
    Abc(AbcState),
}

impl<P: Packet> InOrder<P> {
    pub(crate) fn new(discipline: Discipline, ack_filter: bool) -> Self {
        Self { discipline, ack_filter, backlog: Backlog::default() }
    }

    /// A packet arrives, and may make others superfluous.
    pub(crate) fn filter(&mut self, now: Time, newest: &P) {
        if self.ack_filter {
            self.backlog.drop_superseded(now, newest);
        }
    }

    /// Drops what makes room for a packet. False where nothing does. The packet in service cannot be dropped.
    pub(crate) fn make_room(&mut self, now: Time) -> bool {
        let Discipline::DropHead = self.discipline else { return false };
        let Some(oldest) = self.backlog.pop(now) else { return false };
        self.backlog.note_drop(oldest.packet, now, DropReason::QueueHead);
        true
    }

    /// Takes a packet that fits, unless the discipline drops it. `queued`: the bytes before it, the packet in service included.
    pub(crate) fn push(&mut self, now: Time, mut packet: P, queued: Bytes) -> Result<(), Dropped<P>> {
        match self.judge(now, queued, packet.is_ecn_capable()) {
            Verdict::Enqueue => {}
            Verdict::Mark => packet.mark_congestion(),
            Verdict::Drop => return Err(Dropped { packet, at: now, reason: DropReason::Aqm }),
        }
        self.backlog.push(packet, now);
        Ok(())
    }

    /// RED's average length.
    pub(crate) fn average(&self) -> Option<Bytes> {
        match &self.discipline {
            Discipline::Red(red) => Some(red.average()),
            _ => None,
        }
    }

    /// What the discipline does to a packet that fits.
    fn judge(&mut self, now: Time, queued: Bytes, ecn_capable: bool) -> Verdict {
        match &mut self.discipline {
            Discipline::Pie(pie) => {
                pie.update_until(now, self.backlog.oldest());
                pie.judge(now, self.backlog.bytes(), ecn_capable)
            }
            Discipline::MahimahiPie(pie) => pie.judge(now, self.backlog.bytes()),
            Discipline::Red(red) => red.judge(now, queued, ecn_capable),
            Discipline::DropTail { .. }
            | Discipline::DropHead
            | Discipline::CoDel(_)
            | Discipline::MahimahiCoDel(_)
            | Discipline::Abc(_) => Verdict::Enqueue,
        }
    }

    /// Takes the packet whose service begins at `now`, from those that arrived by then.
    pub(crate) fn begin_service(&mut self, now: Time) -> Option<QueuedPacket<P>> {
        match &mut self.discipline {
            Discipline::DropTail { mark_above: None } | Discipline::DropHead => self.backlog.pop(now),
            Discipline::DropTail { mark_above: Some(threshold) } => {
                let mut next = self.backlog.pop(now);
                if let Some(QueuedPacket { packet, queued_at }) = &mut next
                    && now.since(*queued_at) > *threshold
                    && packet.is_ecn_capable()
                {
                    packet.mark_congestion();
                }
                next
            }
            Discipline::CoDel(codel) => codel.dequeue(now, &mut self.backlog),
            Discipline::MahimahiCoDel(codel) => codel.dequeue(now, &mut self.backlog),
            Discipline::Pie(pie) => {
                pie.update_until(now, self.backlog.oldest());
                self.backlog.pop(now)
            }
            Discipline::MahimahiPie(pie) => {
                let next = self.backlog.pop(now)?;
                pie.note_service(now, next.packet.size(), self.backlog.bytes());
                Some(next)
            }
            Discipline::Abc(abc) => {
                let mut next = self.backlog.pop(now)?;
                let packet = &mut next.packet;
                let queued = self.backlog.bytes() + packet.size();
                if packet.is_ecn_capable() && abc.brakes(now, packet.size(), queued, packet.is_marked()) {
                    packet.mark_congestion();
                }
                Some(next)
            }
            Discipline::Red(red) => {
                let next = self.backlog.pop(now);
                if next.is_some() {
                    red.note_service(now);
                }
                next
            }
        }
    }
}

//! One queue for all packets, served in order of arrival.

use super::waiting::Waiting;
use super::{Backlog, QueueCounters, QueuedPacket};
use crate::packet::{DropReason, Dropped, Packet};
use cellcc_units::{Bytes, Time};

/// What happens to an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Enqueue,
    Mark,
    Drop,
}

/// Decisions about a packet when it arrives, and when its service begins. All is as in drop-tail where nothing else is said.
pub(crate) trait FifoDiscipline<P: Packet> {
    /// A packet arrives, and may make others superfluous.
    fn on_arrival(&mut self, _now: Time, _newest: &P, _backlog: &mut Backlog<P>) {}

    /// Drops a packet to make room. False where nothing does.
    fn make_room(&mut self, _now: Time, _backlog: &mut Backlog<P>) -> bool {
        false
    }

    /// What happens to a packet that fits. `queued`: the bytes before it, the packet in service included.
    fn admit(&mut self, _now: Time, _queued: Bytes, _packet: &P, _backlog: &Backlog<P>) -> Verdict {
        Verdict::Enqueue
    }

    /// Takes the packet whose service begins at `now`, from those that arrived by then.
    fn next(&mut self, now: Time, backlog: &mut Backlog<P>) -> Option<QueuedPacket<P>> {
        backlog.pop(now)
    }

    /// The average length, where the discipline has one.
    fn average(&self) -> Option<Bytes> {
        None
    }
}

/// A first-in-first-out queue with its discipline.
#[derive(Debug, Clone)]
pub(crate) struct Fifo<P, D> {
    discipline: D,
    backlog: Backlog<P>,
}

impl<P: Packet, D> Fifo<P, D> {
    pub(crate) fn new(discipline: D) -> Self {
        Self { discipline, backlog: Backlog::default() }
    }
}

impl<P: Packet, D: FifoDiscipline<P>> Waiting<P> for Fifo<P, D> {
    fn on_arrival(&mut self, now: Time, newest: &P) {
        self.discipline.on_arrival(now, newest, &mut self.backlog);
    }

    fn make_room(&mut self, now: Time, _for_packet: &P) -> bool {
        self.discipline.make_room(now, &mut self.backlog)
    }

    fn push(&mut self, now: Time, mut packet: P, queued: Bytes) -> Result<(), Dropped<P>> {
        match self.discipline.admit(now, queued, &packet, &self.backlog) {
            Verdict::Enqueue => {}
            Verdict::Mark => packet.mark_congestion(),
            Verdict::Drop => return Err(Dropped { packet, at: now, reason: DropReason::Aqm }),
        }
        self.backlog.push(packet, now);
        Ok(())
    }

    fn next(&mut self, now: Time) -> Option<QueuedPacket<P>> {
        self.discipline.next(now, &mut self.backlog)
    }

    fn oldest(&self) -> Option<Time> {
        self.backlog.oldest()
    }

    fn next_drop(&mut self) -> Option<Dropped<P>> {
        self.backlog.next_drop()
    }

    fn next_drop_at(&self) -> Time {
        self.backlog.next_drop_at()
    }

    fn len(&self) -> usize {
        self.backlog.len()
    }

    fn bytes(&self) -> Bytes {
        self.backlog.bytes()
    }

    fn add_counters(&mut self, _: Time, to: &mut QueueCounters) {
        to.average = self.discipline.average();
    }
}

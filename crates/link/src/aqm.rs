//! A queue with its discipline.

use crate::abc::AbcState;
use crate::backlog::QueuedPacket;
use crate::capacity::Capacity;
use crate::codel::CoDelState;
use crate::fq_codel::FlowQueues;
use crate::in_order::{Discipline, InOrder};
use crate::mahimahi_codel::MahimahiCoDelState;
use crate::mahimahi_pie::MahimahiPieState;
use crate::packet::{DropReason, Dropped, Packet};
use crate::pie::PieState;
use crate::red::RedState;
use cellcc_units::{Bytes, Queue, QueueLimit, Time};
use std::sync::Arc;

/// A queue whose discipline decides about a packet twice: when it arrives, and when its service begins.
#[derive(Debug, Clone)]
pub(crate) struct AqmQueue<P> {
    limit: QueueLimit,
    waiting: Waiting<P>,
    /// Size of the packet in service. It no longer waits, and counts as queued until its last byte has left.
    in_service: Option<Bytes>,
}

/// The packets that are not in service yet.
#[derive(Debug, Clone)]
enum Waiting<P> {
    InOrder(InOrder<P>),
    ByFlow(FlowQueues<P>),
}

impl<P: Packet> AqmQueue<P> {
    /// An empty queue before a link of this capacity, whose rate ABC reads.
    pub(crate) fn new(queue: Queue, capacity: &Arc<Capacity>, seed: u64) -> Self {
        let in_order = |discipline| Waiting::InOrder(InOrder::new(discipline, false));
        let waiting = match queue {
            Queue::DropTail { mark_above, ack_filter, .. } => {
                Waiting::InOrder(InOrder::new(Discipline::DropTail { mark_above }, ack_filter))
            }
            Queue::DropHead(_) => in_order(Discipline::DropHead),
            Queue::CoDel(codel) => in_order(Discipline::CoDel(CoDelState::new(codel))),
            Queue::MahimahiCoDel(codel) => {
                in_order(Discipline::MahimahiCoDel(MahimahiCoDelState::new(codel)))
            }
            Queue::MahimahiPie(pie) => in_order(Discipline::MahimahiPie(MahimahiPieState::new(pie, seed))),
            Queue::Pie(pie) => in_order(Discipline::Pie(PieState::new(pie, seed))),
            Queue::Red(red) => in_order(Discipline::Red(RedState::new(red, seed))),
            Queue::Abc(abc) => in_order(Discipline::Abc(AbcState::new(abc, Arc::clone(capacity)))),
            Queue::FqCoDel(fq_codel) => Waiting::ByFlow(FlowQueues::new(fq_codel)),
        };
        Self { limit: queue.limit(), waiting, in_service: None }
    }

    /// A packet arrives. `served_by` computes when all queued packets will have been served: a limit in time needs
    /// it.
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        served_by: impl Fn(&Self) -> Time,
    ) -> Result<(), Dropped<P>> {
        if let Waiting::InOrder(queue) = &mut self.waiting {
            queue.filter(now, &packet);
        }
        while !self.admits(now, packet.size(), &served_by) {
            let has_made_room = match &mut self.waiting {
                Waiting::InOrder(queue) => queue.make_room(now),
                Waiting::ByFlow(queues) => queues.make_room(now, &packet),
            };
            if !has_made_room {
                return Err(Dropped { packet, at: now, reason: DropReason::QueueFull });
            }
        }
        let queued = self.bytes();
        match &mut self.waiting {
            Waiting::InOrder(queue) => queue.push(now, packet, queued),
            Waiting::ByFlow(queues) => {
                queues.push(now, packet);
                Ok(())
            }
        }
    }

    fn admits(&self, now: Time, size: Bytes, served_by: &impl Fn(&Self) -> Time) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => (self.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.bytes() + size <= limit,
            QueueLimit::Time(limit) => self.is_empty() || served_by(self).since(now) <= limit,
        }
    }

    /// Takes the packet whose service begins at `now`, from those that arrived by then.
    pub(crate) fn begin_service(&mut self, now: Time) -> Option<QueuedPacket<P>> {
        let next = match &mut self.waiting {
            Waiting::InOrder(queue) => queue.begin_service(now),
            Waiting::ByFlow(queues) => queues.begin_service(now),
        };
        self.in_service = next.as_ref().map(|next| next.packet.size());
        next
    }

    /// The last byte of the packet in service has left.
    pub(crate) fn end_service(&mut self) {
        self.in_service = None;
    }

    /// When the oldest packet that is not in service arrived; `None` where no packet waits.
    pub(crate) fn oldest(&self) -> Option<Time> {
        match &self.waiting {
            Waiting::InOrder(queue) => queue.backlog.oldest(),
            Waiting::ByFlow(queues) => queues.oldest(),
        }
    }

    /// The next drop that the driver has not fetched yet.
    pub(crate) fn next_drop(&mut self) -> Option<Dropped<P>> {
        match &mut self.waiting {
            Waiting::InOrder(queue) => queue.backlog.next_drop(),
            Waiting::ByFlow(queues) => queues.next_drop(),
        }
    }

    /// When that drop happened; [`Time::NEVER`] where there is none.
    pub(crate) fn next_drop_at(&self) -> Time {
        match &self.waiting {
            Waiting::InOrder(queue) => queue.backlog.next_drop_at(),
            Waiting::ByFlow(queues) => queues.next_drop_at(),
        }
    }

    /// Packets, with the one in service.
    pub(crate) fn len(&self) -> usize {
        let waiting = match &self.waiting {
            Waiting::InOrder(queue) => queue.backlog.len(),
            Waiting::ByFlow(queues) => queues.len(),
        };
        waiting + usize::from(self.in_service.is_some())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes, with all of the packet in service.
    pub(crate) fn bytes(&self) -> Bytes {
        self.waiting_bytes() + self.in_service.unwrap_or(Bytes::ZERO)
    }

    /// RED's average length.
    pub(crate) fn average(&self) -> Option<Bytes> {
        match &self.waiting {
            Waiting::InOrder(queue) => queue.average(),
            Waiting::ByFlow(_) => None,
        }
    }

    /// Bytes that are not in service yet.
    pub(crate) fn waiting_bytes(&self) -> Bytes {
        match &self.waiting {
            Waiting::InOrder(queue) => queue.backlog.bytes(),
            Waiting::ByFlow(queues) => queues.bytes(),
        }
    }
}

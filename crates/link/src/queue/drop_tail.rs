//! Drop-tail: first in, first out; a packet that does not fit is dropped.
//!
//! With `mark`, ECN-capable packets that waited longer are marked, as by the step threshold of an L4S queue (RFC 9332). With
//! `ack-filter`, acknowledgements that newer ones in the queue make superfluous are dropped, as CAKE's `ack-filter` does: see
//! docs/link-model.md.
//!
//! A link with nothing else than drop-tail is in `drop_tail_link.rs`: it knows each packet's departure when it arrives.

use super::fifo::{Fifo, FifoDiscipline};
use super::text::{Part, part, part_in};
use super::{Backlog, Discipline, QueuedPacket};
use crate::capacity::Capacity;
use crate::packet::Packet;
use cellcc_units::{QueueLimit, Span, Time};
use std::sync::Arc;

/// The settings of drop-tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropTail {
    /// Its limit.
    pub limit: QueueLimit,
    /// ECN-capable packets that waited longer than this are marked; none: nothing is marked.
    pub mark_above: Option<Span>,
    /// Drops acknowledgements that newer ones in the queue make superfluous.
    pub ack_filter: bool,
}

impl DropTail {
    /// No limit, no marks, no filter.
    pub const DEFAULT: Self = Self { limit: QueueLimit::Unlimited, mark_above: None, ack_filter: false };
}

impl Discipline for DropTail {
    const NAME: &'static str = "droptail";
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part("LIMIT", |own| &mut own.limit),
        part_in(
            "mark=1ms",
            "",
            |own| &mut own.mark_above,
            |own| own.mark_above.is_none_or(|span| !span.is_zero()),
        ),
        part("ack-filter", |own| &mut own.ack_filter),
    ];
    type Waiting<P> = Fifo<P, Self>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.limit
    }

    fn waiting<P: Packet>(self, _: &Arc<Capacity>, _: u64) -> Fifo<P, Self> {
        Fifo::new(self)
    }
}

impl<P: Packet> FifoDiscipline<P> for DropTail {
    fn on_arrival(&mut self, now: Time, newest: &P, backlog: &mut Backlog<P>) {
        if self.ack_filter {
            backlog.drop_superseded(now, newest);
        }
    }

    fn next(&mut self, now: Time, backlog: &mut Backlog<P>) -> Option<QueuedPacket<P>> {
        let mut next = backlog.pop(now)?;
        let has_waited_long = self.mark_above.is_some_and(|threshold| now.since(next.queued_at) > threshold);
        if has_waited_long && next.packet.is_ecn_capable() {
            next.packet.mark_congestion();
        }
        Some(next)
    }
}

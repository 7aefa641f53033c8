//! Drop-head: first in, first out; the oldest packets are dropped until the newest fits.

use super::fifo::{Fifo, FifoDiscipline};
use super::text::{Part, part};
use super::{Backlog, Discipline};
use crate::capacity::Capacity;
use crate::packet::{DropReason, Packet};
use cellcc_units::{QueueLimit, Time};
use std::sync::Arc;

/// The settings of drop-head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropHead {
    /// Its limit.
    pub limit: QueueLimit,
}

impl Discipline for DropHead {
    const NAME: &'static str = "drophead";
    const BASES: &'static [(&'static str, Self)] = &[("", Self { limit: QueueLimit::Unlimited })];
    const PARTS: &'static [Part<Self>] = &[part("LIMIT", |own| &mut own.limit)];
    type Waiting<P> = Fifo<P, Self>;

    fn limit_mut(&mut self) -> &mut QueueLimit {
        &mut self.limit
    }

    fn waiting<P: Packet>(self, _: &Arc<Capacity>, _: u64) -> Fifo<P, Self> {
        Fifo::new(self)
    }
}

impl<P: Packet> FifoDiscipline<P> for DropHead {
    /// The packet in service cannot be dropped.
    fn make_room(&mut self, now: Time, backlog: &mut Backlog<P>) -> bool {
        let Some(oldest) = backlog.pop(now) else { return false };
        backlog.note_drop(oldest.packet, now, DropReason::QueueHead);
        true
    }
}

//! What a queue does with packets: how many it holds, and which it drops or marks.

mod text;

use crate::{Abc, CoDel, FqCoDel, MahimahiCoDel, MahimahiPie, Pie, QueueLimit, Red, Span};

/// A queue, as it is written:
///
/// | text | what it does |
/// |---|---|
/// | `3200pkt`, `1.5MB`, `100ms`, `unlimited` | drop-tail: a packet that does not fit is dropped |
/// | `droptail(3200pkt, mark=1ms)` | the same, and marks ECN-capable packets that waited longer than that |
/// | `droptail(100pkt, ack-filter)` | the same, and of a flow's acknowledgements in the queue the oldest goes when a newer one says all it says |
/// | `drophead(100pkt)` | the oldest packets make room for the newest |
/// | `codel(target=5ms, interval=100ms, limit=1000pkt, ecn)` | CoDel, RFC 8289; each part may be left out |
/// | `pie(target=15ms, burst=150ms, update=15ms, limit=1000pkt, ecn)` | PIE, RFC 8033; each part may be left out |
/// | `codel(mahimahi)`, `pie(mahimahi)` | as Mahimahi has them; without `ecn` and `update` |
/// | `red(min=7.5kB, max=22.5kB, probability=10%, limit=1000pkt, ecn)` | RED, gentle; each part may be left out |
/// | `red(verus)` | with the thresholds of the Verus paper, which other parts may change |
/// | `fq-codel(target=5ms, interval=100ms, quantum=1514B, queues=1024, limit=10240pkt, ecn)` | FQ-CoDel, RFC 8290; each part may be left out |
/// | `abc(target=50ms, eta=98%, delta=133ms, limit=250pkt)` | first in, first out; tells ABC's senders to accelerate or to brake |
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Queue {
    /// First in, first out; a packet that does not fit is dropped.
    DropTail {
        /// What it holds.
        limit: QueueLimit,
        /// ECN-capable packets that waited longer than this are marked, as by the step threshold of an L4S queue
        /// (RFC 9332); none: nothing is marked.
        mark_above: Option<Span>,
        /// Drops acknowledgements that newer ones in the queue make superfluous, as CAKE's `ack-filter` does: see
        /// docs/link-model.md.
        ack_filter: bool,
    },
    /// First in, first out; the oldest packets are dropped until the newest fits.
    DropHead(QueueLimit),
    /// Controlled delay.
    CoDel(CoDel),
    /// Controlled delay as Mahimahi has it.
    MahimahiCoDel(MahimahiCoDel),
    /// Proportional integral controller, enhanced.
    Pie(Pie),
    /// The same as Mahimahi has it.
    MahimahiPie(MahimahiPie),
    /// Random early detection.
    Red(Red),
    /// A queue for each flow, and CoDel in each.
    FqCoDel(FqCoDel),
    /// ABC's router.
    Abc(Abc),
}

impl Queue {
    /// What it holds at most.
    pub fn limit(&self) -> QueueLimit {
        match *self {
            Self::DropTail { limit, .. } | Self::DropHead(limit) => limit,
            Self::CoDel(CoDel { limit, .. })
            | Self::MahimahiCoDel(MahimahiCoDel { limit, .. })
            | Self::Pie(Pie { limit, .. })
            | Self::MahimahiPie(MahimahiPie { limit, .. })
            | Self::Red(Red { limit, .. })
            | Self::Abc(Abc { limit, .. })
            | Self::FqCoDel(FqCoDel { codel: CoDel { limit, .. }, .. }) => limit,
        }
    }
}

impl From<QueueLimit> for Queue {
    /// Drop-tail with this limit.
    fn from(limit: QueueLimit) -> Self {
        Self::DropTail { limit, mark_above: None, ack_filter: false }
    }
}

#[cfg(test)]
mod tests;

//! What a queue does with packets: how many it holds, and which it drops or marks.

mod text;

use crate::{Bytes, QueueLimit, Ratio, Span};

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

/// The settings of CoDel (RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDel {
    /// A queueing delay that is always acceptable.
    pub target: Span,
    /// How long the delay may stay above the target: about the longest RTT that is common.
    pub interval: Span,
    /// What the queue holds at most; drop-tail beyond it.
    pub limit: QueueLimit,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

/// The settings of PIE (RFC 8033).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pie {
    /// The queueing delay to be held (QDELAY_REF).
    pub target: Span,
    /// For how long a queue may fill before anything is dropped (MAX_BURST).
    pub burst: Span,
    /// Time between updates of the drop probability (T_UPDATE); not below [`Pie::SHORTEST_UPDATE`].
    pub update: Span,
    /// What the queue holds at most; drop-tail beyond it.
    pub limit: QueueLimit,
    /// Marks ECN-capable packets instead of dropping them while the probability is low.
    pub ecn: bool,
}

/// The settings of Mahimahi's CoDel, which knows no ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MahimahiCoDel {
    /// A queueing delay that is always acceptable, in whole milliseconds.
    pub target: Span,
    /// How long the delay may stay above the target, in whole milliseconds.
    pub interval: Span,
    /// What the queue holds at most; drop-tail beyond it.
    pub limit: QueueLimit,
}

/// The settings of Mahimahi's PIE, which knows no ECN and looks at its probability every 30 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MahimahiPie {
    /// The queueing delay to be held, in whole milliseconds (`qdelay_ref`).
    pub target: Span,
    /// For how long a queue may fill after a rest before anything is dropped, in whole milliseconds (`max_burst`).
    pub burst: Span,
    /// What the queue holds at most; drop-tail beyond it.
    pub limit: QueueLimit,
}

/// The settings of gentle RED (Floyd and Jacobson 1993, Floyd 2000).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Red {
    /// Below this average length nothing is dropped (min_th).
    pub min: Bytes,
    /// The average length at which `probability` is reached (max_th), above `min`; at twice as much every packet is dropped.
    pub max: Bytes,
    /// The probability of a drop at `max` (max_p).
    pub probability: Ratio,
    /// What the queue holds at most; drop-tail beyond it.
    pub limit: QueueLimit,
    /// Marks ECN-capable packets instead of dropping them while the average is below `max`.
    pub ecn: bool,
}

/// The settings of FQ-CoDel (RFC 8290).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCoDel {
    /// Of each queue, but for the limit: that is of all queues together, and beyond it packets of the longest queue are dropped.
    pub codel: CoDel,
    /// Bytes that a queue may send before the others' turn; not below [`FqCoDel::SMALLEST_QUANTUM`].
    pub quantum: Bytes,
    /// How many queues there are, from one to 65,536 as in Linux.
    pub queues: u32,
}

/// The settings of ABC's router (Goyal et al., NSDI 2020).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Abc {
    /// A queueing delay up to which the queue need not shrink (d_t).
    pub target: Span,
    /// The share of the link's rate that is aimed at (eta).
    pub eta: Ratio,
    /// How long a queue beyond `target` takes to drain (delta).
    pub delta: Span,
    /// What the queue holds at most; drop-tail beyond it.
    pub limit: QueueLimit,
}

impl Red {
    /// 5 and 15 packets of 1500 bytes, 10 % (Floyd, "RED: Discussions of Setting Parameters", 1997), no limit, no ECN.
    pub const DEFAULT: Self = Self {
        min: Bytes::new(7500),
        max: Bytes::new(22_500),
        probability: Ratio::new(0.1),
        limit: QueueLimit::Unlimited,
        ecn: false,
    };

    /// 3 and 9 Mbit, 10 % (Zaki et al., Verus, SIGCOMM 2015, section 6).
    pub const VERUS: Self = Self { min: Bytes::new(375_000), max: Bytes::new(1_125_000), ..Self::DEFAULT };
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

impl Pie {
    /// An update costs some work, and packets come hardly more often.
    pub const SHORTEST_UPDATE: Span = Span::from_millis(1);

    /// 15 ms, 150 ms and 15 ms (RFC 8033, sections 4.2 and 4.4), no limit, no ECN.
    pub const DEFAULT: Self = Self {
        target: Span::from_millis(15),
        burst: Span::from_millis(150),
        update: Span::from_millis(15),
        limit: QueueLimit::Unlimited,
        ecn: false,
    };
}

impl MahimahiCoDel {
    /// Mahimahi has no defaults of its own: RFC 8289's.
    pub const DEFAULT: Self = Self {
        target: CoDel::DEFAULT.target,
        interval: CoDel::DEFAULT.interval,
        limit: QueueLimit::Unlimited,
    };
}

impl MahimahiPie {
    /// Mahimahi has no defaults of its own: RFC 8033's.
    pub const DEFAULT: Self =
        Self { target: Pie::DEFAULT.target, burst: Pie::DEFAULT.burst, limit: QueueLimit::Unlimited };
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

impl Abc {
    /// 50 ms (the authors' script `exp.sh`), 98 % and 133 ms (the evaluation of the paper; the script's beta of 75 % over 100 ms), no limit.
    pub const DEFAULT: Self = Self {
        target: Span::from_millis(50),
        eta: Ratio::new(0.98),
        delta: Span::from_millis(133),
        limit: QueueLimit::Unlimited,
    };
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

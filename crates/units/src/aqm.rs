//! The settings of queues that manage their length, and their defaults.

use crate::{Bytes, QueueLimit, Ratio, Span};

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

impl CoDel {
    /// 5 ms and 100 ms (RFC 8289, sections 4.4 and 4.3), no limit, no ECN.
    pub const DEFAULT: Self = Self {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        limit: QueueLimit::Unlimited,
        ecn: false,
    };
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

impl MahimahiCoDel {
    /// Mahimahi has no defaults of its own: RFC 8289's.
    pub const DEFAULT: Self = Self {
        target: CoDel::DEFAULT.target,
        interval: CoDel::DEFAULT.interval,
        limit: QueueLimit::Unlimited,
    };
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

impl MahimahiPie {
    /// Mahimahi has no defaults of its own: RFC 8033's.
    pub const DEFAULT: Self =
        Self { target: Pie::DEFAULT.target, burst: Pie::DEFAULT.burst, limit: QueueLimit::Unlimited };
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

impl Abc {
    /// 50 ms (the authors' script `exp.sh`), 98 % and 133 ms (the evaluation of the paper; the script's beta of 75 % over 100 ms), no limit.
    pub const DEFAULT: Self = Self {
        target: Span::from_millis(50),
        eta: Ratio::new(0.98),
        delta: Span::from_millis(133),
        limit: QueueLimit::Unlimited,
    };
}

//! ECN codepoints between noq and the network, so that L4S schemes run on noq, which sends ECT(0) and counts nothing for them.
//!
//! ```text
//!   noq -- ECT(0) --> EcnMap -- ECT(1) --> path -- ECT(1), CE --> EcnMap -- ECT(0), CE --> noq
//! ```
//! noq takes ECT(1) in an acknowledgement for a fault of the path and gives ECN up. So the receiving end gives it ECT(0)
//! instead, from before the sending end begins; [`extension`](crate::extension) decides when, and carries the receiving end's
//! counts.
//!
//! From then on every datagram leaves with ECT(1), also where noq has given ECN up: the receiver's counts then say what the
//! path does. A map whose path or peer proves unfit sends Not-ECT: noq also gives ECN up, and the scheme then reacts only to
//! losses.

use crate::packet_size::ANY_FLOW;
use cellcc_control::{Ecn, Scheme};
use cellcc_units::Bytes;
use noq_proto::EcnCodepoint;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Datagrams by their codepoint, so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EcnCounts {
    /// Packets with ECT(1).
    pub ect1: u64,
    /// Packets with CE.
    pub ce: u64,
    /// Packets with ECT(0).
    pub ect0: u64,
    /// Packets that were not ECN-capable.
    pub not_ect: u64,
    /// The UDP payload of packets with CE.
    pub ce_payload: Bytes,
}

impl EcnCounts {
    /// The counts after `base`.
    pub(crate) fn since(&self, base: &Self) -> Self {
        Self {
            ect1: self.ect1.saturating_sub(base.ect1),
            ce: self.ce.saturating_sub(base.ce),
            ect0: self.ect0.saturating_sub(base.ect0),
            not_ect: self.not_ect.saturating_sub(base.not_ect),
            ce_payload: self.ce_payload.saturating_sub(base.ce_payload),
        }
    }

    /// Datagrams with any codepoint.
    pub(crate) fn datagrams(&self) -> u64 {
        [self.ect1, self.ce, self.ect0, self.not_ect].into_iter().fold(0, u64::saturating_add)
    }
}

/// The state of ECT(1) on a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum L4s {
    /// The scheme sends none.
    #[default]
    NotNeeded,
    /// The peer has not said yet that it maps codepoints.
    Asked,
    /// The peer maps codepoints, and packets carry ECT(1).
    On,
    /// Packets sent with ECT arrived as Not-ECT: the path bleaches.
    Bleached,
    /// Packets sent with ECT(1) arrived with ECT(0).
    Remarked,
    /// No packet with ECT(1) arrived.
    Dropped,
    /// The peer did not answer: it maps no codepoints.
    Unanswered,
}

impl L4s {
    /// True if marks are no signal on this path, although the scheme wants them.
    pub fn is_missing(self) -> bool {
        matches!(self, Self::Bleached | Self::Remarked | Self::Dropped | Self::Unanswered)
    }

    /// The result of the receiver's counts on the path, in a word; `None` if the scheme sends no ECT(1).
    pub fn validation(self) -> Option<&'static str> {
        match self {
            Self::NotNeeded => None,
            Self::On => Some("ok"),
            Self::Bleached => Some("bleached"),
            Self::Remarked => Some("re-marked"),
            Self::Dropped => Some("dropped"),
            Self::Asked | Self::Unanswered => Some("unknown"),
        }
    }
}

impl fmt::Display for L4s {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotNeeded => "no ECT(1) needed",
            Self::Asked => "the peer is asked whether it maps ECN codepoints",
            Self::On => "packets carry ECT(1)",
            Self::Bleached => "no ECT(1): the path erases ECN codepoints; the scheme sees only losses",
            Self::Remarked => "no ECT(1): the path rewrites it to ECT(0); the scheme sees only losses",
            Self::Dropped => "no ECT(1): the path drops packets with it; the scheme sees only losses",
            Self::Unanswered => {
                "no ECT(1): the peer does not map ECN codepoints; the scheme sees only losses"
            }
        })
    }
}

/// The mapping of noq's codepoints towards one peer, and its counts. It belongs to the socket; the rest of the program shares it.
#[derive(Debug, Default)]
pub struct EcnMap {
    /// True if datagrams leave with ECT(1), false for Not-ECT, whatever noq gives them.
    sends_ect1: AtomicBool,
    sends_not_ect: AtomicBool,
    /// True if noq gets ECT(0) for arriving ECT(1).
    hides_ect1: AtomicBool,
    sent: Counts,
    received: Counts,
}

impl EcnMap {
    /// The codepoint for a datagram that leaves, in place of noq's.
    pub fn outgoing(&self, ecn: Option<EcnCodepoint>, payload: usize) -> Option<EcnCodepoint> {
        let ecn = self.leaves_as(ecn);
        self.count_sent(ecn, 1, payload);
        ecn
    }

    pub(crate) fn leaves_as(&self, ecn: Option<EcnCodepoint>) -> Option<EcnCodepoint> {
        if self.sends_not_ect.load(Ordering::Relaxed) {
            None
        } else if self.sends_ect1.load(Ordering::Relaxed) {
            Some(EcnCodepoint::Ect1)
        } else {
            ecn
        }
    }

    pub(crate) fn count_sent(&self, ecn: Option<EcnCodepoint>, datagrams: u64, payload: usize) {
        self.sent.add(ecn, datagrams, payload);
    }

    /// The codepoint for noq, in place of the one that datagrams arrived with.
    pub fn incoming(
        &self,
        ecn: Option<EcnCodepoint>,
        datagrams: u64,
        payload: usize,
    ) -> Option<EcnCodepoint> {
        self.received.add(ecn, datagrams, payload);
        let hides = ecn == Some(EcnCodepoint::Ect1) && self.hides_ect1.load(Ordering::Relaxed);
        if hides { Some(EcnCodepoint::Ect0) } else { ecn }
    }

    /// The counts of arrivals so far.
    pub(crate) fn received(&self) -> EcnCounts {
        self.received.get()
    }

    pub(crate) fn sent(&self) -> EcnCounts {
        self.sent.get()
    }

    pub(crate) fn send_ect1(&self) {
        self.sends_ect1.store(true, Ordering::Relaxed);
    }

    pub(crate) fn send_not_ect(&self) {
        self.sends_not_ect.store(true, Ordering::Relaxed);
    }

    pub(crate) fn hide_ect1(&self) {
        self.hides_ect1.store(true, Ordering::Relaxed);
    }

    /// Judges the path by the peer's counts: they cannot exceed the sent packets of a codepoint.
    pub(crate) fn judge(&self, arrived: &EcnCounts) -> L4s {
        let sent = self.sent.get();
        if arrived.not_ect > sent.not_ect {
            L4s::Bleached
        } else if arrived.ect0 > sent.ect0 {
            L4s::Remarked
        } else {
            L4s::On
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    ect1: AtomicU64,
    ce: AtomicU64,
    ect0: AtomicU64,
    not_ect: AtomicU64,
    ce_payload: AtomicU64,
}

impl Counts {
    fn add(&self, ecn: Option<EcnCodepoint>, datagrams: u64, payload: usize) {
        let counter = match ecn {
            Some(EcnCodepoint::Ect1) => &self.ect1,
            Some(EcnCodepoint::Ce) => {
                self.ce_payload.fetch_add(payload as u64, Ordering::Relaxed);
                &self.ce
            }
            Some(EcnCodepoint::Ect0) => &self.ect0,
            None => &self.not_ect,
        };
        counter.fetch_add(datagrams, Ordering::Relaxed);
    }

    fn get(&self) -> EcnCounts {
        let [ect1, ce, ect0, not_ect, ce_payload] =
            [&self.ect1, &self.ce, &self.ect0, &self.not_ect, &self.ce_payload]
                .map(|counter| counter.load(Ordering::Relaxed));
        EcnCounts { ect1, ce, ect0, not_ect, ce_payload: Bytes::new(ce_payload) }
    }
}

/// A scheme of L4S: its packets carry ECT(1).
pub(crate) fn is_l4s(scheme: &Scheme) -> bool {
    scheme.build(&ANY_FLOW).ecn() == Ecn::Ect1
}

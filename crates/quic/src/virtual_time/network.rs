//! What crosses the links, and virtual time as noq wants it.

use cellcc_link::Packet;
use cellcc_units::{Bytes, Span, Time};
use noq_proto::EcnCodepoint;
use std::time::{Duration, Instant};

/// A UDP datagram on a link.
#[derive(Debug, Clone)]
pub(super) struct Datagram {
    pub(super) flow: usize,
    pub(super) sent_at: Time,
    /// On the link, headers included.
    pub(super) bytes: Bytes,
    pub(super) ecn: Option<EcnCodepoint>,
    pub(super) payload: Vec<u8>,
}

impl Packet for Datagram {
    #[inline]
    fn size(&self) -> Bytes {
        self.bytes
    }

    fn is_ecn_capable(&self) -> bool {
        self.ecn.is_some()
    }

    fn mark_congestion(&mut self) {
        self.ecn = Some(EcnCodepoint::Ce);
    }
}

/// Virtual time on noq's clock, of which only differences count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// [`Time::ZERO`].
    pub(super) epoch: Instant,
}

impl Clock {
    #[inline]
    pub(super) fn instant(self, time: Time) -> Instant {
        self.epoch + Duration::from_nanos(time.as_nanos())
    }

    #[inline]
    pub(super) fn time(self, instant: Instant) -> Time {
        let since = instant.saturating_duration_since(self.epoch).as_nanos();
        Time::ZERO + Span::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }
}

//! Acknowledgements for the guard's tests: packets of 1500 bytes, on a path whose minimum RTT is 20 ms.

use crate::contract::{Ack, Packet};
use crate::rtt::Rtt;
use cellcc_units::{Bytes, Span, Time};

pub(super) const PACKET: Bytes = Bytes::new(1500);
pub(super) const MIN_RTT: Span = Span::from_millis(20);

pub(super) fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// An RTT whose last sample was `sample`.
pub(super) fn rtt(sample: Span) -> Rtt {
    let mut rtt = Rtt::default();
    rtt.add(MIN_RTT);
    rtt.add(sample);
    rtt
}

/// Packet `number`, which left at `sent_at`.
pub(super) fn packet(number: u64, sent_at: Time) -> Packet {
    Packet { number, sent_at, bytes: PACKET, ..Packet::default() }
}

/// `packets` are acknowledged, and after them as much more as makes `bytes`.
pub(super) fn ack<'a>(now: Time, rtt: &'a Rtt, sample: Span, packets: &'a [Packet], bytes: Bytes) -> Ack<'a> {
    Ack {
        now,
        packets,
        bytes,
        rtt,
        rtt_sample: Some(sample),
        rate: None,
        inflight_before: Bytes::ZERO,
        inflight: Bytes::ZERO,
        delivered: Bytes::ZERO,
        cwnd_limited: false,
        round: 0,
        round_start: false,
        in_recovery: false,
        ecn: None,
        packet_size: PACKET,
    }
}

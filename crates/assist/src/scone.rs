//! Throughput advice in the packet of the IETF's SCONE (draft-ietf-scone-protocol-08, as ietf-wg-scone/scone has it at a8772ea, 20
//! August 2026; not an RFC).
//!
//! A SCONE packet stands first in a datagram of QUIC, and the real packets follow it:
//!
//! | bytes | field |
//! |---|---|
//! | 0 | 1, a reserved bit, the upper six bits of the signal |
//! | 1-4 | version 0x6f7dc0fd or 0xef7dc0fd: its first bit is the signal's lowest |
//! | 5... | destination and source connection ID, each behind a byte of its length |
//!
//! The signal n says 100 kbit/s * 10^(n/20), from 100 kbit/s to 199.5 Gbit/s in steps of 12 %; 127 says nothing. A network element
//! may only lower it, and may not add packets. It is a **slow ceiling**, no congestion control: it holds for a monitoring period of
//! 67 s. So the advice is the highest report to a user in such a time, and never the link's rate at the moment.

use cellcc_units::{Rate, Span, Time};

/// How long advice holds, and is gathered.
pub const MONITORING_PERIOD: Span = Span::from_secs(67);
/// The version of the packet, without the signal's lowest bit.
const VERSION: u32 = 0x6f7d_c0fd;
/// Where that bit stands in the version.
const LOWEST_BIT: u32 = 1 << 31;
/// The first bit of a packet with a long header (RFC 8999, section 5.1).
const LONG_HEADER: u8 = 0x80;
const UPPER_BITS: u8 = 0x3f;
/// The longest connection ID that an invariant header has room for (RFC 8999, section 5.1).
const MAX_ID_BYTES: usize = 255;
/// The rate of signal 0, in bytes a second: 100 kbit/s.
const LOWEST_BYTES_PER_SEC: f64 = 12_500.0;

/// The content of a SCONE packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signal(u8);

impl Signal {
    /// No advice: endpoints send this.
    pub const UNKNOWN: Self = Self(127);

    /// The highest rate that is not above this one; below 100 kbit/s there is none lower to say.
    pub fn at_most(rate: Rate) -> Self {
        let fits = |signal: &u8| Self(*signal).rate().is_some_and(|said| said <= rate);
        Self((0..127).rev().find(fits).unwrap_or(0))
    }

    /// The rate; `None`: unknown.
    pub fn rate(self) -> Option<Rate> {
        let bytes = LOWEST_BYTES_PER_SEC * libm::pow(10.0, f64::from(self.0) / 20.0);
        (self != Self::UNKNOWN).then(|| Rate::from_bytes_per_sec(libm::round(bytes) as u64))
    }

    /// The number on the wire, 0 to 127.
    pub fn number(self) -> u8 {
        self.0
    }
}

/// A packet that says this to the connection with these IDs; `None` where an ID has more than 255 bytes.
pub fn packet(signal: Signal, destination: &[u8], source: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 5];
    write_signal(&mut bytes, signal);
    for id in [destination, source] {
        bytes.push(u8::try_from(id.len()).ok()?);
        bytes.extend(id);
    }
    Some(bytes)
}

/// The signal of the SCONE packet at the beginning of a datagram, and its length; `None` where there is none.
pub fn read(datagram: &[u8]) -> Option<(Signal, usize)> {
    let (&[first, a, b, c, d], rest) = datagram.split_first_chunk()?;
    let version = u32::from_be_bytes([a, b, c, d]);
    if first & LONG_HEADER == 0 || version & !LOWEST_BIT != VERSION {
        return None;
    }
    let after = |rest: &[u8]| {
        let length = usize::from(*rest.first()?);
        (rest.len() > length && length <= MAX_ID_BYTES).then_some(1 + length)
    };
    let destination = after(rest)?;
    let source = after(&rest[destination..])?;
    Some((Signal((first & UPPER_BITS) << 1 | (version >> 31) as u8), 5 + destination + source))
}

/// Lowers the signal of the SCONE packet at the beginning of a datagram, if it is higher or unknown. True where it was changed:
/// then the UDP checksum has to be made again.
pub fn lower(datagram: &mut [u8], ceiling: Signal) -> bool {
    let is_lower = read(datagram).is_some_and(|(signal, _)| ceiling < signal);
    if is_lower {
        write_signal(datagram, ceiling);
    }
    is_lower
}

fn write_signal(bytes: &mut [u8], signal: Signal) {
    let version = VERSION | u32::from(signal.0 & 1) << 31;
    // The reserved bit stays as it is.
    bytes[0] = bytes[0] & !UPPER_BITS | LONG_HEADER | signal.0 >> 1;
    bytes[1..5].copy_from_slice(&version.to_be_bytes());
}

/// The most that was reported to a user in the present and the last monitoring period.
#[derive(Debug, Clone, Copy, Default)]
pub struct SlowCeiling {
    began: Time,
    before: Rate,
    present: Rate,
}

impl SlowCeiling {
    /// This was reported to the user.
    pub fn reported(&mut self, now: Time, rate: Rate) {
        match now.since(self.began).as_nanos() / MONITORING_PERIOD.as_nanos() {
            0 => {}
            1 => *self = Self { began: now, before: self.present, present: Rate::ZERO },
            _ => *self = Self { began: now, ..Self::default() },
        }
        self.present = self.present.max(rate);
    }

    /// The advice; [`Signal::UNKNOWN`] while nothing was reported.
    pub fn signal(&self) -> Signal {
        let most = self.before.max(self.present);
        if most.is_zero() { Signal::UNKNOWN } else { Signal::at_most(most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mbit(rate: f64) -> Rate {
        Rate::from_mbit_per_sec(rate)
    }

    #[test]
    fn a_signal_is_a_rate_in_steps_of_a_twentieth_of_a_decade() {
        assert_eq!(Signal::at_most(mbit(0.1)).number(), 0);
        assert_eq!(Signal::at_most(mbit(1.0)).number(), 20);
        assert_eq!(Signal::at_most(mbit(100.0)).number(), 60);
        assert_eq!(Signal::at_most(mbit(99.9)).number(), 59, "no more than there is");
        assert_eq!(Signal::at_most(Rate::ZERO).number(), 0, "the least that can be said");
        let highest = Signal::at_most(Rate::MAX).rate().expect("a rate");
        assert!((highest.as_mbit_per_sec() - 199_526.2).abs() < 0.1, "199.5 Gbit/s: {highest}");
        assert_eq!(Signal::UNKNOWN.rate(), None);
    }

    #[test]
    fn a_packet_is_laid_out_as_the_table_says() {
        // 61 = 0b0111101: the upper six bits are 30, the lowest 1.
        let bytes = packet(Signal(61), &[1, 2], &[3]).unwrap();
        assert_eq!(bytes, [0x80 | 30, 0xef, 0x7d, 0xc0, 0xfd, 2, 1, 2, 1, 3]);
        assert_eq!(packet(Signal(60), &[], &[]).unwrap()[..5], [0x80 | 30, 0x6f, 0x7d, 0xc0, 0xfd]);
        assert_eq!(packet(Signal(0), &[0; 256], &[]), None);
    }

    #[test]
    fn a_network_element_only_lowers() {
        let mut datagram = packet(Signal::UNKNOWN, &[1; 8], &[2; 8]).unwrap();
        datagram.extend([0xc3; 100]);
        assert!(lower(&mut datagram, Signal(61)));
        assert_eq!(read(&datagram), Some((Signal(61), 23)));
        assert!(!lower(&mut datagram, Signal(80)) && !lower(&mut datagram, Signal(61)));
        assert_eq!(read(&datagram), Some((Signal(61), 23)));
        assert_eq!(datagram[23..], [0xc3; 100], "the rest is not ours");
        let mut initial = [0xc3, 0, 0, 0, 1, 0, 0];
        assert!(!lower(&mut initial, Signal(0)) && initial == [0xc3, 0, 0, 0, 1, 0, 0], "a real packet");
    }

    #[test]
    fn the_ceiling_is_the_most_of_two_periods_and_not_the_rate_of_the_moment() {
        let mut ceiling = SlowCeiling::default();
        assert_eq!(ceiling.signal(), Signal::UNKNOWN);
        let second = |second| Time::ZERO + Span::from_secs(second);
        ceiling.reported(second(1), mbit(100.0));
        ceiling.reported(second(60), mbit(1.0));
        assert_eq!(ceiling.signal(), Signal(60));
        ceiling.reported(second(70), mbit(1.0));
        assert_eq!(ceiling.signal(), Signal(60), "of the last period");
        ceiling.reported(second(140), mbit(1.0));
        assert_eq!(ceiling.signal(), Signal(20));
        ceiling.reported(second(1000), mbit(10.0));
        assert_eq!(ceiling.signal(), Signal(40), "after a pause nothing of before");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number in 0_u8..128, ids in prop::array::uniform2(prop::collection::vec(any::<u8>(), 0..256))) {
            let bytes = packet(Signal(number), &ids[0], &ids[1]).expect("short IDs");
            prop_assert_eq!(read(&bytes), Some((Signal(number), bytes.len())));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..40), nearly in any::<bool>()) {
            if nearly && bytes.len() > 5 {
                bytes[..5].copy_from_slice(&[0xc0, 0x6f, 0x7d, 0xc0, 0xfd]);
            }
            let before = bytes.clone();
            let changed = lower(&mut bytes, Signal(3));
            prop_assert_eq!(changed, bytes != before);
        }
    }
}

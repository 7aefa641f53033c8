//! One report on the wire: exactly 64 bytes (the size that the NATCP paper's section 2.4 reckons with), little endian.
//!
//! | bytes | field | unit |
//! |---|---|---|
//! | 0 | version, 1 | |
//! | 1 | flags: bits 0-1 class, 2 handover, 3 stale, 4 first; others zero | |
//! | 2-3 | measured period | ms |
//! | 4-7 | sequence number | |
//! | 8-15 | end of the measured period, on the reporter's clock | us |
//! | 16-31 | the user: an IPv6 address, a mapped IPv4 one, or an opaque token | |
//! | 32-35, 36-39 | bandwidth downlink, uplink | kbit/s |
//! | 40-43, 44-47, 48-51 | minimum RTT: network, downlink, uplink; all three zero where it is not known | us |
//! | 52-55 | the user's downlink queue | B |
//! | 56-57 | how long the report is valid | ms |
//! | 58-59 | the user's active flows, at least one | |
//! | 60-63 | counts the cells the user has been in | |

use bytes::{Buf, BufMut};
use cellcc_control::{AdviceClass, MinRttParts};
use cellcc_units::{Bytes, Rate, Span, Time};

const VERSION: u8 = 1;
const CLASS_MASK: u8 = 0b11;
const HANDOVER: u8 = 1 << 2;
const STALE: u8 = 1 << 3;
const FIRST: u8 = 1 << 4;
/// 1 kbit/s.
const BYTES_PER_SEC_PER_KBIT: u64 = 125;
const NANOS_PER_MICRO: u64 = 1_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// One report about one user. The wire is coarser than these types: values are rounded to its units and stop at their largest
/// values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdviceRecord {
    /// How far the downlink bandwidth can be trusted.
    pub class: AdviceClass,
    /// The user has changed its cell: nothing from before holds.
    pub handover: bool,
    /// The source of the measurements is late; the values are old ones.
    pub stale: bool,
    /// The first report about this user.
    pub first: bool,
    /// How long the measured period was. On the wire in whole ms, up to 65 s.
    pub period: Span,
    /// Counts the reports about this user, and wraps.
    pub sequence: u32,
    /// When the measured period ended, on the reporter's clock. In whole us.
    pub measured_until: Time,
    /// The identity of the user: an IPv6 address, a mapped IPv4 address, or an opaque token.
    pub user: [u8; 16],
    /// Bandwidth towards the user. In whole kbit/s, and at least one where it is not zero.
    pub downlink: Rate,
    /// Bandwidth from the user, likewise.
    pub uplink: Rate,
    /// The minimum RTT, where it is known. In whole us; parts that are all below one are not known.
    pub min_rtt: Option<MinRttParts>,
    /// The user's queue at the base station; up to 4 GB.
    pub backlog: Bytes,
    /// How long the report may be used after `measured_until`. In whole ms.
    pub valid_for: Span,
    /// The user's active flows; at least one.
    pub flows: u16,
    /// Counts the cells the user has been in, and wraps.
    pub cell_epoch: u32,
}

impl AdviceRecord {
    /// Bytes of a record on the wire.
    pub const SIZE: usize = 64;

    /// A report for examples and tests: a link of 12 Mbit/s, measured in the first 50 ms.
    pub const EXAMPLE: Self = Self {
        class: AdviceClass::Backlogged,
        handover: false,
        stale: false,
        first: false,
        period: Span::from_millis(50),
        sequence: 1,
        measured_until: Time::from_nanos(50_000_000),
        user: [1; 16],
        downlink: Rate::from_bytes_per_sec(1_500_000),
        uplink: Rate::from_bytes_per_sec(375_000),
        min_rtt: Some(MinRttParts {
            network: Span::from_millis(10),
            downlink: Span::from_millis(1),
            uplink: Span::from_micros(250),
        }),
        backlog: Bytes::new(4500),
        valid_for: Span::from_millis(150),
        flows: 2,
        cell_epoch: 3,
    };

    /// The record on the wire.
    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let mut out = &mut bytes[..];
        out.put_slice(&[VERSION, self.flags()]);
        out.put_u16_le(as_u16(self.period.as_nanos() / NANOS_PER_MILLI));
        out.put_u32_le(self.sequence);
        out.put_u64_le(self.measured_until.as_nanos() / NANOS_PER_MICRO);
        out.put_slice(&self.user);
        out.put_u32_le(kbit_per_sec(self.downlink));
        out.put_u32_le(kbit_per_sec(self.uplink));
        let min_rtt = self.min_rtt.unwrap_or_default();
        for part in [min_rtt.network, min_rtt.downlink, min_rtt.uplink] {
            out.put_u32_le(as_u32(part.as_nanos() / NANOS_PER_MICRO));
        }
        out.put_u32_le(as_u32(self.backlog.get()));
        out.put_u16_le(as_u16(self.valid_for.as_nanos() / NANOS_PER_MILLI));
        out.put_u16_le(self.flows.max(1));
        out.put_u32_le(self.cell_epoch);
        bytes
    }

    /// Reads a record; `None` for bytes that [`encode`](Self::encode) would not have written.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest: &[u8] = Some(bytes).filter(|bytes| bytes.len() == Self::SIZE)?;
        if rest.get_u8() != VERSION {
            return None;
        }
        let flags = rest.get_u8();
        let class = match flags & CLASS_MASK {
            0 => AdviceClass::Backlogged,
            1 => AdviceClass::Partial,
            2 => AdviceClass::Idle,
            _ => return None,
        };
        if flags & !(CLASS_MASK | HANDOVER | STALE | FIRST) != 0 {
            return None;
        }
        let record = Self {
            class,
            handover: flags & HANDOVER != 0,
            stale: flags & STALE != 0,
            first: flags & FIRST != 0,
            period: Span::from_millis(rest.get_u16_le().into()),
            sequence: rest.get_u32_le(),
            measured_until: Time::from_nanos(rest.get_u64_le().checked_mul(NANOS_PER_MICRO)?),
            user: rest.get_u128().to_be_bytes(),
            downlink: rate(rest.get_u32_le()),
            uplink: rate(rest.get_u32_le()),
            min_rtt: min_rtt([rest.get_u32_le(), rest.get_u32_le(), rest.get_u32_le()]),
            backlog: Bytes::new(rest.get_u32_le().into()),
            valid_for: Span::from_millis(rest.get_u16_le().into()),
            flows: rest.get_u16_le(),
            cell_epoch: rest.get_u32_le(),
        };
        Some(record).filter(|record| record.flows > 0)
    }

    fn flags(&self) -> u8 {
        let class = match self.class {
            AdviceClass::Backlogged => 0,
            AdviceClass::Partial => 1,
            AdviceClass::Idle => 2,
        };
        let flag = |set, bit| if set { bit } else { 0 };
        class | flag(self.handover, HANDOVER) | flag(self.stale, STALE) | flag(self.first, FIRST)
    }
}

fn min_rtt(micros: [u32; 3]) -> Option<MinRttParts> {
    let [network, downlink, uplink] = micros.map(|micros| Span::from_micros(micros.into()));
    MinRttParts { network, downlink, uplink }.known()
}

fn as_u16(value: u64) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

fn as_u32(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// A link that carries anything is never reported as one that carries nothing.
fn kbit_per_sec(rate: Rate) -> u32 {
    let kbit = rate.as_bytes_per_sec() / BYTES_PER_SEC_PER_KBIT;
    as_u32(kbit.max(u64::from(!rate.is_zero())))
}

fn rate(kbit_per_sec: u32) -> Rate {
    Rate::from_bytes_per_sec(u64::from(kbit_per_sec) * BYTES_PER_SEC_PER_KBIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn example() -> AdviceRecord {
        AdviceRecord {
            class: AdviceClass::Partial,
            handover: true,
            first: true,
            sequence: 7,
            measured_until: Time::from_nanos(1_000_000_000),
            user: [0x20; 16],
            ..AdviceRecord::EXAMPLE
        }
    }

    #[test]
    fn a_record_is_laid_out_as_the_table_says() {
        let bytes = example().encode();
        assert_eq!(bytes[..8], [1, 0b0001_0101, 50, 0, 7, 0, 0, 0]);
        assert_eq!(bytes[8..16], 1_000_000u64.to_le_bytes());
        assert_eq!(bytes[16..32], [0x20; 16]);
        assert_eq!(bytes[32..36], 12_000u32.to_le_bytes());
        assert_eq!(bytes[36..40], 3_000u32.to_le_bytes());
        assert_eq!(bytes[40..44], 10_000u32.to_le_bytes());
        assert_eq!(bytes[44..48], 1_000u32.to_le_bytes());
        assert_eq!(bytes[48..52], 250u32.to_le_bytes());
        assert_eq!(bytes[52..56], 4_500u32.to_le_bytes());
        assert_eq!(bytes[56..], [150, 0, 2, 0, 3, 0, 0, 0]);
        assert_eq!(AdviceRecord::decode(&bytes), Some(example()));
    }

    #[test]
    fn what_is_not_a_record_is_refused() {
        let with = |at: usize, byte: u8| {
            let mut bytes = example().encode();
            bytes[at] = byte;
            AdviceRecord::decode(&bytes)
        };
        assert_eq!(AdviceRecord::decode(&[1; 63]), None);
        assert_eq!(AdviceRecord::decode(&[1; 65]), None);
        assert_eq!(with(0, 2), None);
        assert_eq!(with(1, 3), None);
        assert_eq!(with(1, 0x80), None);
        assert_eq!(with(15, 0xff), None);
        assert_eq!(with(58, 0), None);
    }

    #[test]
    fn what_does_not_fit_stops_at_the_largest_value() {
        let extreme = AdviceRecord {
            period: Span::MAX,
            downlink: Rate::MAX,
            uplink: Rate::from_bytes_per_sec(1),
            backlog: Bytes::MAX,
            flows: 0,
            ..example()
        };
        let read = AdviceRecord::decode(&extreme.encode()).expect("well formed");
        assert_eq!(read.period, Span::from_millis(65_535));
        assert_eq!(read.downlink.as_mbit_per_sec(), 4_294_967.295);
        assert_eq!(read.uplink.as_mbit_per_sec(), 0.001, "a slow link is not a dead one");
        assert_eq!(read.backlog, Bytes::new(u32::MAX.into()));
        assert_eq!(read.flows, 1);
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_again_byte_for_byte(
            body in prop::array::uniform32(any::<u8>()),
            user in prop::array::uniform16(any::<u8>()),
            flags in (0u8..3, any::<[bool; 3]>()),
            micros in 0u64..u64::MAX / 1000,
        ) {
            let (class, [handover, stale, first]) = flags;
            let mut bytes = [0; AdviceRecord::SIZE];
            bytes[32..].copy_from_slice(&body);
            bytes[16..32].copy_from_slice(&user);
            bytes[8..16].copy_from_slice(&micros.to_le_bytes());
            bytes[2..8].copy_from_slice(&body[..6]);
            bytes[0] = 1;
            bytes[1] = class | u8::from(handover) << 2 | u8::from(stale) << 3 | u8::from(first) << 4;
            bytes[58] |= 1;
            let record = AdviceRecord::decode(&bytes).expect("well formed");
            prop_assert_eq!(record.encode(), bytes);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..130)) {
            let _ = AdviceRecord::decode(&bytes);
        }

        #[test]
        fn nearly_right_bytes_do_not_either(mut bytes in prop::collection::vec(any::<u8>(), 64..65), flags in 0u8..32) {
            bytes[0] = 1;
            bytes[1] = flags;
            if let Some(record) = AdviceRecord::decode(&bytes) {
                prop_assert_eq!(&record.encode()[..], &bytes[..]);
            }
        }
    }
}

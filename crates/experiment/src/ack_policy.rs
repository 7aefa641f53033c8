//! A receiver's acknowledgement policy in a Scenario.

use cellcc_units::{Bytes, ParseError, Parts, Span, deserialize_text, name_and_parts};
use std::fmt;
use std::str::FromStr;

/// A receiver's acknowledgement policy, as it is written:
///
/// | text | policy |
/// |---|---|
/// | `every-packet` | acknowledges each packet at once |
/// | `delayed(min=40ms, max=200ms, quick-acks=16)` | TCP's way, as Linux does it; each part may be left out |
/// | `quic(threshold=1, max-ack-delay=25ms, reordering=1)` | QUIC's way (RFC 9000, section 13.2), with the parameters of draft-ietf-quic-ack-frequency; each part may be left out |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckPolicy {
    /// TCP's delayed acknowledgements.
    Delayed(DelayedAcks),
    /// QUIC's.
    Quic(AckFrequency),
}

/// Delayed acknowledgements as in Linux (`__tcp_ack_snd_check` in tcp_input.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAcks {
    /// The shortest delayed-ACK timer (`TCP_DELACK_MIN`).
    pub min: Span,
    /// The longest one (`TCP_DELACK_MAX`).
    pub max: Span,
    /// Number of acknowledgements without delay at the start, and after a segment that came twice (`TCP_MAX_QUICKACKS`).
    pub quick_acks: u32,
}

/// QUIC's acknowledgements, in the words of draft-ietf-quic-ack-frequency, section 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckFrequency {
    /// Packets that may arrive without an immediate acknowledgement (Ack-Eliciting Threshold).
    pub threshold: u32,
    /// The longest an acknowledgement waits (Requested Max Ack Delay).
    pub max_ack_delay: Span,
    /// Packets after a gap that cause an immediate acknowledgement; 0: none does (Reordering Threshold).
    pub reordering: u32,
}

impl AckPolicy {
    /// Each packet is acknowledged at once.
    pub const EVERY_PACKET: Self = Self::Quic(AckFrequency { threshold: 0, ..AckFrequency::DEFAULT });

    /// The longest an acknowledgement waits for more packets.
    pub fn max_delay(&self) -> Span {
        match self {
            Self::Delayed(delayed) => delayed.max,
            Self::Quic(AckFrequency { threshold: 0, .. }) => Span::ZERO,
            Self::Quic(quic) => quic.max_ack_delay,
        }
    }

    /// True where an acknowledgement says how long it waited, so that the sender can take that off the RTT (RFC 9000, section
    /// 13.2.5). TCP's does not.
    pub fn tells_delay(&self) -> bool {
        matches!(self, Self::Quic(_))
    }
}

impl DelayedAcks {
    /// Linux 6.18, tcp.h: `TCP_DELACK_MIN`, `TCP_DELACK_MAX`, `TCP_MAX_QUICKACKS`.
    pub const DEFAULT: Self =
        Self { min: Span::from_millis(40), max: Span::from_millis(200), quick_acks: 16 };
}

impl AckFrequency {
    /// Every second packet, within 25 ms, a gap at once (RFC 9000, sections 13.2.1, 13.2.2 and 18.2).
    pub const DEFAULT: Self = Self { threshold: 1, max_ack_delay: Span::from_millis(25), reordering: 1 };
}

/// Largest values that a sender may request: more than a thousand packets or ten seconds is a slip of the keyboard.
const MOST_PACKETS: u32 = 1_000;
const LONGEST_DELAY: Span = Span::from_secs(10);

const EXPECTED: &str = "a way to acknowledge: `every-packet`, `delayed(min=40ms, max=200ms, quick-acks=16)` or \
                        `quic(threshold=1, max-ack-delay=25ms, reordering=1)`";
const OF_DELAYED: &str = "a part of `delayed`, which takes `min=40ms`, `max=200ms` (at most 10s, not below `min`) and \
                          `quick-acks=16` (at most 1000), each at most once";
const OF_QUIC: &str = "a part of `quic`, which takes `threshold=1` (at most 1000), `max-ack-delay=25ms` (at most 10s) and \
                       `reordering=1` (at most 1000), each at most once";

impl FromStr for AckPolicy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::new(text, EXPECTED);
        match name_and_parts(text).ok_or_else(refused)? {
            ("every-packet", "") => Ok(Self::EVERY_PACKET),
            ("delayed", inside) => delayed(inside).map(Self::Delayed),
            ("quic", inside) => quic(inside).map(Self::Quic),
            _ => Err(refused()),
        }
    }
}

fn delayed(inside: &str) -> Result<DelayedAcks, ParseError> {
    let mut parts = Parts::new(inside, OF_DELAYED)?;
    let usual = DelayedAcks::DEFAULT;
    let min = parts.take("min")?.unwrap_or(usual.min);
    let max = parts.take("max")?.unwrap_or(usual.max.max(min));
    let quick_acks = parts.take("quick-acks")?.unwrap_or(usual.quick_acks);
    parts.end()?;
    match min <= max && max <= LONGEST_DELAY && quick_acks <= MOST_PACKETS {
        true => Ok(DelayedAcks { min, max, quick_acks }),
        false => Err(ParseError::new(inside, OF_DELAYED)),
    }
}

fn quic(inside: &str) -> Result<AckFrequency, ParseError> {
    let mut parts = Parts::new(inside, OF_QUIC)?;
    let usual = AckFrequency::DEFAULT;
    let threshold = parts.take("threshold")?.unwrap_or(usual.threshold);
    let max_ack_delay = parts.take("max-ack-delay")?.unwrap_or(usual.max_ack_delay);
    let reordering = parts.take("reordering")?.unwrap_or(usual.reordering);
    parts.end()?;
    match threshold <= MOST_PACKETS && max_ack_delay <= LONGEST_DELAY && reordering <= MOST_PACKETS {
        true => Ok(AckFrequency { threshold, max_ack_delay, reordering }),
        false => Err(ParseError::new(inside, OF_QUIC)),
    }
}

impl fmt::Display for AckPolicy {
    /// The shortest text that reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |differs: bool, text: String| differs.then_some(text);
        let (name, parts) = match *self {
            Self::EVERY_PACKET => ("every-packet", [None, None, None]),
            Self::Delayed(DelayedAcks { min, max, quick_acks }) => {
                let usual = DelayedAcks::DEFAULT;
                let parts = [
                    part(min != usual.min, format!("min={min}")),
                    part(max != usual.max.max(min), format!("max={max}")),
                    part(quick_acks != usual.quick_acks, format!("quick-acks={quick_acks}")),
                ];
                ("delayed", parts)
            }
            Self::Quic(AckFrequency { threshold, max_ack_delay, reordering }) => {
                let usual = AckFrequency::DEFAULT;
                let parts = [
                    part(threshold != usual.threshold, format!("threshold={threshold}")),
                    part(max_ack_delay != usual.max_ack_delay, format!("max-ack-delay={max_ack_delay}")),
                    part(reordering != usual.reordering, format!("reordering={reordering}")),
                ];
                ("quic", parts)
            }
        };
        write_with_parts(f, name, parts)
    }
}

/// Receive offload, as it is written: `gro(flush=0s, max=64kB)`; each part may be left out.
///
/// The network card's driver hands packets that come one right after the other to TCP or QUIC as one, which acknowledges them as
/// one (Linux, `dev_gro_receive` in gro.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveOffload {
    /// Time after the first packet in which others may join it (`gro_flush_timeout`, plus the card's delay before its interrupt);
    /// zero: only those that arrive at the same instant.
    pub flush: Span,
    /// The most bytes that are handed over as one (`gro_max_size`).
    pub max: Bytes,
}

impl ReceiveOffload {
    /// Linux: `gro_flush_timeout` is 0, `GRO_LEGACY_MAX_SIZE` in netdevice.h 65536.
    pub const DEFAULT: Self = Self { flush: Span::ZERO, max: Bytes::new(65_536) };
}

const EXPECTED_OFFLOAD: &str = "receive offload: `gro(flush=0s, max=65536B)`";
const OF_GRO: &str =
    "a part of `gro`, which takes `flush=0s` (at most 10s) and `max=65536B`, each at most once";

impl FromStr for ReceiveOffload {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let Some(("gro", inside)) = name_and_parts(text) else {
            return Err(ParseError::new(text, EXPECTED_OFFLOAD));
        };
        let mut parts = Parts::new(inside, OF_GRO)?;
        let flush = parts.take("flush")?.unwrap_or(Self::DEFAULT.flush);
        let max = parts.take("max")?.unwrap_or(Self::DEFAULT.max);
        parts.end()?;
        match flush <= LONGEST_DELAY {
            true => Ok(Self { flush, max }),
            false => Err(ParseError::new(inside, OF_GRO)),
        }
    }
}

impl fmt::Display for ReceiveOffload {
    /// The shortest text that reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flush, max } = *self;
        let usual = Self::DEFAULT;
        let parts = [
            (flush != usual.flush).then(|| format!("flush={flush}")),
            (max != usual.max).then(|| format!("max={max}")),
        ];
        write_with_parts(f, "gro", parts)
    }
}

fn write_with_parts(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    parts: impl IntoIterator<Item = Option<String>>,
) -> fmt::Result {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => f.pad(name),
        false => f.pad(&format!("{name}({})", parts.join(", "))),
    }
}

impl serde::Serialize for AckPolicy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for AckPolicy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, EXPECTED)
    }
}

impl serde::Serialize for ReceiveOffload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for ReceiveOffload {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer, EXPECTED_OFFLOAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_in_its_shortest_form() {
        for (text, shortest) in [
            ("every-packet", "every-packet"),
            ("delayed()", "delayed"),
            ("delayed(quick-acks=0, min=40ms)", "delayed(quick-acks=0)"),
            ("delayed(min=300ms)", "delayed(min=300ms)"),
            ("quic(threshold=1)", "quic"),
            ("quic( threshold = 10, max-ack-delay=100ms )", "quic(threshold=10, max-ack-delay=100ms)"),
            ("quic(threshold=0)", "every-packet"),
        ] {
            let policy: AckPolicy = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(policy.to_string(), shortest);
            assert_eq!(shortest.parse(), Ok(policy));
        }
        for (text, shortest) in [("gro()", "gro"), ("gro(max=16kB, flush=1ms)", "gro(flush=1ms, max=16kB)")] {
            let offload: ReceiveOffload = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((offload.to_string().as_str(), shortest.parse()), (shortest, Ok(offload)));
        }
    }

    #[test]
    fn what_no_receiver_does_is_refused() {
        for text in [
            "",
            "every-packet(2)",
            "delayed(min=300ms, max=200ms)",
            "delayed(max=11s)",
            "delayed(quick-acks=-1)",
            "quic(threshold=1001)",
            "quic(max-ack-delay=25)",
            "quic(threshold=1, threshold=2)",
            "quic(threshold=1",
        ] {
            assert!(text.parse::<AckPolicy>().is_err(), "{text}");
        }
        assert!("gro(flush=1h)".parse::<ReceiveOffload>().is_err());
        assert!("lro".parse::<ReceiveOffload>().is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "(delayed|quic|gro)?\\(?\\PC*") {
            let _ = (text.parse::<AckPolicy>(), text.parse::<ReceiveOffload>());
        }
    }
}

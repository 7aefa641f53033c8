//! RBBR's two messages as bytes, in the style of QUIC frames (RFC 9000, section 12.4): a type, flags, then integers of
//! variable length (section 16). The paper's frame is a type of 8 bits and a value of 8 bytes, with the rate's unit
//! not given; ours says more, and mostly in fewer bytes.
//!
//! ```text
//! RATE_FEEDBACK  0x5bb4 | flags u8 | sequence | interval, us | bytes received | [rate, bytes/s] | [burst, bytes]
//! RATE_SIGNAL    0x5bb5 | flags u8 | epoch
//! ```
//! Flags of RATE_FEEDBACK: 1 there is a rate, 2 frozen, 4 there is a burst. Of RATE_SIGNAL: 1 suspend, 2 raise only.
//! Flags that are not named are zero. Integers above 2^62 - 1 are sent as that.

use crate::receiver::{Estimation, RateFeedback, Signal};
use cellcc_units::{Bytes, Rate, Span};
use thiserror::Error;

/// From the range of frame types that nobody has registered.
const RATE_FEEDBACK: u64 = 0x5bb4;
const RATE_SIGNAL: u64 = 0x5bb5;

const HAS_RATE: u8 = 1;
const FROZEN: u8 = 2;
const HAS_BURST: u8 = 4;
const SUSPEND: u8 = 1;
const RAISE_ONLY: u8 = 2;

/// The largest integer of variable length (RFC 9000, section 16).
const LARGEST: u64 = (1 << 62) - 1;
const NANOS_PER_MICRO: u64 = 1000;

/// What RBBR's halves send each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RbbrMessage {
    /// From the receiver, with an acknowledgement.
    Feedback(RateFeedback),
    /// From the sender, with data.
    Signal(Signal),
}

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WireError {
    /// They end within a message.
    #[error("the RBBR message ends after {length} bytes, within its {field}")]
    Truncated {
        /// How many bytes there were.
        length: usize,
        /// The field that is cut short or missing.
        field: &'static str,
    },
    /// Another type of frame, or one that is not in its shortest form (RFC 9000, section 12.4).
    #[error(
        "{found:#x} is not the type of an RBBR message in its shortest form; those are 0x5bb4 and 0x5bb5"
    )]
    UnknownType {
        /// The type found.
        found: u64,
    },
    /// A flag that has no meaning, or two that exclude each other.
    #[error("the flags {found:#04x} have no meaning in an RBBR message of type {kind:#x}")]
    BadFlags {
        /// The type of the message.
        kind: u64,
        /// The flags found.
        found: u8,
    },
    /// A number that its field does not hold.
    #[error("{found} is too large for the {field} of an RBBR message")]
    OutOfRange {
        /// The number found.
        found: u64,
        /// The field.
        field: &'static str,
    },
}

impl RbbrMessage {
    /// Appends the message to `bytes`.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Feedback(feedback) => {
                put_integer(bytes, RATE_FEEDBACK);
                bytes.push(feedback_flags(feedback));
                feedback_integers(feedback).for_each(|value| put_integer(bytes, value));
            }
            Self::Signal(signal) => {
                put_integer(bytes, RATE_SIGNAL);
                bytes.push(match signal.estimation {
                    Estimation::Run => 0,
                    Estimation::RaiseOnly => RAISE_ONLY,
                    Estimation::Suspend => SUSPEND,
                });
                put_integer(bytes, signal.epoch.into());
            }
        }
    }

    /// Reads a message from the beginning of `bytes`, and gives what follows it.
    ///
    /// # Errors
    /// Bytes that end early, another type, flags or numbers without meaning.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader { all: bytes.len(), rest: bytes };
        let kind = reader.integer("type")?;
        let is_shortest = bytes.len() - reader.rest.len() == integer_size(kind);
        let message = match kind {
            RATE_FEEDBACK if is_shortest => Self::Feedback(reader.feedback()?),
            RATE_SIGNAL if is_shortest => Self::Signal(reader.signal()?),
            found => return Err(WireError::UnknownType { found }),
        };
        Ok((message, reader.rest))
    }

    /// How many bytes [`encode`](Self::encode) appends.
    pub fn wire_size(&self) -> Bytes {
        let (kind, integers) = match self {
            Self::Feedback(feedback) => {
                (RATE_FEEDBACK, feedback_integers(feedback).map(integer_size).sum::<usize>())
            }
            Self::Signal(signal) => (RATE_SIGNAL, integer_size(signal.epoch.into())),
        };
        Bytes::new((integer_size(kind) + 1 + integers) as u64)
    }
}

fn feedback_flags(feedback: &RateFeedback) -> u8 {
    let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
    flag(feedback.rate.is_some(), HAS_RATE)
        | flag(feedback.frozen, FROZEN)
        | flag(!feedback.burst.is_zero(), HAS_BURST)
}

fn feedback_integers(feedback: &RateFeedback) -> impl Iterator<Item = u64> {
    let always = [feedback.sequence, feedback.interval.as_nanos() / NANOS_PER_MICRO, feedback.received.get()];
    let rate = feedback.rate.map(Rate::as_bytes_per_sec);
    let burst = Some(feedback.burst.get()).filter(|&burst| burst > 0);
    always.into_iter().chain(rate).chain(burst)
}

fn integer_size(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

fn put_integer(bytes: &mut Vec<u8>, value: u64) {
    let value = value.min(LARGEST);
    let size = integer_size(value);
    // The two highest bits are the logarithm of the size.
    let marked = value | u64::from(size.trailing_zeros()) << (8 * size - 2);
    bytes.extend_from_slice(&marked.to_be_bytes()[8 - size..]);
}

/// The reader of a QUIC library would be one dependency of all schemes, for these integers.
struct Reader<'a> {
    all: usize,
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take(&mut self, count: usize, field: &'static str) -> Result<&[u8], WireError> {
        let truncated = WireError::Truncated { length: self.all, field };
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self, field: &'static str) -> Result<u8, WireError> {
        self.take(1, field).map(|bytes| bytes[0])
    }

    fn integer(&mut self, field: &'static str) -> Result<u64, WireError> {
        let first = self.byte(field)?;
        let more = (1 << (first >> 6)) - 1;
        let begin = u64::from(first & 0x3f);
        let bytes = self.take(more, field)?;
        Ok(bytes.iter().fold(begin, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn flags(&mut self, kind: u64, known: u8) -> Result<u8, WireError> {
        let found = self.byte("flags")?;
        if found & !known == 0 { Ok(found) } else { Err(WireError::BadFlags { kind, found }) }
    }

    fn feedback(&mut self) -> Result<RateFeedback, WireError> {
        let flags = self.flags(RATE_FEEDBACK, HAS_RATE | FROZEN | HAS_BURST)?;
        let has = |flag| flags & flag != 0;
        Ok(RateFeedback {
            sequence: self.integer("sequence")?,
            interval: {
                let found = self.integer("interval")?;
                let nanos = found
                    .checked_mul(NANOS_PER_MICRO)
                    .ok_or(WireError::OutOfRange { found, field: "interval" })?;
                Span::from_nanos(nanos)
            },
            received: Bytes::new(self.integer("bytes received")?),
            rate: if has(HAS_RATE) { Some(Rate::from_bytes_per_sec(self.integer("rate")?)) } else { None },
            frozen: has(FROZEN),
            burst: if has(HAS_BURST) { Bytes::new(self.integer("burst")?) } else { Bytes::ZERO },
        })
    }

    fn signal(&mut self) -> Result<Signal, WireError> {
        let estimation = match self.flags(RATE_SIGNAL, SUSPEND | RAISE_ONLY)? {
            0 => Estimation::Run,
            SUSPEND => Estimation::Suspend,
            RAISE_ONLY => Estimation::RaiseOnly,
            found => return Err(WireError::BadFlags { kind: RATE_SIGNAL, found }),
        };
        let found = self.integer("epoch")?;
        let epoch = u32::try_from(found).map_err(|_| WireError::OutOfRange { found, field: "epoch" })?;
        Ok(Signal { estimation, epoch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message() -> impl Strategy<Value = RbbrMessage> {
        // Every length of integer is as likely.
        let integer =
            || prop_oneof![0u64..0x40, 0x40u64..0x4000, 0x4000u64..0x4000_0000, 0x4000_0000u64..=LARGEST];
        let micros = integer().prop_map(|micros| micros.min(u64::MAX / NANOS_PER_MICRO));
        let feedback = (integer(), micros, integer(), prop::option::of(integer()), any::<bool>(), integer())
            .prop_map(|(sequence, micros, received, rate, frozen, burst)| RateFeedback {
                sequence,
                rate: rate.map(Rate::from_bytes_per_sec),
                interval: Span::from_micros(micros),
                received: Bytes::new(received),
                frozen,
                burst: Bytes::new(burst),
            });
        let estimation =
            prop_oneof![Just(Estimation::Run), Just(Estimation::RaiseOnly), Just(Estimation::Suspend)];
        prop_oneof![
            feedback.prop_map(RbbrMessage::Feedback),
            (estimation, any::<u32>())
                .prop_map(|(estimation, epoch)| RbbrMessage::Signal(Signal { estimation, epoch })),
        ]
    }

    fn encoded(message: &RbbrMessage) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        bytes
    }

    #[test]
    fn a_usual_feedback_takes_17_bytes() {
        // A thousandth feedback, 20 Mbit/s, 10 ms, 30 MB.
        let feedback = RateFeedback {
            sequence: 1000,
            rate: Some(Rate::from_mbit_per_sec(20.0)),
            interval: Span::from_millis(10),
            received: Bytes::new(30_000_000),
            frozen: false,
            burst: Bytes::ZERO,
        };
        let expected =
            [0x80, 0, 0x5b, 0xb4, 1, 0x43, 0xe8, 0x67, 0x10, 0x81, 0xc9, 0xc3, 0x80, 0x80, 0x26, 0x25, 0xa0];
        assert_eq!(encoded(&RbbrMessage::Feedback(feedback)), expected);
    }

    #[test]
    fn what_has_no_meaning_is_refused_with_the_reason() {
        let refused = |bytes: &[u8]| RbbrMessage::decode(bytes).expect_err("refused").to_string();
        assert!(refused(&[]).contains("after 0 bytes, within its type"));
        assert!(refused(&[0x02]).starts_with("0x2 is not the type"));
        // 0x5bb4 in eight bytes.
        assert!(refused(&[0xc0, 0, 0, 0, 0, 0, 0x5b, 0xb4, 0, 0, 0, 0]).contains("in its shortest form"));
        assert!(refused(&[0x80, 0, 0x5b, 0xb4]).contains("within its flags"));
        assert!(refused(&[0x80, 0, 0x5b, 0xb4, 8]).starts_with("the flags 0x08"));
        assert!(refused(&[0x80, 0, 0x5b, 0xb5, 3]).starts_with("the flags 0x03"));
        assert!(refused(&[0x80, 0, 0x5b, 0xb4, 1, 0x40]).contains("within its sequence"));
        let too_late = [0x80, 0, 0x5b, 0xb5, 0, 0xc0, 0, 0, 1, 0, 0, 0, 0];
        assert!(refused(&too_late).contains("is too large for the epoch"));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(message in message(), after in prop::collection::vec(any::<u8>(), 0..5)) {
            let mut bytes = encoded(&message);
            prop_assert_eq!(bytes.len() as u64, message.wire_size().get());
            bytes.extend(&after);
            prop_assert_eq!(RbbrMessage::decode(&bytes), Ok((message, after.as_slice())));
        }

        #[test]
        fn a_message_cut_short_is_refused(message in message(), keep in 0.0..1.0) {
            let bytes = encoded(&message);
            let kept = (bytes.len() as f64 * keep) as usize;
            let refused = matches!(RbbrMessage::decode(&bytes[..kept]), Err(WireError::Truncated { .. }));
            prop_assert!(refused);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(
            kind in prop_oneof![Just(vec![]), Just(vec![0x80, 0, 0x5b, 0xb4]), Just(vec![0x80, 0, 0x5b, 0xb5])],
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let bytes = [kind, bytes].concat();
            if let Ok((message, rest)) = RbbrMessage::decode(&bytes) {
                let again = encoded(&message);
                prop_assert_eq!(RbbrMessage::decode(&again), Ok((message, &[][..])));
                prop_assert!(rest.len() < bytes.len());
            }
        }
    }
}

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

use cellcc_control::{Feedback, SchemeMessage, Signal};
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

/// The rate that the receiver estimates; goes with acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateFeedback {
    /// Counts feedback, so that the newest is known.
    pub sequence: u64,
    /// The estimate; `None` while there is none.
    pub rate: Option<Rate>,
    /// The interval over which the last sample was taken.
    pub interval: Span,
    /// All bytes received so far: more than was sent is a lie.
    pub received: Bytes,
    /// Estimation is suspended; `rate` is what it was before.
    pub frozen: bool,
    /// The largest recent burst above the estimate, for a window that outlasts aggregation.
    pub burst: Bytes,
}

/// What the sender tells the receiver: whether its rate is the path's (paper, section III.C). Goes with data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSignal {
    /// What the receiver does with packets that arrive from here on.
    pub estimation: Estimation,
    /// Counts the changes of `estimation`, so that an older signal that arrives late is known.
    pub epoch: u32,
}

/// What arrivals tell about the path, hence what the receiver's estimate of its rate does with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimation {
    /// The path limits the sender: arrivals tell its rate.
    Run,
    /// The path has little queued and may idle at times: arrivals tell a lower bound, which may only raise the estimate.
    RaiseOnly,
    /// The sender limits itself: arrivals tell nothing.
    Suspend,
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
    /// They go on after the message.
    #[error("{count} bytes follow the RBBR message")]
    TrailingBytes {
        /// How many.
        count: usize,
    },
    /// Another type of frame, or one that is not in its shortest form (RFC 9000, section 12.4).
    #[error("{found:#x} is not {expected:#x}, the type of this RBBR message, in its shortest form")]
    UnknownType {
        /// The type found.
        found: u64,
        /// The type of the message.
        expected: u64,
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

impl RateFeedback {
    /// The message as bytes.
    pub fn encode(&self) -> Feedback {
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        let flags = flag(self.rate.is_some(), HAS_RATE)
            | flag(self.frozen, FROZEN)
            | flag(!self.burst.is_zero(), HAS_BURST);
        let mut writer = Writer::begin(RATE_FEEDBACK, flags);
        writer.integer(self.sequence);
        writer.integer(self.interval.as_nanos() / NANOS_PER_MICRO);
        writer.integer(self.received.get());
        if let Some(rate) = self.rate {
            writer.integer(rate.as_bytes_per_sec());
        }
        if !self.burst.is_zero() {
            writer.integer(self.burst.get());
        }
        writer.message()
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Bytes that end early or late, another type, flags or numbers without meaning.
    pub fn decode(message: &Feedback) -> Result<Self, WireError> {
        let mut reader = Reader::new(message.as_bytes());
        let flags = reader.begin(RATE_FEEDBACK, HAS_RATE | FROZEN | HAS_BURST)?;
        let has = |flag| flags & flag != 0;
        let feedback = Self {
            sequence: reader.integer("sequence")?,
            interval: {
                let found = reader.integer("interval")?;
                let nanos = found.checked_mul(NANOS_PER_MICRO);
                Span::from_nanos(nanos.ok_or(WireError::OutOfRange { found, field: "interval" })?)
            },
            received: Bytes::new(reader.integer("bytes received")?),
            rate: if has(HAS_RATE) { Some(Rate::from_bytes_per_sec(reader.integer("rate")?)) } else { None },
            frozen: has(FROZEN),
            burst: if has(HAS_BURST) { Bytes::new(reader.integer("burst")?) } else { Bytes::ZERO },
        };
        reader.end().map(|()| feedback)
    }
}

impl RateSignal {
    /// The message as bytes.
    pub fn encode(&self) -> Signal {
        let flags = match self.estimation {
            Estimation::Run => 0,
            Estimation::RaiseOnly => RAISE_ONLY,
            Estimation::Suspend => SUSPEND,
        };
        let mut writer = Writer::begin(RATE_SIGNAL, flags);
        writer.integer(self.epoch.into());
        writer.message()
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Bytes that end early or late, another type, flags or numbers without meaning.
    pub fn decode(message: &Signal) -> Result<Self, WireError> {
        let mut reader = Reader::new(message.as_bytes());
        let estimation = match reader.begin(RATE_SIGNAL, SUSPEND | RAISE_ONLY)? {
            0 => Estimation::Run,
            SUSPEND => Estimation::Suspend,
            RAISE_ONLY => Estimation::RaiseOnly,
            found => return Err(WireError::BadFlags { kind: RATE_SIGNAL, found }),
        };
        let found = reader.integer("epoch")?;
        let epoch = u32::try_from(found).map_err(|_| WireError::OutOfRange { found, field: "epoch" })?;
        reader.end().map(|()| Self { estimation, epoch })
    }
}

fn integer_size(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// A message being written.
struct Writer<const CAPACITY: usize> {
    bytes: [u8; CAPACITY],
    length: usize,
}

impl<const CAPACITY: usize> Writer<CAPACITY> {
    fn begin(kind: u64, flags: u8) -> Self {
        let mut writer = Self { bytes: [0; CAPACITY], length: 0 };
        writer.integer(kind);
        writer.bytes[writer.length] = flags;
        writer.length += 1;
        writer
    }

    fn integer(&mut self, value: u64) {
        let value = value.min(LARGEST);
        let size = integer_size(value);
        // The two highest bits are the logarithm of the size.
        let marked = value | u64::from(size.trailing_zeros()) << (8 * size - 2);
        // Eight bytes whatever the size, those behind it zero: a copy of variable length takes longer. The capacity holds
        // a message whose integers all have eight bytes.
        let bytes = (marked << (64 - 8 * size)).to_be_bytes();
        self.bytes[self.length..][..8].copy_from_slice(&bytes);
        self.length += size;
    }

    fn message(&self) -> SchemeMessage<CAPACITY> {
        SchemeMessage::new(&self.bytes[..self.length])
            .expect("it begins with a type, and fits where it was written")
    }
}

/// A message being read. The reader of a QUIC library would be a dependency of all schemes, for these integers.
struct Reader<'a> {
    length: usize,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { length: bytes.len(), rest: bytes }
    }

    /// The type, which has to be `kind`; gives the flags.
    fn begin(&mut self, kind: u64, known_flags: u8) -> Result<u8, WireError> {
        let found = self.integer("type")?;
        if found != kind || self.length - self.rest.len() != integer_size(kind) {
            return Err(WireError::UnknownType { found, expected: kind });
        }
        let found = self.byte("flags")?;
        if found & !known_flags == 0 { Ok(found) } else { Err(WireError::BadFlags { kind, found }) }
    }

    fn end(&self) -> Result<(), WireError> {
        let count = self.rest.len();
        if count == 0 { Ok(()) } else { Err(WireError::TrailingBytes { count }) }
    }

    fn take<const SIZE: usize>(&mut self, field: &'static str) -> Result<[u8; SIZE], WireError> {
        let truncated = WireError::Truncated { length: self.length, field };
        let (taken, rest) = self.rest.split_first_chunk().ok_or(truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn byte(&mut self, field: &'static str) -> Result<u8, WireError> {
        self.take(field).map(|[byte]| byte)
    }

    fn integer(&mut self, field: &'static str) -> Result<u64, WireError> {
        // The two highest bits of the first byte are the logarithm of the size.
        match self.rest.first().map_or(0, |first| first >> 6) {
            0 => self.byte(field).map(u64::from),
            1 => self.take(field).map(|bytes| (u16::from_be_bytes(bytes) & (u16::MAX >> 2)).into()),
            2 => self.take(field).map(|bytes| (u32::from_be_bytes(bytes) & (u32::MAX >> 2)).into()),
            _ => self.take(field).map(|bytes| u64::from_be_bytes(bytes) & LARGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every length of integer is as likely.
    fn integer() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..0x40, 0x40u64..0x4000, 0x4000u64..0x4000_0000, 0x4000_0000u64..=LARGEST]
    }

    fn feedback() -> impl Strategy<Value = RateFeedback> {
        let micros = integer().prop_map(|micros| micros.min(u64::MAX / NANOS_PER_MICRO));
        (integer(), micros, integer(), prop::option::of(integer()), any::<bool>(), integer()).prop_map(
            |(sequence, micros, received, rate, frozen, burst)| RateFeedback {
                sequence,
                rate: rate.map(Rate::from_bytes_per_sec),
                interval: Span::from_micros(micros),
                received: Bytes::new(received),
                frozen,
                burst: Bytes::new(burst),
            },
        )
    }

    fn signal() -> impl Strategy<Value = RateSignal> {
        let estimation =
            prop_oneof![Just(Estimation::Run), Just(Estimation::RaiseOnly), Just(Estimation::Suspend)];
        (estimation, any::<u32>()).prop_map(|(estimation, epoch)| RateSignal { estimation, epoch })
    }

    /// A message of `bytes`, cut to their first `length`.
    fn cut<const CAPACITY: usize>(
        message: SchemeMessage<CAPACITY>,
        length: usize,
    ) -> SchemeMessage<CAPACITY> {
        SchemeMessage::new(&message.as_bytes()[..length]).expect("not empty")
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
        assert_eq!(feedback.encode().as_bytes(), expected);
    }

    #[test]
    fn the_longest_messages_fit() {
        let most = Bytes::new(u64::MAX);
        let feedback = RateFeedback {
            sequence: u64::MAX,
            rate: Some(Rate::MAX),
            interval: Span::MAX,
            received: most,
            frozen: true,
            burst: most,
        };
        assert_eq!(feedback.encode().as_bytes().len(), 45);
        let signal = RateSignal { estimation: Estimation::Suspend, epoch: u32::MAX };
        assert_eq!(signal.encode().as_bytes().len(), 13);
    }

    #[test]
    fn what_has_no_meaning_is_refused_with_the_reason() {
        let message = |bytes: &[u8]| Feedback::new(bytes).expect("not empty");
        let refused = |bytes: &[u8]| RateFeedback::decode(&message(bytes)).expect_err("refused").to_string();
        assert!(refused(&[0x80]).contains("after 1 bytes, within its type"));
        assert!(refused(&[0x02]).starts_with("0x2 is not 0x5bb4"));
        // 0x5bb4 in eight bytes.
        assert!(refused(&[0xc0, 0, 0, 0, 0, 0, 0x5b, 0xb4, 0, 0, 0, 0]).contains("in its shortest form"));
        assert!(refused(&[0x80, 0, 0x5b, 0xb4]).contains("within its flags"));
        assert!(refused(&[0x80, 0, 0x5b, 0xb4, 8]).starts_with("the flags 0x08"));
        assert!(refused(&[0x80, 0, 0x5b, 0xb4, 1, 0x40]).contains("within its sequence"));
        assert!(refused(&[0x80, 0, 0x5b, 0xb4, 0, 1, 1, 1, 9, 9]).starts_with("2 bytes follow"));
        let refused = |bytes: &[u8]| {
            let message = Signal::new(bytes).expect("not empty");
            RateSignal::decode(&message).expect_err("refused").to_string()
        };
        assert!(refused(&[0x80, 0, 0x5b, 0xb4, 0, 1]).starts_with("0x5bb4 is not 0x5bb5"));
        assert!(refused(&[0x80, 0, 0x5b, 0xb5, 3]).starts_with("the flags 0x03"));
        let too_late = [0x80, 0, 0x5b, 0xb5, 0, 0xc0, 0, 0, 1, 0, 0, 0, 0];
        assert!(refused(&too_late).contains("is too large for the epoch"));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(feedback in feedback(), signal in signal()) {
            prop_assert_eq!(RateFeedback::decode(&feedback.encode()), Ok(feedback));
            prop_assert_eq!(RateSignal::decode(&signal.encode()), Ok(signal));
        }

        #[test]
        fn a_message_cut_short_is_refused(feedback in feedback(), signal in signal(), at in any::<prop::sample::Index>()) {
            let keep = |bytes: &[u8]| 1 + at.index(bytes.len() - 1);
            let message = feedback.encode();
            let error = RateFeedback::decode(&cut(message, keep(message.as_bytes())));
            prop_assert!(matches!(error, Err(WireError::Truncated { .. })), "{error:?}");
            let message = signal.encode();
            let error = RateSignal::decode(&cut(message, keep(message.as_bytes())));
            prop_assert!(matches!(error, Err(WireError::Truncated { .. })), "{error:?}");
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(
            kind in prop_oneof![Just(vec![]), Just(vec![0x80, 0, 0x5b, 0xb4]), Just(vec![0x80, 0, 0x5b, 0xb5])],
            bytes in prop::collection::vec(any::<u8>(), 1..43),
        ) {
            let bytes = [kind, bytes].concat();
            if let Some(Ok(feedback)) = Feedback::new(&bytes).map(|message| RateFeedback::decode(&message)) {
                prop_assert_eq!(RateFeedback::decode(&feedback.encode()), Ok(feedback));
            }
            if let Some(Ok(signal)) = Signal::new(&bytes).map(|message| RateSignal::decode(&message)) {
                prop_assert_eq!(RateSignal::decode(&signal.encode()), Ok(signal));
            }
        }
    }
}

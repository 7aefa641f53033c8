//! RBBR's two messages as bytes, in the style of QUIC frames (RFC 9000, section 12.4): a type, flags, then integers of
//! variable length (section 16). The paper's frame is a type of 8 bits and a value of 8 bytes, with the rate's unit
//! not given; ours says more, and mostly in fewer bytes.
//!
//! ```text
//! RATE_FEEDBACK  0x5bb4 | flags u8 | sequence | interval, us | bytes received | [rate, bytes/s] | [burst, bytes]
//! RATE_SIGNAL    0x5bb5 | flags u8 | epoch
//! ```
//! Flags of RATE_FEEDBACK: 1 has a rate, 2 frozen, 4 has a burst. Flags of RATE_SIGNAL: 1 suspend, 2 raise only.
//! All other flags are zero. Integers above 2^62 - 1 are sent as 2^62 - 1.

use cellcc_control::{Feedback, SchemeMessage, Signal};
use cellcc_units::{Bytes, Rate, Span};

/// Frame types without a registration.
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
    /// Estimation is suspended; `rate` keeps its value from before.
    pub frozen: bool,
    /// The largest recent burst above the estimate, for a window that outlasts aggregation.
    pub burst: Bytes,
}

/// The sender's signal to the receiver: whether its rate is the path's (paper, section III.C). Goes with data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSignal {
    /// The mode of the estimation for packets that arrive from here on.
    pub estimation: Estimation,
    /// Counts the changes of `estimation`, so that an older signal that arrives late is known.
    pub epoch: u32,
}

/// The meaning of arrivals for the receiver's estimate of the path's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimation {
    /// The path limits the sender: arrivals tell its rate.
    Run,
    /// The path has little queued and may idle at times: arrivals tell a lower bound, which may only raise the estimate.
    RaiseOnly,
    /// The sender limits itself: arrivals tell nothing.
    Suspend,
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

    /// Reads a message; `None` for bytes that end early or late, another type, flags or numbers without meaning.
    pub fn decode(message: &Feedback) -> Option<Self> {
        let mut reader = Reader(message.as_bytes());
        let flags = reader.begin(RATE_FEEDBACK, HAS_RATE | FROZEN | HAS_BURST)?;
        let has = |flag| flags & flag != 0;
        let feedback = Self {
            sequence: reader.integer()?,
            interval: Span::from_nanos(reader.integer()?.checked_mul(NANOS_PER_MICRO)?),
            received: Bytes::new(reader.integer()?),
            rate: if has(HAS_RATE) { Some(Rate::from_bytes_per_sec(reader.integer()?)) } else { None },
            frozen: has(FROZEN),
            burst: if has(HAS_BURST) { Bytes::new(reader.integer()?) } else { Bytes::ZERO },
        };
        reader.0.is_empty().then_some(feedback)
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

    /// Reads a message; `None` as for [`RateFeedback::decode`].
    pub fn decode(message: &Signal) -> Option<Self> {
        let mut reader = Reader(message.as_bytes());
        let estimation = match reader.begin(RATE_SIGNAL, SUSPEND | RAISE_ONLY)? {
            0 => Estimation::Run,
            SUSPEND => Estimation::Suspend,
            RAISE_ONLY => Estimation::RaiseOnly,
            _ => return None,
        };
        let epoch = u32::try_from(reader.integer()?).ok()?;
        reader.0.is_empty().then_some(Self { estimation, epoch })
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
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// The type, which has to be `kind` in its shortest form (RFC 9000, section 12.4); gives the flags.
    fn begin(&mut self, kind: u64, known_flags: u8) -> Option<u8> {
        let before = self.0.len();
        if self.integer()? != kind || before - self.0.len() != integer_size(kind) {
            return None;
        }
        let [flags] = self.take()?;
        (flags & !known_flags == 0).then_some(flags)
    }

    fn take<const SIZE: usize>(&mut self) -> Option<[u8; SIZE]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn integer(&mut self) -> Option<u64> {
        // The two highest bits of the first byte are the logarithm of the size.
        match self.0.first()? >> 6 {
            0 => self.take().map(|[byte]| byte.into()),
            1 => self.take().map(|bytes| (u16::from_be_bytes(bytes) & (u16::MAX >> 2)).into()),
            2 => self.take().map(|bytes| (u32::from_be_bytes(bytes) & (u32::MAX >> 2)).into()),
            _ => self.take().map(|bytes| u64::from_be_bytes(bytes) & LARGEST),
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
    fn what_has_no_meaning_is_refused() {
        for bytes in [
            // Cut short within the type, the flags, the sequence.
            &[0x80][..],
            &[0x80, 0, 0x5b, 0xb4],
            &[0x80, 0, 0x5b, 0xb4, 1, 0x40],
            // Another type; 0x5bb4 in eight bytes; an unknown flag; two bytes behind the message.
            &[0x02],
            &[0xc0, 0, 0, 0, 0, 0, 0x5b, 0xb4, 0, 0, 0, 0],
            &[0x80, 0, 0x5b, 0xb4, 8],
            &[0x80, 0, 0x5b, 0xb4, 0, 1, 1, 1, 9, 9],
        ] {
            assert_eq!(RateFeedback::decode(&Feedback::new(bytes).expect("not empty")), None, "{bytes:?}");
        }
        for bytes in [
            // Another type; two flags that exclude each other; an epoch above 32 bits.
            &[0x80, 0, 0x5b, 0xb4, 0, 1][..],
            &[0x80, 0, 0x5b, 0xb5, 3],
            &[0x80, 0, 0x5b, 0xb5, 0, 0xc0, 0, 0, 1, 0, 0, 0, 0],
        ] {
            assert_eq!(RateSignal::decode(&Signal::new(bytes).expect("not empty")), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(feedback in feedback(), signal in signal()) {
            prop_assert_eq!(RateFeedback::decode(&feedback.encode()), Some(feedback));
            prop_assert_eq!(RateSignal::decode(&signal.encode()), Some(signal));
        }

        #[test]
        fn a_message_cut_short_is_refused(feedback in feedback(), signal in signal(), at in any::<prop::sample::Index>()) {
            let keep = |bytes: &[u8]| 1 + at.index(bytes.len() - 1);
            let message = feedback.encode();
            prop_assert_eq!(RateFeedback::decode(&cut(message, keep(message.as_bytes()))), None);
            let message = signal.encode();
            prop_assert_eq!(RateSignal::decode(&cut(message, keep(message.as_bytes()))), None);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(
            kind in prop_oneof![Just(vec![]), Just(vec![0x80, 0, 0x5b, 0xb4]), Just(vec![0x80, 0, 0x5b, 0xb5])],
            bytes in prop::collection::vec(any::<u8>(), 1..43),
        ) {
            let bytes = [kind, bytes].concat();
            if let Some(feedback) = Feedback::new(&bytes).and_then(|message| RateFeedback::decode(&message)) {
                prop_assert_eq!(RateFeedback::decode(&feedback.encode()), Some(feedback));
            }
            if let Some(signal) = Signal::new(&bytes).and_then(|message| RateSignal::decode(&message)) {
                prop_assert_eq!(RateSignal::decode(&signal.encode()), Some(signal));
            }
        }
    }
}

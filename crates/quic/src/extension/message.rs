//! The extension's messages as bytes, each one datagram (RFC 9221). Integers are QUIC's, of variable length (RFC 9000,
//! section 16); a message ends where its datagram ends.
//!
//! ```text
//! 0xcc | kind | flow | ...
//! 1 OFFER       count u8 | version u8 ... | scheme, UTF-8   from the sender: requests the receiver-side component
//! 2 ANSWER      version | reason                            from the receiver: version 0 refuses, for that reason
//! 3 FEEDBACK    1 to 47 bytes of the scheme                 from the receiver
//! 4 SIGNAL      1 to 15 bytes of the scheme                 from the sender
//! 5 ECN_ASK                                                 from the sender: asks the peer to map ECT(1) to ECT(0) for its QUIC
//! 6 ECN_READY                                               from the receiver: it does
//! 7 ECN_TOTALS  ect1 | ce | ect0 | not-ect | ce payload     from the receiver: datagrams so far, and the bytes of those with CE
//! ```
//! `flow` counts the sender's flows on the connection. A connection that moves to another path begins a new flow; messages of
//! older flows are stale. OFFER and ANSWER are the same in every version. Unknown kinds are skipped, so that later versions can
//! add kinds. Only the scheme reads its bytes.

use crate::ecn::EcnCounts;
use bytes::{Buf, BufMut};
use cellcc_control::{Feedback, SchemeMessage, Signal};
use cellcc_units::Bytes;
use noq_proto::VarInt;
use noq_proto::coding::{Decodable, Encodable};
use std::fmt;
use thiserror::Error;

/// The first byte of every datagram of the extension. An application's own datagrams begin with any other.
pub const CONTEXT: u8 = 0xcc;

/// The version that is described here.
pub(super) const VERSION: u8 = 1;

/// The longest text of a scheme, in bytes: every parameter of RBBR together takes half of it.
pub const MAX_SCHEME_TEXT: usize = 512;

/// The most versions that an offer may name.
const MAX_VERSIONS: usize = 16;

const OFFER: u64 = 1;
const ANSWER: u64 = 2;
const FEEDBACK: u64 = 3;
const SIGNAL: u64 = 4;
const ECN_ASK: u64 = 5;
const ECN_READY: u64 = 6;
const ECN_TOTALS: u64 = 7;

/// A message about one flow, in one datagram.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Counts the sender's flows on this connection.
    pub flow: u32,
    /// The content.
    pub body: Body,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// The sender requests the receiver-side component of its scheme.
    Offer {
        /// Versions that the sender supports, at least one.
        versions: Vec<u8>,
        /// The scheme as the registry writes it, up to [`MAX_SCHEME_TEXT`].
        scheme: String,
    },
    /// The receiver's answer to an offer: the version that it chose, or why it runs no component.
    Answer(Result<u8, Refusal>),
    /// Feedback of the receiver-side component.
    Feedback(Feedback),
    /// A signal to the receiver-side component.
    Signal(Signal),
    /// The sender asks the peer to map ECN codepoints.
    EcnAsk,
    /// The peer maps them from now on.
    EcnReady,
    /// Counts of arrivals at the peer.
    EcnTotals(EcnCounts),
}

/// Reason why a receiver does not run a receiver-side component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The receiver supports none of the offered versions.
    Version,
    /// The receiver's registry does not know the scheme, or does not accept its arguments.
    UnknownScheme,
    /// The scheme with these arguments has no receiver-side component.
    NoComponent,
    /// A reason that a later version added.
    Other(u32),
}

impl Refusal {
    fn code(self) -> u32 {
        match self {
            Self::Version => 1,
            Self::UnknownScheme => 2,
            Self::NoComponent => 3,
            Self::Other(code) => code,
        }
    }

    fn of(code: u32) -> Self {
        match code {
            1 => Self::Version,
            2 => Self::UnknownScheme,
            3 => Self::NoComponent,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version => formatter.write_str("it speaks another version"),
            Self::UnknownScheme => formatter.write_str("it does not know the scheme"),
            Self::NoComponent => formatter.write_str("it knows no receiver-side component of the scheme"),
            Self::Other(code) => write!(formatter, "its reason has the code {code}"),
        }
    }
}

/// Reason why a datagram is not a message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MessageError {
    /// The datagram begins with another context byte: the application's.
    #[error("the datagram does not begin with {CONTEXT:#04x}")]
    NotOurs,
    /// A kind of message from a later version.
    #[error("{0} is no kind of message of version {VERSION}")]
    UnknownKind(u64),
    /// The datagram ends early or is too long, or a field holds an invalid value.
    #[error("the message has no meaning")]
    Malformed,
}

impl Message {
    /// The message as a datagram.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![CONTEXT];
        let mut begin = |kind: u64| {
            put(&mut bytes, kind);
            put(&mut bytes, self.flow.into());
        };
        match &self.body {
            Body::Offer { versions, scheme } => {
                begin(OFFER);
                let versions = &versions[..versions.len().min(MAX_VERSIONS)];
                bytes.put_u8(versions.len() as u8);
                bytes.put_slice(versions);
                bytes.put_slice(scheme.as_bytes());
            }
            Body::Answer(answer) => {
                begin(ANSWER);
                put(&mut bytes, answer.unwrap_or(0).into());
                put(&mut bytes, answer.err().map_or(0, Refusal::code).into());
            }
            Body::Feedback(feedback) => {
                begin(FEEDBACK);
                bytes.put_slice(feedback.as_bytes());
            }
            Body::Signal(signal) => {
                begin(SIGNAL);
                bytes.put_slice(signal.as_bytes());
            }
            Body::EcnAsk => begin(ECN_ASK),
            Body::EcnReady => begin(ECN_READY),
            Body::EcnTotals(EcnCounts { ect1, ce, ect0, not_ect, ce_payload }) => {
                begin(ECN_TOTALS);
                [*ect1, *ce, *ect0, *not_ect, ce_payload.get()]
                    .into_iter()
                    .for_each(|count| put(&mut bytes, count));
            }
        }
        bytes
    }

    /// Reads a datagram.
    ///
    /// # Errors
    /// A datagram of the application's, a kind of a later version, bytes without meaning.
    pub fn decode(datagram: &[u8]) -> Result<Self, MessageError> {
        let Some((&CONTEXT, mut rest)) = datagram.split_first() else { return Err(MessageError::NotOurs) };
        let rest = &mut rest;
        let kind = take(rest)?;
        if !(OFFER..=ECN_TOTALS).contains(&kind) {
            return Err(MessageError::UnknownKind(kind));
        }
        let flow = take_u32(rest)?;
        let body = match kind {
            OFFER => offer(rest)?,
            ANSWER => answer(rest)?,
            FEEDBACK => Body::Feedback(scheme_message(rest)?),
            SIGNAL => Body::Signal(scheme_message(rest)?),
            ECN_ASK => Body::EcnAsk,
            ECN_READY => Body::EcnReady,
            _ => Body::EcnTotals(EcnCounts {
                ect1: take(rest)?,
                ce: take(rest)?,
                ect0: take(rest)?,
                not_ect: take(rest)?,
                ce_payload: Bytes::new(take(rest)?),
            }),
        };
        if rest.is_empty() { Ok(Self { flow, body }) } else { Err(MessageError::Malformed) }
    }
}

fn offer(rest: &mut &[u8]) -> Result<Body, MessageError> {
    let count = usize::from(rest.try_get_u8().map_err(|_| MessageError::Malformed)?);
    if !(1..=MAX_VERSIONS).contains(&count) {
        return Err(MessageError::Malformed);
    }
    let (versions, scheme) = rest.split_at_checked(count).ok_or(MessageError::Malformed)?;
    *rest = &[];
    if scheme.len() > MAX_SCHEME_TEXT {
        return Err(MessageError::Malformed);
    }
    let scheme = std::str::from_utf8(scheme).map_err(|_| MessageError::Malformed)?;
    Ok(Body::Offer { versions: versions.to_vec(), scheme: scheme.into() })
}

/// The rest of the datagram, which is the scheme's.
fn scheme_message<const CAPACITY: usize>(rest: &mut &[u8]) -> Result<SchemeMessage<CAPACITY>, MessageError> {
    let bytes = std::mem::take(rest);
    SchemeMessage::new(bytes).ok_or(MessageError::Malformed)
}

fn answer(rest: &mut &[u8]) -> Result<Body, MessageError> {
    let version = take(rest)?;
    let version = u8::try_from(version).map_err(|_| MessageError::Malformed)?;
    match (version, take_u32(rest)?) {
        (0, 0) => Err(MessageError::Malformed),
        (0, reason) => Ok(Body::Answer(Err(Refusal::of(reason)))),
        (version, 0) => Ok(Body::Answer(Ok(version))),
        _ => Err(MessageError::Malformed),
    }
}

/// Integers above 2^62 - 1 are sent as 2^62 - 1.
fn put(bytes: &mut Vec<u8>, value: u64) {
    VarInt::from_u64(value).unwrap_or(VarInt::MAX).encode(bytes);
}

fn take(rest: &mut &[u8]) -> Result<u64, MessageError> {
    VarInt::decode(rest).map(VarInt::into_inner).map_err(|_| MessageError::Malformed)
}

fn take_u32(rest: &mut &[u8]) -> Result<u32, MessageError> {
    u32::try_from(take(rest)?).map_err(|_| MessageError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_schemes::RateFeedback;
    use cellcc_units::{Bytes, Rate, Span};
    use proptest::prelude::*;

    fn body() -> impl Strategy<Value = Body> {
        let versions = prop::collection::vec(any::<u8>(), 1..=MAX_VERSIONS);
        let bytes = |most| prop::collection::vec(any::<u8>(), 1..=most);
        prop_oneof![
            (versions, "\\PC{0,120}").prop_map(|(versions, scheme)| Body::Offer { versions, scheme }),
            (1u8..).prop_map(|version| Body::Answer(Ok(version))),
            (1u32..).prop_map(|reason| Body::Answer(Err(Refusal::of(reason)))),
            bytes(Feedback::CAPACITY)
                .prop_map(|bytes| Body::Feedback(Feedback::new(&bytes).expect("within bounds"))),
            bytes(Signal::CAPACITY)
                .prop_map(|bytes| Body::Signal(Signal::new(&bytes).expect("within bounds"))),
            Just(Body::EcnAsk),
            Just(Body::EcnReady),
            prop::array::uniform5(0..1_u64 << 62).prop_map(|[ect1, ce, ect0, not_ect, ce_payload]| {
                let ce_payload = Bytes::new(ce_payload);
                Body::EcnTotals(EcnCounts { ect1, ce, ect0, not_ect, ce_payload })
            }),
        ]
    }

    fn message() -> impl Strategy<Value = Message> {
        (any::<u32>(), body()).prop_map(|(flow, body)| Message { flow, body })
    }

    /// Others end where their datagram ends.
    fn has_an_end(message: &Message) -> bool {
        !matches!(message.body, Body::Offer { .. } | Body::Feedback(_) | Body::Signal(_))
    }

    #[test]
    fn a_usual_feedback_takes_20_bytes() {
        let feedback = RateFeedback {
            sequence: 1000,
            rate: Some(Rate::from_mbit_per_sec(20.0)),
            interval: Span::from_millis(10),
            received: Bytes::new(30_000_000),
            frozen: false,
            burst: Bytes::ZERO,
        };
        assert_eq!(Message { flow: 1, body: Body::Feedback(feedback.encode()) }.encode().len(), 20);
    }

    #[test]
    fn what_is_not_for_us_is_distinguished_from_what_is_broken() {
        assert_eq!(Message::decode(&[]), Err(MessageError::NotOurs));
        assert_eq!(Message::decode(&[0x00, 1, 2]), Err(MessageError::NotOurs));
        assert_eq!(Message::decode(&[CONTEXT]), Err(MessageError::Malformed));
        assert_eq!(Message::decode(&[CONTEXT, 9, 200, 1]), Err(MessageError::UnknownKind(9)));
        assert_eq!(Message::decode(&[CONTEXT, 1, 0, 0]), Err(MessageError::Malformed));
    }

    #[test]
    fn a_schemes_message_that_is_empty_or_too_long_is_refused() {
        for (kind, capacity) in [(FEEDBACK, Feedback::CAPACITY), (SIGNAL, Signal::CAPACITY)] {
            let decode = |length| {
                let mut datagram = vec![CONTEXT, kind as u8, 0];
                datagram.resize(3 + length, 7);
                Message::decode(&datagram)
            };
            let refused = Err(MessageError::Malformed);
            assert_eq!((decode(0), decode(capacity + 1)), (refused.clone(), refused));
            assert!(decode(1).is_ok() && decode(capacity).is_ok());
        }
    }

    #[test]
    fn a_scheme_of_excessive_length_is_refused() {
        let offer = |length| {
            Message { flow: 0, body: Body::Offer { versions: vec![1], scheme: "x".repeat(length) } }.encode()
        };
        assert!(Message::decode(&offer(MAX_SCHEME_TEXT)).is_ok());
        assert_eq!(Message::decode(&offer(MAX_SCHEME_TEXT + 1)), Err(MessageError::Malformed));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(message in message()) {
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }

        #[test]
        fn a_message_that_is_cut_short_is_never_one_of_another_meaning(
            message in message().prop_filter("it has an end", has_an_end),
            cut in any::<prop::sample::Index>(),
        ) {
            let bytes = message.encode();
            prop_assert!(Message::decode(&bytes[..cut.index(bytes.len())]).is_err());
        }

        #[test]
        fn what_follows_a_message_breaks_it(
            message in message().prop_filter("it has an end", has_an_end),
            extra in 1usize..20,
        ) {
            let mut bytes = message.encode();
            bytes.extend(std::iter::repeat_n(0, extra));
            prop_assert_eq!(Message::decode(&bytes), Err(MessageError::Malformed));
        }

        #[test]
        fn any_bytes_are_a_message_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let ours: Vec<u8> = [CONTEXT].into_iter().chain(bytes.iter().copied()).collect();
            for datagram in [&bytes, &ours] {
                if let Ok(message) = Message::decode(datagram) {
                    prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
                }
            }
        }
    }
}

//! The messages on a connection's stream: registrations, and answers. Records themselves travel in datagrams.
//!
//! A message is the length of its text (4 bytes, big-endian), then the text: JSON.

use cellcc_units::Span;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;
use thiserror::Error;

/// The application protocol (RFC 7301).
pub const ALPN: &[u8] = b"cellcc-netassist/1";
/// The longest message: a consent with its certificate has less than 2 kB.
pub const MAX_MESSAGE_BYTES: usize = 4096;
/// Records in a datagram: 1152 bytes, which fit every path (RFC 9000, section 14, asks for 1200 in a packet).
pub const RECORDS_PER_DATAGRAM: usize = 17;
/// The longest wait for a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// QUIC: a peer without a packet for this long is gone.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// QUIC: how long a connection is silent at most. A service that has crashed and was started again answers the next packet with
/// a reset, so that this is how long a client goes on without hearing of it.
pub const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// NATS: how often the broker is asked whether it is there. After three unanswered times the connection is lost: after 9 s, as with
/// QUIC's idle time-out.
pub const PING_INTERVAL: Duration = Duration::from_secs(3);
/// NATS: every request is repeated in this time, a tenth of them each second. It keeps the registrations that services would
/// forget.
pub const RENEWED_EVERY: Duration = Duration::from_secs(10);
/// NATS: a request that is not repeated in this time is dropped: the third time is too late. As long as a flow is remembered that
/// connection tracking does not show any more.
pub const FORGOTTEN_AFTER: Span = Span::from_secs(30);

/// A request of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Tell me about this user; or, once more: I have another number of flows with it now.
    Subscribe {
        /// An address of the user.
        user: IpAddr,
        /// The client's flows with the user.
        flows: u16,
        /// The user's signed consent, if there is no flow yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        consent: Option<String>,
    },
    /// Tell me no more about this user.
    Unsubscribe {
        /// An address of the user.
        user: IpAddr,
    },
    /// Tell me about all users. Operators only.
    SubscribeAll,
    /// I am a user's device, and have so many active flows.
    Flows {
        /// How many.
        active: u16,
    },
}

/// The service's messages in addition to records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// Records with this key are about this user.
    Subscribed {
        /// The requested address, or the user's first one.
        user: IpAddr,
        /// The key, in hexadecimal digits.
        key: String,
    },
    /// There will be no records about this user.
    Refused {
        /// The requested address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<IpAddr>,
        /// The remedy for the client.
        reason: String,
        /// It can ask again after this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// There will be no more records about this user.
    Ended {
        /// The requested address.
        user: IpAddr,
        /// Why.
        reason: String,
    },
}

/// Why bytes are no message.
#[derive(Debug, Error)]
pub enum MalformedMessage {
    /// It is longer than any message.
    #[error("a message of {0} bytes; the longest has {MAX_MESSAGE_BYTES}")]
    TooLong(u64),
    /// It does not have the form of a message.
    #[error("no message of NetAssist: {0}")]
    Text(#[from] serde_json::Error),
}

/// The length of an untrusted text in a log.
const MAX_REASON_CHARS: usize = 200;

/// The beginning of an untrusted text, on one line.
pub fn shortened(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_REASON_CHARS).collect()
}

/// The message as it is sent.
pub fn framed(message: &impl Serialize) -> Vec<u8> {
    let text = serde_json::to_vec(message).expect("messages hold texts, numbers and addresses");
    let length = u32::try_from(text.len()).expect("messages are short");
    [&length.to_be_bytes()[..], &text].concat()
}

/// How long the message is that these bytes announce.
///
/// # Errors
/// Too long.
pub fn announced(length: [u8; 4]) -> Result<usize, MalformedMessage> {
    let length = u32::from_be_bytes(length);
    let count = usize::try_from(length).unwrap_or(usize::MAX);
    if count > MAX_MESSAGE_BYTES { Err(MalformedMessage::TooLong(length.into())) } else { Ok(count) }
}

/// Reads a request.
///
/// # Errors
/// Not a valid message.
pub fn request(text: &[u8]) -> Result<Request, MalformedMessage> {
    Ok(serde_json::from_slice(text)?)
}

/// Reads an answer.
///
/// # Errors
/// Not a valid message.
pub fn answer(text: &[u8]) -> Result<Answer, MalformedMessage> {
    Ok(serde_json::from_slice(text)?)
}

// The identifier of a user on the wire.

/// The identifier of a user on the wire. A reader of records learns no address from it: it is a hash with a secret, which is
/// new with each start of the service.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserKey(pub [u8; 16]);

impl UserKey {
    /// When in its period this user's turn is, so that not all have it at once.
    pub fn offset_in(&self, period: Span) -> Span {
        let [first, second, third, fourth, ..] = self.0;
        let share = u64::from(u32::from_le_bytes([first, second, third, fourth]));
        let nanos = (u128::from(period.as_nanos()) * u128::from(share)) >> 32;
        Span::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }
}

impl fmt::Debug for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_look_as_documented() {
        let subscribe = Request::Subscribe { user: IpAddr::from([10, 45, 0, 2]), flows: 1, consent: None };
        let bytes = framed(&subscribe);
        assert_eq!(&bytes[4..], br#"{"subscribe":{"user":"10.45.0.2","flows":1}}"#);
        assert_eq!(announced(bytes[..4].try_into().unwrap()).unwrap(), bytes.len() - 4);
        assert_eq!(request(&bytes[4..]).unwrap(), subscribe);
        assert_eq!(request(br#""subscribe-all""#).unwrap(), Request::SubscribeAll);
    }

    #[test]
    fn a_message_of_a_gigabyte_is_refused_before_it_is_read() {
        let error = announced(1_000_000_000_u32.to_be_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("a message of 1000000000 bytes"), "{error}");
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for text in [
            "",
            "{",
            r#"{"subscribe":{}}"#,
            r#"{"subscribe":{"user":"x","flows":1}}"#,
            r#"{"flows":{"active":-1}}"#,
        ] {
            assert!(request(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_readers_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (request(&bytes), answer(&bytes));
        }
    }
}

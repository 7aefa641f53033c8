//! How much may wait in front of a link.

use cellcc_units::{Bytes, ParseError, Span, split_number};
use std::fmt;
use std::str::FromStr;

/// The limit of a drop-tail queue, written `"3200pkt"`, `"1.5MB"`, `"100ms"` or `"unlimited"`.
///
/// A packet is admitted where the queue, with this packet in it, is within the limit. The packet in service
/// counts until its last byte has left: in Mahimahi, whose settings papers quote, a full-sized packet stays in the
/// queue until its delivery opportunity and leaves whole, so that "3200pkt" means the same 3200 packets here.
/// (Only the rest of a packet that straddles two opportunities is outside of Mahimahi's count.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueLimit {
    /// At most so many packets.
    Packets(usize),
    /// At most so many bytes.
    Bytes(Bytes),
    /// No packet waits longer than this for the ones ahead of it: judged at admission, by the capacity that is
    /// really coming. Its own service is not part of the wait.
    Time(Span),
    /// Nothing is ever refused.
    #[default]
    Unlimited,
}

const EXPECTED: &str = "a queue limit above zero, such as `3200pkt`, `1.5MB`, `100ms` or `unlimited`";

impl FromStr for QueueLimit {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::new(text, EXPECTED);
        let limit = if text.trim() == "unlimited" {
            return Ok(Self::Unlimited);
        } else if let Some((count, "pkt")) = split_number(text) {
            // 2^32 packets are 6 TB: beyond that a number is a slip of the keyboard.
            (count.fract() == 0.0 && count <= f64::from(u32::MAX)).then_some(Self::Packets(count as usize))
        } else if let Ok(bytes) = text.parse() {
            Some(Self::Bytes(bytes))
        } else {
            text.parse().ok().map(Self::Time)
        };
        let is_zero = |limit: &Self| {
            matches!(limit, Self::Packets(0) | Self::Bytes(Bytes::ZERO) | Self::Time(Span::ZERO))
        };
        limit.filter(|limit| !is_zero(limit)).ok_or_else(refused)
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => f.pad(&format!("{count}pkt")),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Time(span) => span.fmt(f),
            Self::Unlimited => f.pad("unlimited"),
        }
    }
}

impl serde::Serialize for QueueLimit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for QueueLimit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_says_what_is_limited() {
        for (text, limit) in [
            ("3200pkt", QueueLimit::Packets(3200)),
            ("1.5MB", QueueLimit::Bytes(Bytes::new(1_500_000))),
            ("100ms", QueueLimit::Time(Span::from_millis(100))),
            ("unlimited", QueueLimit::Unlimited),
        ] {
            assert_eq!(text.parse(), Ok(limit));
            assert_eq!(limit.to_string(), text);
        }
    }

    #[test]
    fn a_queue_of_nothing_or_of_half_a_packet_is_refused() {
        for text in ["0pkt", "0B", "0ms", "1.5pkt", "100", "-3pkt", "", "1e30pkt", "NaNpkt"] {
            assert!(text.parse::<QueueLimit>().is_err(), "{text}");
        }
        let message = "0pkt".parse::<QueueLimit>().unwrap_err().to_string();
        assert!(message.contains("above zero"), "{message}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = text.parse::<QueueLimit>();
        }
    }
}

//! Messages between the two ends of a scheme: bytes that only the scheme reads, and the report of when packets arrived.

use cellcc_units::{Bytes, Ecn, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::num::NonZeroU8;

/// A message of a scheme to its other end: 1 to `CAPACITY` bytes, stored inline. Drivers carry it and do not read it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SchemeMessage<const CAPACITY: usize> {
    length: NonZeroU8,
    /// Those after the length are zero.
    bytes: [u8; CAPACITY],
}

/// From the sender to the receiver-side component, with data packets; RBBR's takes at most 13 bytes.
pub type Signal = SchemeMessage<15>;

/// From the receiver-side component to the sender, with acknowledgements; RBBR's takes at most 45 bytes.
pub type Feedback = SchemeMessage<47>;

/// A scheme's finding when it opens a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It is understood and of use.
    Taken,
    /// It is no newer than the known state.
    Stale,
    /// These bytes are no message of this scheme.
    Malformed,
    /// It claims something impossible, such as more bytes received than were sent.
    Untrue,
}

impl<const CAPACITY: usize> SchemeMessage<CAPACITY> {
    /// The longest message, in bytes.
    pub const CAPACITY: usize = CAPACITY;

    /// A message of these bytes; `None` for no bytes, or more than [`CAPACITY`](Self::CAPACITY).
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let length = NonZeroU8::new(u8::try_from(bytes.len()).ok()?)?;
        let mut message = Self { length, bytes: [0; CAPACITY] };
        message.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(message)
    }

    /// Its bytes, which are also its overhead on the packet that carries it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length.get())]
    }
}

impl<const CAPACITY: usize> fmt::Debug for SchemeMessage<CAPACITY> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SchemeMessage").field(&self.as_bytes()).finish()
    }
}

/// Hexadecimal digits in a text, the bytes in a binary form.
impl<const CAPACITY: usize> Serialize for SchemeMessage<CAPACITY> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            let digits = self.as_bytes().iter().map(|byte| format!("{byte:02x}"));
            return serializer.serialize_str(&digits.collect::<String>());
        }
        self.as_bytes().serialize(serializer)
    }
}

/// From a binary form.
impl<'de, const CAPACITY: usize> Deserialize<'de> for SchemeMessage<CAPACITY> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Vec::deserialize(deserializer)?;
        Self::new(&bytes).ok_or_else(|| de::Error::custom("a message is empty or too long"))
    }
}

/// When some packets arrived that follow each other by number. On the reverse path it is as long as RFC 8888's message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivalReport {
    /// The number of the first packet.
    pub begin: u64,
    /// When the report left, by the receiver's clock.
    pub sent_at: Time,
    /// From `begin` on, one for each number; none for a packet that has not arrived.
    pub packets: Vec<Option<ReportedPacket>>,
}

/// A packet that has arrived, in an [`ArrivalReport`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedPacket {
    /// When, by the receiver's clock and in the report's unit.
    pub arrived_at: Time,
    /// The codepoint that it arrived with.
    pub ecn: Ecn,
}

impl ArrivalReport {
    /// Stands in an event that serde has read, which borrows its report.
    pub(crate) fn none() -> &'static Self {
        static NONE: ArrivalReport = ArrivalReport { begin: 0, sent_at: Time::ZERO, packets: Vec::new() };
        &NONE
    }

    /// Its overhead on the packet that carries it: RFC 8888, section 3.1, with one sender, whole words of 32 bits.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(20 + (2 * self.packets.len() as u64).next_multiple_of(4))
    }

    /// The packets that have arrived, with their numbers.
    pub fn arrived(&self) -> impl Iterator<Item = (u64, ReportedPacket)> + '_ {
        (self.begin..).zip(&self.packets).filter_map(|(number, packet)| Some((number, (*packet)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_holds_one_byte_to_its_capacity() {
        assert_eq!(Signal::new(&[]), None);
        assert_eq!(Signal::new(&[7; 16]), None);
        assert_eq!(Signal::new(&[7; 300]), None);
        for length in 1..=15 {
            assert_eq!(Signal::new(&[7; 15][..length]).map(|message| message.as_bytes().len()), Some(length));
        }
    }

    #[test]
    fn no_message_costs_no_space() {
        assert_eq!((size_of::<Option<Signal>>(), size_of::<Option<Feedback>>()), (16, 48));
    }
}

//! What the receiver tells the sender, and the sender the receiver, as bytes.
//!
//! ```text
//! forecast  'S' | sequence u32 | newest packet u64 | eight amounts, bytes u32
//! silence   's' | milliseconds until the next packet u8
//! ```
//! Integers are big-endian.

use super::model::TICKS;
use cellcc_control::{Feedback, SchemeMessage, Signal};
use cellcc_units::{Bytes, Span};

const FORECAST: u8 = b'S';
const SILENCE: u8 = b's';

/// What will arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forecast {
    /// Counts forecasts, so that the newest is known.
    pub(super) sequence: u32,
    /// The number of the newest packet that has arrived.
    pub(super) newest: u64,
    /// What will have arrived by the end of each of the next ticks.
    pub(super) amounts: [Bytes; TICKS],
}

impl Forecast {
    pub(super) fn encode(&self) -> Option<Feedback> {
        let mut bytes = vec![FORECAST];
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.newest.to_be_bytes());
        for amount in self.amounts {
            bytes.extend(u32::try_from(amount.get()).unwrap_or(u32::MAX).to_be_bytes());
        }
        SchemeMessage::new(&bytes)
    }

    /// `None` where the bytes are no forecast.
    pub(super) fn decode(feedback: &Feedback) -> Option<Self> {
        let (&FORECAST, rest) = feedback.as_bytes().split_first()? else { return None };
        let (sequence, rest) = rest.split_first_chunk()?;
        let (newest, rest) = rest.split_first_chunk()?;
        let (amounts, []) = rest.as_chunks::<4>() else { return None };
        let amounts: Vec<Bytes> =
            amounts.iter().map(|amount| Bytes::new(u32::from_be_bytes(*amount).into())).collect();
        Some(Self {
            sequence: u32::from_be_bytes(*sequence),
            newest: u64::from_be_bytes(*newest),
            amounts: amounts.try_into().ok()?,
        })
    }
}

/// After this packet nothing follows for so long.
pub(super) fn encode_silence(silence: Span) -> Option<Signal> {
    let millis = u8::try_from(silence.as_nanos() / Span::from_millis(1).as_nanos()).unwrap_or(u8::MAX);
    SchemeMessage::new(&[SILENCE, millis])
}

/// `None` where the bytes tell of no silence.
pub(super) fn decode_silence(signal: &Signal) -> Option<Span> {
    match signal.as_bytes() {
        [SILENCE, millis] => Some(Span::from_millis(u64::from(*millis))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_read_and_other_bytes_are_not() {
        let amounts = std::array::from_fn(|tick| Bytes::new(1500 * tick as u64));
        let forecast = Forecast { sequence: 7, newest: 123_456_789, amounts };
        let feedback = forecast.encode().expect("it fits");
        assert_eq!(Forecast::decode(&feedback), Some(forecast));
        for length in 1..feedback.as_bytes().len() {
            let cut = SchemeMessage::new(&feedback.as_bytes()[..length]).expect("bytes");
            assert_eq!(Forecast::decode(&cut), None);
        }
        let silence = encode_silence(Span::from_millis(50)).expect("it fits");
        assert_eq!(decode_silence(&silence), Some(Span::from_millis(50)));
        assert_eq!(decode_silence(&SchemeMessage::new(b"x2").expect("bytes")), None);
    }
}

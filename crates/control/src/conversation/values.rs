//! Numbers, units, texts and what may be missing, as [`Coded`] values.

use super::coding::{Coded, Decoder, Encoder, Malformed};
use super::fields::SLOTS_PER_STRUCT;
use crate::message::SchemeMessage;
use cellcc_units::{Bytes, Rate, Span, Time};

impl Coded for u64 {
    fn encode(&self, slot: usize, out: &mut Encoder) {
        out.number(slot, *self);
    }
    fn decode(slot: usize, input: &mut Decoder<'_>) -> Result<Self, Malformed> {
        input.number(slot)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Coded for u32 {
    fn encode(&self, slot: usize, out: &mut Encoder) {
        out.number(slot, (*self).into());
    }
    fn decode(slot: usize, input: &mut Decoder<'_>) -> Result<Self, Malformed> {
        input.number(slot)?.try_into().map_err(|_| Malformed("a number has more than 32 bits"))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Coded for bool {
    fn encode(&self, _: usize, out: &mut Encoder) {
        out.bit(*self);
    }
    fn decode(_: usize, input: &mut Decoder<'_>) -> Result<Self, Malformed> {
        input.bit()
    }
    fn show(&self) -> String {
        if *self { "yes".into() } else { "no".into() }
    }
}

impl Coded for String {
    fn encode(&self, _: usize, out: &mut Encoder) {
        out.raw(self.as_bytes());
    }
    fn decode(_: usize, input: &mut Decoder<'_>) -> Result<Self, Malformed> {
        String::from_utf8(input.raw()?.to_vec()).map_err(|_| Malformed("a text is not UTF-8"))
    }
    fn show(&self) -> String {
        self.clone()
    }
}

impl<T: Coded> Coded for Option<T> {
    fn encode(&self, slot: usize, out: &mut Encoder) {
        out.bit(self.is_some());
        if let Some(value) = self {
            value.encode(slot, out);
        }
    }
    fn decode(slot: usize, input: &mut Decoder<'_>) -> Result<Self, Malformed> {
        if input.bit()? { T::decode(slot, input).map(Some) } else { Ok(None) }
    }
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "-".into(), T::show)
    }
}

/// Each byte has its slot, since a message differs from the last one in few of them. The capacities 15 and 47 are no
/// struct's number.
impl<const CAPACITY: usize> Coded for SchemeMessage<CAPACITY> {
    fn encode(&self, _: usize, out: &mut Encoder) {
        let first = CAPACITY * SLOTS_PER_STRUCT;
        out.number(first, self.as_bytes().len() as u64);
        for (slot, byte) in (first + 1..).zip(self.as_bytes()) {
            out.number(slot, (*byte).into());
        }
    }
    fn decode(_: usize, input: &mut Decoder<'_>) -> Result<Self, Malformed> {
        const PROBLEM: Malformed = Malformed("a message is too long");
        let first = CAPACITY * SLOTS_PER_STRUCT;
        let length = usize::try_from(input.number(first)?).unwrap_or(usize::MAX);
        let mut bytes = [0; CAPACITY];
        for (slot, byte) in (first + 1..).zip(bytes.get_mut(..length).ok_or(PROBLEM)?) {
            *byte = input.number(slot)?.try_into().map_err(|_| PROBLEM)?;
        }
        Self::new(&bytes[..length]).ok_or(Malformed("a message is empty"))
    }
    fn show(&self) -> String {
        self.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A type around a `u64`.
macro_rules! coded_unit {
    ($type:ty, $from:path, $into:path, $show:expr) => {
        impl Coded for $type {
            fn encode(&self, slot: usize, out: &mut Encoder) {
                out.number(slot, $into(*self));
            }
            fn decode(slot: usize, input: &mut Decoder<'_>) -> Result<Self, Malformed> {
                input.number(slot).map($from)
            }
            fn show(&self) -> String {
                $show(*self)
            }
        }
    };
}

coded_unit!(Bytes, Bytes::new, Bytes::get, |bytes: Bytes| bytes.to_string());
coded_unit!(Rate, Rate::from_bytes_per_sec, Rate::as_bytes_per_sec, |rate: Rate| rate.to_string());
coded_unit!(Time, Time::from_nanos, Time::as_nanos, |time: Time| match time {
    Time::NEVER => "never".into(),
    time => decimal(time.as_nanos(), 9, "s"),
});
coded_unit!(Span, Span::from_nanos, Span::as_nanos, |span: Span| decimal(span.as_nanos(), 6, "ms"));

/// `number` / 10^`places`, without zeros at the end.
fn decimal(number: u64, places: usize, unit: &str) -> String {
    let scale = 10_u64.pow(places as u32);
    let fraction = format!("{:0places$}", number % scale);
    match fraction.trim_end_matches('0') {
        "" => format!("{}{unit}", number / scale),
        fraction => format!("{}.{fraction}{unit}", number / scale),
    }
}

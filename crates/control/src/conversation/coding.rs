//! Values as bytes, exact and short.
//!
//! Every number has a slot, which holds the number that it was last. One bit says whether it differs; the difference
//! follows as a zigzag varint where it does. A `bool` is one bit. Eight bits share a byte, which stands where the first
//! of them was needed. Each record begins with a new byte of bits; slots last to the end of the conversation.

/// Bytes of a `u64` as varint, at most.
const VARINT_BYTES: usize = 10;

/// The bytes do not say a value of the type that is expected. The text says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// A value that can be written, read and shown.
pub(super) trait Coded: Sized {
    /// Writes the value; `slot` is the number of its slot, where it has one.
    fn encode(&self, slot: usize, out: &mut Encoder);

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// The bytes are no such value.
    fn decode(slot: usize, input: &mut Decoder<'_>) -> Result<Self, Malformed>;

    /// The value for a reader, with its unit, exact.
    fn show(&self) -> String;

    /// The fields of a struct for a reader.
    fn fields(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// The last number of each slot.
#[derive(Debug, Default)]
pub(super) struct Slots(Vec<u64>);

impl Slots {
    fn of(&mut self, slot: usize) -> &mut u64 {
        if slot >= self.0.len() {
            self.0.resize(slot + 1, 0);
        }
        &mut self.0[slot]
    }
}

/// Writes records.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
    slots: Slots,
    /// Where the byte of bits stands, and how many of its bits are taken.
    bits: Option<(usize, u32)>,
}

impl Encoder {
    pub(super) fn begin_record(&mut self) {
        self.bits = None;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets the bytes, and keeps the slots.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    #[cfg(test)]
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn bit(&mut self, bit: bool) {
        let (at, taken) = match self.bits {
            Some((at, taken)) if taken < 8 => (at, taken),
            _ => {
                self.bytes.push(0);
                (self.bytes.len() - 1, 0)
            }
        };
        self.bytes[at] |= u8::from(bit) << taken;
        self.bits = Some((at, taken + 1));
    }

    pub(super) fn number(&mut self, slot: usize, number: u64) {
        let last = std::mem::replace(self.slots.of(slot), number);
        self.bit(number != last);
        if number != last {
            let difference = number.wrapping_sub(last).cast_signed();
            self.varint(((difference << 1) ^ (difference >> 63)).cast_unsigned());
        }
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Bytes as they are.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// A list: its length, then its values, which share their slots.
    pub(super) fn list<T: Coded>(&mut self, slot: usize, values: &[T]) {
        self.number(slot, values.len() as u64);
        values.iter().for_each(|value| value.encode(slot + 1, self));
    }
}

/// Reads records.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    slots: &'a mut Slots,
    bits: Option<(u8, u32)>,
}

impl<'a> Decoder<'a> {
    /// Reads the record that begins at `at`.
    pub(super) fn new(bytes: &'a [u8], at: usize, slots: &'a mut Slots) -> Self {
        Self { bytes, at, slots, bits: None }
    }

    /// Where the next byte is.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = self.bytes.get(self.at).ok_or(Malformed("a record ends early"))?;
        self.at += 1;
        Ok(*byte)
    }

    pub(super) fn bit(&mut self) -> Result<bool, Malformed> {
        let (byte, taken) = match self.bits {
            Some((byte, taken)) if taken < 8 => (byte, taken),
            _ => (self.byte()?, 0),
        };
        self.bits = Some((byte, taken + 1));
        Ok(byte >> taken & 1 == 1)
    }

    pub(super) fn number(&mut self, slot: usize) -> Result<u64, Malformed> {
        if self.bit()? {
            let zigzag = self.varint()?;
            let difference = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
            let last = self.slots.of(slot);
            *last = last.wrapping_add(difference);
        }
        Ok(*self.slots.of(slot))
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for place in 0..VARINT_BYTES {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed("a number has more than 64 bits"))
    }

    pub(super) fn raw(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.varint()?;
        let rest = &self.bytes[self.at..];
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let taken = taken.ok_or(Malformed("a text is longer than its record"))?;
        self.at += taken.len();
        Ok(taken)
    }

    /// What [`Encoder::list`] wrote.
    pub(super) fn list<T: Coded>(&mut self, slot: usize) -> Result<Vec<T>, Malformed> {
        let length = self.number(slot)?;
        // A value has one bit at least.
        if length / 8 > (self.bytes.len() - self.at) as u64 {
            return Err(Malformed("a list is longer than its record"));
        }
        (0..length).map(|_| T::decode(slot + 1, self)).collect()
    }
}

//! The vocabulary `kernel`: what the kernel's TCP asked the integer cores of its schemes, and what they decided there.
//!
//! A step is memory that the kernel's programs and `cellcc-kernel` lay out alike. Here it is only bytes, in words of eight.

use super::coding::{Coded, Decoder, Encoder, Malformed};
use super::fields::SLOTS_PER_STRUCT;
use super::file::{ConversationError, Header, Reader, Writer};
use crate::contract::Context;
use cellcc_units::Bytes;
use std::io::{Read, Write};

const VOCABULARY: &str = "kernel";
/// Words of a step have the slots from these struct numbers on, which no struct has.
const BEFORE: usize = 64 * SLOTS_PER_STRUCT;
const AFTER: usize = 80 * SLOTS_PER_STRUCT;
/// More than any step has: the slots of the two do not meet.
const MOST_WORDS: usize = AFTER - BEFORE - 1;

/// A step of a core in the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Which core, and of which socket.
    pub of: Vec<u64>,
    /// All that it was given.
    pub before: Vec<u64>,
    /// The same once it had decided.
    pub after: Vec<u64>,
}

impl Step {
    fn encode(&self, out: &mut Encoder) {
        for (words, first) in [(&self.of, 0), (&self.before, BEFORE), (&self.after, AFTER)] {
            out.number(first, words.len() as u64);
            // Each word has its slot, since a step differs from the last one in few of them.
            for (slot, word) in (first + 1..).zip(words) {
                word.encode(slot, out);
            }
        }
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let mut read = |first| {
            let length = input.number(first)?;
            if length > MOST_WORDS as u64 {
                return Err(Malformed("a step is too long"));
            }
            (first + 1..).take(length as usize).map(|slot| u64::decode(slot, input)).collect()
        };
        Ok(Self { of: read(0)?, before: read(BEFORE)?, after: read(AFTER)? })
    }
}

/// Writes steps. The conversation ends, whole, when this is dropped, or where the destination fails, which must report that
/// itself.
pub struct StepWriter(Writer);

impl StepWriter {
    /// A conversation of these schemes of the kernel.
    pub fn new(destination: Box<dyn Write + Send>, schemes: &str) -> Self {
        let header = Header {
            vocabulary: VOCABULARY.into(),
            scheme: schemes.into(),
            // The kernel's sockets have their own.
            context: Context { packet: Bytes::ZERO, initial_window: Bytes::ZERO, seed: 0 },
            code: env!("CARGO_PKG_VERSION").into(),
        };
        Self(Writer::new(destination, &header))
    }

    /// Writes a step.
    pub fn write(&mut self, step: &Step) {
        self.0.record(|out| step.encode(out));
    }
}

/// Reads steps.
#[derive(Debug)]
pub struct StepReader<R>(Reader<R>);

impl<R: Read> StepReader<R> {
    /// Reads what comes before the steps. Reading is buffered.
    ///
    /// # Errors
    /// See [`ConversationError`].
    pub fn new(source: R) -> Result<Self, ConversationError> {
        Ok(Self(Reader::new(source, VOCABULARY)?))
    }

    /// Schemes, and the version of the code that recorded them.
    pub fn header(&self) -> &Header {
        self.0.header()
    }

    /// The next step; `None` at the end.
    ///
    /// # Errors
    /// The file ends too soon, or is damaged.
    pub fn next_step(&mut self) -> Result<Option<Step>, ConversationError> {
        self.0.record(Step::decode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(steps: &[Step]) -> Vec<u8> {
        let file = Shared::default();
        let mut writer = StepWriter::new(Box::new(file.clone()), "cellcc_vegas");
        steps.iter().for_each(|step| writer.write(step));
        drop(writer);
        let bytes = file.0.lock().expect("no panic");
        bytes.clone()
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let words = || prop::collection::vec(any::<u64>(), 0..30);
        (words(), words(), words()).prop_map(|(of, before, after)| Step { of, before, after })
    }

    proptest! {
        #[test]
        fn steps_read_back_as_they_were_written(steps in prop::collection::vec(any_step(), 0..20)) {
            let bytes = written(&steps);
            let mut reader = StepReader::new(&*bytes).expect("a conversation");
            prop_assert_eq!(&reader.header().scheme, "cellcc_vegas");
            for step in steps {
                prop_assert_eq!(reader.next_step().expect("whole"), Some(step));
            }
            prop_assert_eq!(reader.next_step().expect("whole"), None);
        }

        #[test]
        fn a_changed_byte_is_refused_and_nothing_panics(step in any_step(), at in any::<prop::sample::Index>(), by in 1..=255_u8) {
            let mut bytes = written(&[step]);
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            let read = StepReader::new(&*bytes).and_then(|mut reader| {
                while reader.next_step()?.is_some() {}
                Ok(())
            });
            prop_assert!(read.is_err());
        }
    }
}

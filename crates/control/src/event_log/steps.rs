//! The vocabulary `kernel`: questions of the kernel's TCP to the integer cores of its schemes, and their decisions.
//!
//! A step is memory that the kernel's programs and `cellcc-kernel` lay out alike. Here it is only bytes, in words of eight.

use super::file::{EventLogError, Header, Reader, Writer};
use crate::contract::Context;
use cellcc_units::Bytes;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

pub(super) const VOCABULARY: &str = "kernel";

/// A step of a core in the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The core, and its socket.
    pub of: Vec<u64>,
    /// All that it was given.
    pub before: Vec<u64>,
    /// The state after the decision.
    pub after: Vec<u64>,
}

/// Writes steps. The file ends, whole, when this is dropped, or where the destination fails, which must report that
/// itself.
pub struct StepWriter(Writer);

impl StepWriter {
    /// A log of these schemes of the kernel.
    pub fn new(destination: Box<dyn Write + Send>, schemes: &str) -> Self {
        let header = Header {
            vocabulary: VOCABULARY.into(),
            scheme: schemes.into(),
            // The kernel's sockets have their own.
            context: Context::new(Bytes::ZERO, Bytes::ZERO, 0),
            code: env!("CARGO_PKG_VERSION").into(),
        };
        Self(Writer::new(destination, &header))
    }

    /// Writes a step.
    pub fn write(&mut self, step: &Step) {
        self.0.record(step);
    }
}

/// Reads steps.
#[derive(Debug)]
pub struct StepReader<R>(Reader<R>);

impl<R: Read> StepReader<R> {
    /// Reads the part before the steps. Reading is buffered.
    ///
    /// # Errors
    /// See [`EventLogError`].
    pub fn new(source: R) -> Result<Self, EventLogError> {
        Self::read(Reader::new(source)?)
    }

    pub(super) fn read(reader: Reader<R>) -> Result<Self, EventLogError> {
        reader.of(VOCABULARY).map(Self)
    }

    /// Schemes, and the version of the code that recorded them.
    pub fn header(&self) -> &Header {
        self.0.header()
    }

    /// The next step; `None` at the end.
    ///
    /// # Errors
    /// The file ends too soon, or is damaged.
    pub fn next_step(&mut self) -> Result<Option<Step>, EventLogError> {
        self.0.record(Ok)
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
            let mut reader = StepReader::new(&*bytes).expect("a log");
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

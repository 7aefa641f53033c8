//! The file: its subject, its records in blocks, its end.
//!
//! ```text
//! "cellconv", the version of the format (one byte), the header as a block, blocks of records, a block of no bytes
//! a block: its length (4 bytes, little-endian), the CRC-32 of its bytes (4 bytes, little-endian), its bytes
//! its bytes: records in postcard's form, one after the other, compressed by DEFLATE
//! ```
//! A block holds whole records, so that a recording that was cut off can be read up to its last whole block.

use crate::contract::Context;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use thiserror::Error;

const MAGIC: &[u8; 8] = b"cellconv";
/// The version of the format: of this file, and of its vocabularies.
pub const FORMAT: u8 = 4;
/// A block is written once its records have so many bytes.
const BLOCK_BYTES: usize = 1 << 16;
const BLOCK_HEAD_BYTES: usize = 8;
/// Maximum size of a block, compressed or not: one acknowledgement of 2^20 packets, each with eleven values of at most ten bytes.
const MOST_BLOCK_BYTES: u32 = 1 << 28;

/// The subject of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The vocabulary of its records: `controller`, or `kernel`.
    pub vocabulary: String,
    /// The canonical text of the scheme.
    pub scheme: String,
    /// The context of the controller.
    pub context: Context,
    /// The version of the code that recorded it.
    pub code: String,
}

/// A record of the right form that cannot be valid. The text says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// Why a file cannot be read as an event log. The message says where, and what to do.
#[derive(Debug, Error)]
pub enum EventLogError {
    /// Another kind of file.
    #[error("this is not a recorded event log: such a file begins with `cellconv`")]
    Foreign,
    /// Another version of the format.
    #[error(
        "the event log has version {0} of the format, and this cellcc reads version {FORMAT}: replay it with the cellcc that \
         recorded it, or record it again"
    )]
    Format(u8),
    /// Records of another kind.
    #[error("the event log is in the vocabulary `{found}`; the reader expects `{expected}`")]
    Vocabulary {
        /// That of the file.
        found: String,
        /// The one that can be read.
        expected: &'static str,
    },
    /// The file ends too soon: the recording was cut off, or the copy.
    #[error(
        "the event log is cut off at byte {offset}, after event {events}: its recording did not end, or a part of the file is \
         missing; record or copy it again"
    )]
    CutOff {
        /// Bytes of the file up to there.
        offset: u64,
        /// Records up to there.
        events: u64,
    },
    /// The file was changed after it was written.
    #[error(
        "the event log is damaged at byte {offset}, after event {events}: {problem}; record or copy it again"
    )]
    Damaged {
        /// Bytes of the file up to there.
        offset: u64,
        /// Records up to there.
        events: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// The file cannot be read.
    #[error("cannot read the event log: {0}")]
    Unreadable(#[from] io::Error),
}

/// Writes a log. It ends, whole, when this is dropped.
pub(super) struct Writer {
    /// `None` after it has failed: who handed it in knows why.
    destination: Option<Box<dyn Write + Send>>,
    block: Vec<u8>,
}

impl Writer {
    pub(super) fn new(destination: Box<dyn Write + Send>, header: &Header) -> Self {
        let mut writer = Self { destination: Some(destination), block: Vec::new() };
        write(&mut writer.destination, &[&MAGIC[..], &[FORMAT]].concat());
        writer.record(header);
        writer.end_block();
        writer
    }

    /// Writes a record.
    pub(super) fn record(&mut self, record: &impl Serialize) {
        if self.destination.is_none() {
            return;
        }
        self.block = postcard::to_extend(record, std::mem::take(&mut self.block))
            .expect("postcard writes all that serde derives, and memory takes it");
        if self.block.len() >= BLOCK_BYTES {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::fast());
        let deflated = deflated.write_all(&self.block).and_then(|()| deflated.finish());
        let block = deflated.expect("memory takes it");
        write(&mut self.destination, &head(&block));
        write(&mut self.destination, &block);
        self.block.clear();
    }
}

/// The caller knows why its destination fails: nothing more is written then.
fn write(destination: &mut Option<Box<dyn Write + Send>>, bytes: &[u8]) {
    if destination.as_mut().is_some_and(|destination| destination.write_all(bytes).is_err()) {
        *destination = None;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.block.is_empty() {
            self.end_block();
        }
        write(&mut self.destination, &head(&[]));
        if let Some(destination) = &mut self.destination {
            let _ = destination.flush();
        }
    }
}

fn head(block: &[u8]) -> [u8; BLOCK_HEAD_BYTES] {
    let length = u32::try_from(block.len()).expect("a block ends with the record that makes it long");
    let mut head = [0; BLOCK_HEAD_BYTES];
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..].copy_from_slice(&crc32fast::hash(block).to_le_bytes());
    head
}

/// Reads a log.
#[derive(Debug)]
pub(super) struct Reader<R> {
    blocks: Blocks<R>,
    block: Vec<u8>,
    /// Where the next record begins in the block.
    at: usize,
    header: Header,
}

impl<R: Read> Reader<R> {
    /// Reads the part before the records.
    pub(super) fn new(source: R) -> Result<Self, EventLogError> {
        let mut blocks = Blocks { source, offset: 0, events: 0, have_ended: false };
        blocks.begin()?;
        let block = blocks.next()?.ok_or_else(|| blocks.damaged("it has no header"))?;
        let header: Header =
            postcard::from_bytes(&block).map_err(|_| blocks.damaged("its header has another form"))?;
        Ok(Self { blocks, block: Vec::new(), at: 0, header })
    }

    /// Refuses records in another vocabulary.
    pub(super) fn of(self, vocabulary: &'static str) -> Result<Self, EventLogError> {
        if self.header.vocabulary == vocabulary {
            return Ok(self);
        }
        Err(EventLogError::Vocabulary { found: self.header.vocabulary, expected: vocabulary })
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// An error for bytes up to here that are not a log.
    pub(super) fn damaged(&self, problem: &'static str) -> EventLogError {
        self.blocks.damaged(problem)
    }

    /// The result of `check` on the next record; `None` at the end.
    pub(super) fn record<T: DeserializeOwned>(
        &mut self,
        check: impl FnOnce(T) -> Result<T, Malformed>,
    ) -> Result<Option<T>, EventLogError> {
        if self.at == self.block.len() {
            let Some(block) = self.blocks.next()? else { return Ok(None) };
            (self.block, self.at) = (block, 0);
        }
        let read = postcard::take_from_bytes(&self.block[self.at..]);
        let (record, rest) = read.map_err(|_| self.damaged("the next bytes are not a record"))?;
        let record = check(record).map_err(|Malformed(problem)| self.damaged(problem))?;
        self.at = self.block.len() - rest.len();
        self.blocks.events += 1;
        Ok(Some(record))
    }
}

/// The blocks of a file.
#[derive(Debug)]
struct Blocks<R> {
    source: R,
    /// Bytes up to the end of the last block, its head included.
    offset: u64,
    events: u64,
    have_ended: bool,
}

impl<R: Read> Blocks<R> {
    /// Writes the start of a file of this kind.
    fn begin(&mut self) -> Result<(), EventLogError> {
        let begin = self.take(MAGIC.len() as u64)?;
        match self.take(1)?[..] {
            _ if begin.is_empty() || !MAGIC.starts_with(&begin) => Err(EventLogError::Foreign),
            [FORMAT] => Ok(()),
            [other] => Err(EventLogError::Format(other)),
            _ => Err(self.cut_off()),
        }
    }

    /// The next block; `None` at the end of the log.
    fn next(&mut self) -> Result<Option<Vec<u8>>, EventLogError> {
        if self.have_ended {
            return Ok(None);
        }
        let begins_at = self.offset;
        let head: [u8; BLOCK_HEAD_BYTES] =
            self.take(BLOCK_HEAD_BYTES as u64)?.try_into().map_err(|_| self.cut_off())?;
        let [length, checksum] = [[head[0], head[1], head[2], head[3]], [head[4], head[5], head[6], head[7]]];
        let length = u32::from_le_bytes(length);
        if length > MOST_BLOCK_BYTES {
            self.offset = begins_at;
            return Err(self.damaged("the block that begins there is longer than any that is written"));
        }
        let block = self.take(length.into())?;
        if block.len() < length as usize {
            return Err(self.cut_off());
        }
        if crc32fast::hash(&block) != u32::from_le_bytes(checksum) {
            self.offset = begins_at;
            return Err(self.damaged("the checksum of the block that begins there is wrong"));
        }
        if length > 0 {
            return self.inflated(&block).map(Some);
        }
        self.have_ended = true;
        if self.take(1)?.is_empty() { Ok(None) } else { Err(self.damaged("something follows its end")) }
    }

    /// The records of a block; at least one.
    fn inflated(&self, block: &[u8]) -> Result<Vec<u8>, EventLogError> {
        let mut records = Vec::new();
        let read = DeflateDecoder::new(block).take(u64::from(MOST_BLOCK_BYTES) + 1).read_to_end(&mut records);
        match read {
            Ok(1..) if records.len() <= MOST_BLOCK_BYTES as usize => Ok(records),
            _ => Err(self.damaged("the block that ends there was not compressed by this program")),
        }
    }

    /// Takes `count` bytes, or fewer at the end of the file.
    fn take(&mut self, count: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.source.by_ref().take(count).read_to_end(&mut bytes)?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }

    fn cut_off(&self) -> EventLogError {
        EventLogError::CutOff { offset: self.offset, events: self.events }
    }

    fn damaged(&self, problem: &'static str) -> EventLogError {
        EventLogError::Damaged { offset: self.offset, events: self.events, problem }
    }
}

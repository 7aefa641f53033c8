//! The file: what a conversation is, its records in blocks, its end.
//!
//! ```text
//! "cellconv", the version of the format (one byte), the header as a block, blocks of records, a block of no bytes
//! a block: its length (4 bytes, little-endian), the CRC-32 of its bytes (4 bytes, little-endian), its bytes
//! ```
//! A block holds whole records, so that a recording that was cut off can be read up to its last whole block.

use super::coding::{Coded, Decoder, Encoder, Malformed, Slots};
use super::fields::coded_struct;
use crate::contract::Context;
use std::io::{self, Read, Write};
use thiserror::Error;

const MAGIC: &[u8; 8] = b"cellconv";
/// Counts the changes of the format: of this file, of the coding, of what is listed for a vocabulary.
const FORMAT: u8 = 1;
/// A block is written once it has so many bytes.
const BLOCK_BYTES: usize = 1 << 16;
const BLOCK_HEAD_BYTES: usize = 8;
/// A longer block is none of ours: the longest ends with the acknowledgement of 2^20 packets, the most that a flow of a
/// driver has in flight, each with eleven values of at most ten bytes.
const MOST_BLOCK_BYTES: u32 = 1 << 28;

/// What a conversation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// What its records hold: `controller`, or `kernel`.
    pub vocabulary: String,
    /// The canonical text of the scheme.
    pub scheme: String,
    /// What the controller was built with.
    pub context: Context,
    /// The version of the code that recorded it.
    pub code: String,
}

coded_struct!(0: Header { vocabulary, scheme, context, code });
coded_struct!(1: Context { packet, initial_window, seed });

/// Why a file cannot be read as a conversation. The message says where, and what to do.
#[derive(Debug, Error)]
pub enum ConversationError {
    /// Another kind of file.
    #[error("this is no recorded conversation: such a file begins with `cellconv`")]
    Foreign,
    /// Another version of the format.
    #[error(
        "the conversation has version {0} of the format, and this cellcc reads version {FORMAT}: replay it with the cellcc that \
         recorded it, or record it again"
    )]
    Format(u8),
    /// Records of another kind.
    #[error("the conversation is in the vocabulary `{found}`; what was asked for reads `{expected}`")]
    Vocabulary {
        /// That of the file.
        found: String,
        /// The one that can be read.
        expected: &'static str,
    },
    /// The file ends too soon: the recording was cut off, or the copy.
    #[error(
        "the conversation is cut off at byte {offset}, after event {events}: its recording did not end, or a part of the file is \
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
        "the conversation is damaged at byte {offset}, after event {events}: {problem}; record or copy it again"
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
    #[error("cannot read the conversation: {0}")]
    Unreadable(#[from] io::Error),
}

/// Writes a conversation. It ends, whole, when this is dropped.
pub(super) struct Writer {
    /// `None` after it has failed: who handed it in knows why.
    destination: Option<Box<dyn Write + Send>>,
    encoder: Encoder,
}

impl Writer {
    pub(super) fn new(destination: Box<dyn Write + Send>, header: &Header) -> Self {
        let mut writer = Self { destination: Some(destination), encoder: Encoder::default() };
        write(&mut writer.destination, &[&MAGIC[..], &[FORMAT]].concat());
        header.encode(0, &mut writer.encoder);
        writer.end_block();
        writer.encoder = Encoder::default();
        writer
    }

    /// Writes the record that `encode` puts into the encoder.
    pub(super) fn record(&mut self, encode: impl FnOnce(&mut Encoder)) {
        if self.destination.is_none() {
            return;
        }
        self.encoder.begin_record();
        encode(&mut self.encoder);
        if self.encoder.bytes().len() >= BLOCK_BYTES {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        let Self { destination, encoder } = self;
        let block = encoder.bytes();
        write(destination, &head(block));
        write(destination, block);
        encoder.clear();
    }
}

/// Who handed in the destination knows why it fails: nothing more is written then.
fn write(destination: &mut Option<Box<dyn Write + Send>>, bytes: &[u8]) {
    if destination.as_mut().is_some_and(|destination| destination.write_all(bytes).is_err()) {
        *destination = None;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.encoder.bytes().is_empty() {
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

/// Reads a conversation.
#[derive(Debug)]
pub(super) struct Reader<R> {
    blocks: Blocks<R>,
    block: Vec<u8>,
    /// Where the next record begins in the block.
    at: usize,
    slots: Slots,
    header: Header,
}

impl<R: Read> Reader<R> {
    /// Reads what comes before the records, which must be of `vocabulary`.
    pub(super) fn new(source: R, vocabulary: &'static str) -> Result<Self, ConversationError> {
        let mut blocks = Blocks { source, offset: 0, events: 0, have_ended: false };
        blocks.begin()?;
        let block = blocks.next()?.ok_or_else(|| blocks.damaged("it has no header"))?;
        let mut slots = Slots::default();
        let header = Header::decode(0, &mut Decoder::new(&block, 0, &mut slots))
            .map_err(|Malformed(problem)| blocks.damaged(problem))?;
        if header.vocabulary != vocabulary {
            return Err(ConversationError::Vocabulary { found: header.vocabulary, expected: vocabulary });
        }
        Ok(Self { blocks, block: Vec::new(), at: 0, slots: Slots::default(), header })
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// What was read up to here is no conversation.
    pub(super) fn damaged(&self, problem: &'static str) -> ConversationError {
        self.blocks.damaged(problem)
    }

    /// What `decode` makes of the next record; `None` at the end.
    pub(super) fn record<T>(
        &mut self,
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<T, Malformed>,
    ) -> Result<Option<T>, ConversationError> {
        if self.at == self.block.len() {
            let Some(block) = self.blocks.next()? else { return Ok(None) };
            (self.block, self.at) = (block, 0);
        }
        let mut decoder = Decoder::new(&self.block, self.at, &mut self.slots);
        let record = decode(&mut decoder).map_err(|Malformed(problem)| self.blocks.damaged(problem))?;
        self.at = decoder.at();
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
    /// What a file of this kind begins with.
    fn begin(&mut self) -> Result<(), ConversationError> {
        let begin = self.take(MAGIC.len() as u64)?;
        match self.take(1)?[..] {
            _ if begin.is_empty() || !MAGIC.starts_with(&begin) => Err(ConversationError::Foreign),
            [FORMAT] => Ok(()),
            [other] => Err(ConversationError::Format(other)),
            _ => Err(self.cut_off()),
        }
    }

    /// The next block; `None` at the end of the conversation.
    fn next(&mut self) -> Result<Option<Vec<u8>>, ConversationError> {
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
            return Ok(Some(block));
        }
        self.have_ended = true;
        if self.take(1)?.is_empty() { Ok(None) } else { Err(self.damaged("something follows its end")) }
    }

    /// So many bytes, or fewer at the end of the file.
    fn take(&mut self, count: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.source.by_ref().take(count).read_to_end(&mut bytes)?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }

    fn cut_off(&self) -> ConversationError {
        ConversationError::CutOff { offset: self.offset, events: self.events }
    }

    fn damaged(&self, problem: &'static str) -> ConversationError {
        ConversationError::Damaged { offset: self.offset, events: self.events, problem }
    }
}

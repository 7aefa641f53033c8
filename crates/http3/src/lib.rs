//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! HTTP/3 (RFC 9114) over noq, by h3: files for curl and browsers, with any congestion control that noq was given.
//!
//! | to find | look in |
//! |---|---|
//! | a connection: its requests, its bounds, its end | `serve` |
//! | one request, from its header to the last byte | `exchange` |
//! | the answer to a request for a file: conditions, ranges | `answer` |
//! | a session of WebTransport, and its frames | `frames` |
//! | noq's streams as h3 wants them, and how much a peer may send on one | [`Adapter`] |

// Connections take real time: this crate reads clocks.
#![allow(clippy::disallowed_methods)]

mod adapter;
mod answer;
mod exchange;
mod frames;
mod serve;

pub use adapter::{Adapter, Stream};
pub use answer::{Answer, Facts};
pub use frames::MAX_FRAME_BYTES;
pub use serve::{MAX_REQUESTS_AT_ONCE, MAX_UNIDIRECTIONAL, REQUEST_BYTES, SILENCE, Served, serve};

use bytes::Bytes;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// The application protocol (RFC 9114, section 3.1).
pub const ALPN: &[u8] = b"h3";

/// Bytes of a file read at once; a transfer with 16 streams has 4 MB on their way between disk and network.
pub const PIECE_BYTES: u32 = 1 << 18;

/// Reason why a file is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No such file exists, or it may not be served: 404.
    Absent,
    /// The limit of open files is reached: 503.
    Busy,
}

/// Opens the file of this name; gives with it its place among the files that may be open.
pub type OpenFile = Box<dyn Fn(&str) -> Result<(File, OwnedSemaphorePermit), Refusal> + Send + Sync>;

/// A folder as HTTP shows it to one client.
pub struct Site {
    /// Opens its files.
    pub open: OpenFile,
    /// A connection on which no data are sent for twice this long is closed: its client asks for nothing, or does not read.
    pub silence: Duration,
    /// The UDP port, for `Alt-Svc` (RFC 7838).
    pub port: u16,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("port", &self.port).finish_non_exhaustive()
    }
}

/// `header`, and after it `length` bytes of a file.
///
/// # Errors
/// The file is shorter, or cannot be read.
pub fn read_piece(mut file: &File, header: &[u8], at: u64, length: u64) -> io::Result<Bytes> {
    let mut piece = vec![0; header.len() + length as usize];
    piece[..header.len()].copy_from_slice(header);
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut piece[header.len()..])?;
    Ok(piece.into())
}

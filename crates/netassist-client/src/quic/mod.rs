//! QUIC between the service and its clients: both ends have certificates, registrations go over one stream, records in datagrams.

mod client;

use crate::protocol::{IDLE_TIMEOUT, KEEP_ALIVE, MalformedMessage, announced};
use noq::{ReadExactError, RecvStream, TransportConfig, VarInt};
use thiserror::Error;

pub(crate) use client::Dialler;

/// Bound of a peer's unread messages: they are read at once, and are short.
const STREAM_WINDOW: u32 = 1 << 16;
/// Records that wait for a congested path: those of 4,000 users in one period. Older ones make room for newer ones. As many as
/// 256 clients that acknowledge nothing make the service hold 64 MiB.
const DATAGRAM_BUFFER_BYTES: usize = 256 << 10;
/// Records that a client has not taken yet: four times as many, since its reader may be late.
const DATAGRAM_RECEIVE_BYTES: usize = 1 << 20;

/// The settings of both ends. `unread_datagrams`: how many bytes of them may wait to be read.
pub fn transport(unread_datagrams: usize) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let idle = VarInt::from_u32(IDLE_TIMEOUT.as_millis() as u32);
    transport
        .max_idle_timeout(Some(idle.into()))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(STREAM_WINDOW))
        .datagram_receive_buffer_size(Some(unread_datagrams))
        .datagram_send_buffer_size(DATAGRAM_BUFFER_BYTES);
    transport
}

// Messages on a stream.

/// Why no message was read.
#[derive(Debug, Error)]
pub enum FramingError {
    /// The peer sends an invalid message.
    #[error(transparent)]
    Malformed(#[from] MalformedMessage),
    /// The connection or the stream has ended.
    #[error("the connection is lost: {0}")]
    Lost(String),
}

/// The text of the next message; `None` where the peer has ended the stream. Not cancel-safe.
///
/// # Errors
/// It is too long, or the connection is lost.
pub async fn read(stream: &mut RecvStream) -> Result<Option<Vec<u8>>, FramingError> {
    let mut length = [0; 4];
    if !fill(stream, &mut length).await? {
        return Ok(None);
    }
    let mut text = vec![0; announced(length)?];
    Ok(fill(stream, &mut text).await?.then_some(text))
}

/// False where the stream ends before.
async fn fill(stream: &mut RecvStream, buffer: &mut [u8]) -> Result<bool, FramingError> {
    match stream.read_exact(buffer).await {
        Ok(()) => Ok(true),
        Err(ReadExactError::FinishedEarly(_)) => Ok(false),
        Err(ReadExactError::ReadError(error)) => Err(FramingError::Lost(error.to_string())),
    }
}

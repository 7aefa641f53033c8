//! Messages on a stream.

use crate::protocol::{MalformedMessage, announced};
use noq::{ReadExactError, RecvStream};
use thiserror::Error;

/// Why no message was read.
#[derive(Debug, Error)]
pub enum FramingError {
    /// The peer sends what is no message.
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

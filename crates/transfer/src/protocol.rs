//! The messages on the control stream: JSON, each after its length in four bytes, the most significant first.

use crate::TransferError;
use crate::error::{of_read, of_write};
use crate::progress::FlowSample;
use cellcc_experiment::{Distribution, Source};
use cellcc_units::{Bytes, Span};
use noq::{ReadExactError, RecvStream, SendStream};
use serde::{Deserialize, Serialize};

/// Of the protocol. A server refuses a request of another version, and says which it speaks.
pub const VERSION: u32 = 1;
/// Data connections of one transfer.
pub const MAX_CONNECTIONS: u16 = 256;
/// Streams of one data connection.
pub const MAX_STREAMS: u16 = 256;
/// Between two reports of a running transfer.
pub const MIN_INTERVAL: Span = Span::from_millis(50);

/// The samples of 256 connections have 256 kB; nothing is longer than this.
const MAX_MESSAGE: usize = 1 << 22;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// Who sends.
    pub direction: Direction,
    /// What is sent.
    pub payload: Payload,
    /// The congestion control of the data's sender; none: the server's default.
    pub scheme: Option<String>,
    /// How many data connections.
    pub connections: u16,
    /// How many streams share each of them.
    pub streams: u16,
    /// How often the server reports.
    pub interval: Span,
}

/// Who sends the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The server.
    Get,
    /// The client.
    Put,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Payload {
    /// Made up: bulk, sized (all connections together), a rate, or frames (for each connection).
    Made {
        /// What there is to send.
        source: Source,
        /// When it ends; none: with the source.
        time: Option<Span>,
    },
    /// A file below the server's root.
    File {
        /// Its path there, parts separated by `/`.
        name: String,
        /// Its size, where the client sends it.
        bytes: Option<Bytes>,
    },
}

impl Payload {
    /// The deadline of frames.
    pub(crate) fn deadline(&self) -> Option<Span> {
        match self {
            Self::Made { source: Source::Frames { deadline, .. }, .. } => Some(*deadline),
            _ => None,
        }
    }

    /// When sending is to stop, where it does not by itself.
    pub(crate) fn time(&self) -> Option<Span> {
        match self {
            Self::Made { time, .. } => *time,
            Self::File { .. } => None,
        }
    }

    /// How many bytes there are in all, where that is known before.
    pub(crate) fn bytes(&self) -> Option<Bytes> {
        match self {
            Self::Made { source: Source::Sized(bytes), .. } => Some(*bytes),
            Self::Made { .. } => None,
            Self::File { bytes, .. } => *bytes,
        }
    }
}

/// Everything that is said on a control stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Message {
    /// The client's first.
    Request(Request),
    /// The server's answer; where it refuses, it closes the connection with the reason instead.
    Accepted {
        /// The scheme in its canonical form.
        scheme: String,
        /// One for each data connection.
        tickets: Vec<crate::tickets::Ticket>,
        /// The size of the file to get.
        bytes: Option<Bytes>,
        /// The server's software.
        software: String,
    },
    /// The client asks what time it is.
    Ping {
        /// The client's clock.
        client_ns: u64,
    },
    /// The server says what time it is.
    Pong {
        /// As it was asked.
        client_ns: u64,
        /// The server's clock.
        server_ns: u64,
    },
    /// All data connections are there: the sender may begin.
    Start {
        /// By how much the server's clock is ahead of the client's.
        server_ahead_ns: i64,
    },
    /// How the flows do, as the server sees it.
    Interval {
        /// Since the start, at the server.
        at: Span,
        /// One for each data connection.
        flows: Vec<FlowSample>,
    },
    /// The client was interrupted: whoever sends ends as if the time were over.
    Stop,
    /// This side is through: the sender first, then the receiver.
    Ended(Report),
}

/// What one side knows of a transfer at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// From the start to the last byte that was sent and acknowledged, or received.
    pub(crate) active: Span,
    /// One for each data connection.
    pub(crate) flows: Vec<FlowReport>,
}

/// What one side knows of a data connection at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowReport {
    /// As in the reports between.
    pub(crate) sample: FlowSample,
    /// Streams that the sender opened.
    pub(crate) streams: u64,
    /// Frames that the sender made, or that the receiver had in time.
    pub(crate) frames: u64,
    /// Of the sender.
    pub(crate) rtt: Distribution,
    /// What the scheme remarks.
    pub(crate) notes: Vec<String>,
}

/// Sends a message.
pub(crate) async fn write(
    stream: &mut SendStream,
    message: &Message,
    peer: &'static str,
) -> Result<(), TransferError> {
    let text = serde_json::to_vec(message).map_err(|error| TransferError::Protocol(error.to_string()))?;
    let mut framed = (text.len() as u32).to_be_bytes().to_vec();
    framed.extend(text);
    stream.write_all(&framed).await.map_err(|error| of_write(error, peer))
}

/// Waits for a message; `None`: the peer has ended the conversation. Not to be cancelled: what was read of it would be lost.
pub(crate) async fn read(
    stream: &mut RecvStream,
    peer: &'static str,
) -> Result<Option<Message>, TransferError> {
    let mut length = [0; 4];
    if !read_exact(stream, &mut length, peer).await? {
        return Ok(None);
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_MESSAGE {
        return Err(TransferError::Protocol(format!("a message of {length} bytes")));
    }
    let mut text = vec![0; length];
    if !read_exact(stream, &mut text, peer).await? {
        return Ok(None);
    }
    decode(&text).map(Some)
}

/// False where the stream ends before the buffer is full.
async fn read_exact(
    stream: &mut RecvStream,
    buffer: &mut [u8],
    peer: &'static str,
) -> Result<bool, TransferError> {
    match stream.read_exact(buffer).await {
        Ok(()) => Ok(true),
        Err(ReadExactError::FinishedEarly(_)) => Ok(false),
        Err(ReadExactError::ReadError(error)) => Err(of_read(error, peer)),
    }
}

/// Reads a message; the version of a request comes before its other fields, which another version may have otherwise.
fn decode(text: &[u8]) -> Result<Message, TransferError> {
    let problem = |error: serde_json::Error| TransferError::Protocol(error.to_string());
    let value: serde_json::Value = serde_json::from_slice(text).map_err(problem)?;
    if let Some(version) = value.pointer("/request/version")
        && version != VERSION
    {
        return Err(TransferError::Protocol(format!(
            "version {version} of the protocol is asked for, and this is version {VERSION}; use the same cellcc at both ends"
        )));
    }
    serde_json::from_value(value).map_err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            version: VERSION,
            direction: Direction::Get,
            payload: Payload::Made { source: Source::Bulk, time: Some(Span::from_secs(10)) },
            scheme: Some("cubic".into()),
            connections: 1,
            streams: 16,
            interval: Span::from_secs(1),
        }
    }

    #[test]
    fn a_request_reads_back() {
        let message = Message::Request(request());
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(decode(text.as_bytes()).unwrap(), message, "{text}");
    }

    #[test]
    fn another_version_is_named_whatever_else_it_says() {
        let error = decode(br#"{"request":{"version":7,"colour":"blue"}}"#).unwrap_err();
        assert!(error.to_string().contains("version 7"), "{error}");
    }

    #[test]
    fn an_unknown_field_is_refused_by_name() {
        let mut value = serde_json::to_value(Message::Request(request())).unwrap();
        value["request"]["colour"] = "blue".into();
        let error = decode(value.to_string().as_bytes()).unwrap_err();
        assert!(error.to_string().contains("colour"), "{error}");
    }
}

//! The messages on the control stream: JSON, each after its length in four bytes, the most significant first.

use crate::TransferError;
use crate::error::{of_read, of_write};
use crate::progress::FlowSample;
use cellcc_experiment::{Distribution, Source};
use cellcc_units::{Bytes, Span};
use noq::{ReadExactError, RecvStream, SendStream};
use serde::{Deserialize, Serialize};

/// Version of the protocol. A server refuses a request of another version, and names its own.
pub const VERSION: u32 = 1;
/// Most data connections of one transfer.
pub const MAX_CONNECTIONS: u16 = 256;
/// Most streams of one data connection.
pub const MAX_STREAMS: u16 = 256;
/// Shortest interval between two reports of a running transfer.
pub const MIN_INTERVAL: Span = Span::from_millis(50);

/// Longest first message, in bytes: a request, or its answer. 256 tickets take 9 kB.
pub(crate) const MAX_FIRST_MESSAGE: usize = 1 << 16;
/// Longest later message, in bytes. Samples of 256 connections take 256 kB.
pub(crate) const MAX_MESSAGE: usize = 1 << 22;

/// A client's request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// The direction of the data.
    pub direction: Direction,
    /// The data.
    pub payload: Payload,
    /// The congestion control of the data's sender; none: the server's default.
    pub scheme: Option<String>,
    /// Number of data connections.
    pub connections: u16,
    /// Number of streams in each of them.
    pub streams: u16,
    /// Interval between the server's reports.
    pub interval: Span,
}

/// The sender of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The server.
    Get,
    /// The client.
    Put,
}

/// The data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Payload {
    /// Made up: bulk, sized (all connections together), a rate, or frames (for each connection).
    Made {
        /// The source of the data.
        source: Source,
        /// The time to send; `None`: until the source ends.
        time: Option<Span>,
    },
    /// A file below the server's root.
    File {
        /// The path on the server, with parts separated by `/`.
        name: String,
        /// The file's size, if the client sends it.
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

    /// The time to send; `None` if the source ends by itself.
    pub(crate) fn time(&self) -> Option<Span> {
        match self {
            Self::Made { time, .. } => *time,
            Self::File { .. } => None,
        }
    }

    /// The size of the payload, if known in advance.
    pub(crate) fn bytes(&self) -> Option<Bytes> {
        match self {
            Self::Made { source: Source::Sized(bytes), .. } => Some(*bytes),
            Self::Made { .. } => None,
            Self::File { bytes, .. } => *bytes,
        }
    }
}

/// The messages of a control stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Message {
    /// The client's first message.
    Request(Request),
    /// The server accepts the request. To refuse, it closes the connection with a reason instead.
    Accepted {
        /// The scheme in its canonical form.
        scheme: String,
        /// One for each data connection.
        tickets: Vec<crate::server::tickets::Ticket>,
        /// The size of the file to get.
        bytes: Option<Bytes>,
        /// The server's software.
        software: String,
    },
    /// The client asks for the server's time.
    Ping {
        /// The client's clock.
        client_ns: u64,
    },
    /// The server's time.
    Pong {
        /// Copied from the ping.
        client_ns: u64,
        /// The server's clock.
        server_ns: u64,
    },
    /// All data connections are there: the sender may begin.
    Start {
        /// The lead of the server's clock over the client's.
        server_ahead_ns: i64,
    },
    /// The server's samples of the flows.
    Interval {
        /// Since the start, at the server.
        at: Span,
        /// One for each data connection.
        flows: Vec<FlowSample>,
    },
    /// The client was interrupted: the sender stops, as at the end of the time.
    Stop,
    /// This side has finished: the sender first, then the receiver.
    Ended(Report),
}

/// One side's report on a transfer at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// The time from the start to the last byte that was sent and acknowledged, or received.
    pub(crate) active: Span,
    /// One for each data connection.
    pub(crate) flows: Vec<FlowReport>,
}

/// One side's report on a data connection at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowReport {
    /// The last sample.
    pub(crate) sample: FlowSample,
    /// Streams that the sender opened.
    pub(crate) streams: u64,
    /// Frames that the sender made, or that reached the receiver in time.
    pub(crate) frames: u64,
    /// RTT samples of the sender.
    pub(crate) rtt: Distribution,
    /// Notes of the scheme.
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

/// Waits for a message of at most `longest` bytes; `None` if the peer has ended the stream. Not cancel-safe: a message read
/// in part would be lost.
pub(crate) async fn read(
    stream: &mut RecvStream,
    longest: usize,
    peer: &'static str,
) -> Result<Option<Message>, TransferError> {
    let mut length = [0; 4];
    if !read_exact(stream, &mut length, peer).await? {
        return Ok(None);
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > longest {
        return Err(TransferError::Protocol(format!("a message of {length} bytes")));
    }
    let mut text = vec![0; length];
    if !read_exact(stream, &mut text, peer).await? {
        return Ok(None);
    }
    decode(&text).map(Some)
}

/// False if the stream ends before the buffer is full.
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

/// Reads a message. Checks the version of a request first, because another version may have other fields.
fn decode(text: &[u8]) -> Result<Message, TransferError> {
    let problem = |error: serde_json::Error| TransferError::Protocol(error.to_string());
    let value: serde_json::Value = serde_json::from_slice(text).map_err(problem)?;
    if let Some(version) = value.pointer("/request/version")
        && version != VERSION
    {
        return Err(TransferError::Protocol(format!(
            "the peer requests version {version} of the protocol, and this is version {VERSION}; use the same cellcc at both ends"
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

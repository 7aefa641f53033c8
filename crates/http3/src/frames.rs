//! Frames over WebTransport (draft-ietf-webtrans-http3-02, which browsers speak), as a camera makes them: for a page that
//! measures how late they come.
//!
//! A page opens `/frames?bytes=41667&per_second=60`. Each frame is a stream of the server's: when it was made, in microseconds
//! since 1970 as 8 bytes (most significant first), then its data. With `by=datagrams` it is as many datagrams as it needs;
//! each has that time, the number of the piece and how many there are (2 bytes each), then data. The oldest datagrams are
//! dropped where more than noq's buffer wait. The session ends when the page ends it.

use crate::Stream;
use bytes::Bytes;
use h3::ext::Protocol;
use h3::server::RequestStream;
use http::{HeaderValue, Method, Request, Response};
use noq::{Connection, SendStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The draft that the server speaks, which its answer names (section 3.3).
const DRAFT: (&str, HeaderValue) = ("sec-webtransport-http3-draft", HeaderValue::from_static("draft02"));
/// Begins a unidirectional stream of a session (section 4.1): 0x54, of variable length.
const STREAM_TYPE: [u8; 2] = [0x40, 0x54];
/// Frames on their way at once: later ones wait to be sent. A minute of them at 15 a second.
const MAX_FRAMES_AT_ONCE: usize = 900;
/// Most bytes of a frame: 480 Mbit/s at 60 a second.
pub const MAX_FRAME_BYTES: usize = 1_000_000;
/// The highest frame rate, that of the fastest screens of phones and games.
const MAX_PER_SECOND: u32 = 240;
const DEFAULT_PER_SECOND: u32 = 60;
/// The made-up data.
static PATTERN: [u8; MAX_FRAME_BYTES] = [0xc5; MAX_FRAME_BYTES];

/// The frames that a session asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frames {
    bytes: usize,
    per_second: u32,
    by_datagrams: bool,
}

impl Frames {
    /// True if the request wants a session of WebTransport, with frames or not.
    pub(crate) fn is_session(request: &Request<()>) -> bool {
        request.method() == Method::CONNECT
            && request.extensions().get::<Protocol>() == Some(&Protocol::WEB_TRANSPORT)
    }

    /// Parses an address of frames; `None` for others.
    pub(crate) fn parse(request: &Request<()>) -> Option<Self> {
        let mut frames = Self { bytes: 0, per_second: DEFAULT_PER_SECOND, by_datagrams: false };
        let query = request.uri().query().filter(|_| request.uri().path() == "/frames")?;
        for (key, value) in query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))) {
            match key {
                "bytes" => frames.bytes = value.parse().ok()?,
                "per_second" => frames.per_second = value.parse().ok()?,
                "by" if value == "datagrams" => frames.by_datagrams = true,
                _ => return None,
            }
        }
        let fits = (1..=MAX_FRAME_BYTES).contains(&frames.bytes);
        (fits && (1..=MAX_PER_SECOND).contains(&frames.per_second)).then_some(frames)
    }

    /// The answer that begins the session.
    pub(crate) fn response() -> Response<()> {
        let mut response = Response::new(());
        response.headers_mut().insert(DRAFT.0, DRAFT.1);
        response
    }

    /// Sends frames until the page ends the session, or the connection ends. How many bytes of data were sent.
    pub(crate) async fn serve(
        self,
        connection: &Connection,
        stream: &mut RequestStream<Stream, Bytes>,
    ) -> u64 {
        let session = stream.id().into_inner();
        let mut sent = 0;
        tokio::select! {
            () = self.send(connection, session, &mut sent) => {}
            () = ended(stream) => {}
        }
        sent
    }

    /// Makes and sends frames until the connection ends.
    async fn send(self, connection: &Connection, session: u64, sent: &mut u64) {
        let begin = Instant::now();
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut clock = tokio::time::interval_at(begin, Duration::from_secs(1) / self.per_second);
        let mut frames = JoinSet::new();
        for index in 0_i32.. {
            let made_at = (epoch + (clock.tick().await - begin)).as_micros() as u64;
            if self.by_datagrams {
                let Some(bytes) = datagrams(connection, session, made_at, self.bytes) else { return };
                *sent += bytes;
                continue;
            }
            let Ok(stream) = connection.open_uni().await else { return };
            // Older frames go first.
            let _ = stream.set_priority(-index);
            frames.spawn(frame(stream, session, made_at, self.bytes));
            while let Some(Ok(bytes)) = match frames.len() {
                MAX_FRAMES_AT_ONCE.. => frames.join_next().await,
                _ => frames.try_join_next(),
            } {
                *sent += bytes;
            }
        }
    }
}

/// Waits until the page ends the session. Its data on the stream do not matter.
async fn ended(stream: &mut RequestStream<Stream, Bytes>) {
    while let Ok(Some(_)) = stream.recv_data().await {}
}

/// Sends a frame on its stream, and waits until the page has it. How many bytes of data were sent.
async fn frame(mut stream: SendStream, session: u64, made_at: u64, bytes: usize) -> u64 {
    let header = [&STREAM_TYPE[..], &integer(session), &made_at.to_be_bytes()].concat();
    let written = async {
        stream.write_chunk(header.into()).await?;
        stream.write_chunk(Bytes::from_static(&PATTERN[..bytes])).await
    };
    if written.await.is_err() {
        return 0;
    }
    let _ = stream.finish();
    let _ = stream.stopped().await;
    bytes as u64
}

/// Sends a frame as datagrams (RFC 9297, section 2.1). How many bytes of data; none if the connection takes no datagrams.
fn datagrams(connection: &Connection, session: u64, made_at: u64, bytes: usize) -> Option<u64> {
    let prefix = [&integer(session / 4)[..], &made_at.to_be_bytes()].concat();
    let piece = connection.max_datagram_size()?.checked_sub(prefix.len() + 4).filter(|piece| *piece > 0)?;
    let pieces: Vec<&[u8]> = PATTERN[..bytes].chunks(piece).collect();
    for (index, data) in pieces.iter().enumerate() {
        let place = [(index as u16).to_be_bytes(), (pieces.len() as u16).to_be_bytes()].concat();
        connection.send_datagram([&prefix[..], &place, data].concat().into()).ok()?;
    }
    Some(bytes as u64)
}

/// QUIC's integer of eight bytes (RFC 9000, section 16).
fn integer(value: u64) -> [u8; 8] {
    (value | 0b11 << 62).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(address: &str) -> Option<Frames> {
        Frames::parse(&Request::builder().uri(address).body(()).unwrap())
    }

    #[test]
    fn an_address_says_how_large_frames_are_how_many_and_how_they_come() {
        let default = Frames { bytes: 41_667, per_second: 60, by_datagrams: false };
        assert_eq!(parsed("https://localhost/frames?bytes=41667"), Some(default));
        let all = parsed("https://localhost/frames?bytes=1&per_second=240&by=datagrams");
        assert_eq!(all, Some(Frames { bytes: 1, per_second: 240, by_datagrams: true }));
    }

    #[test]
    fn what_no_session_can_have_is_refused() {
        for query in
            ["", "?", "?bytes=0", "?bytes=1000001", "?bytes=x", "?per_second=60", "?bytes=9&per_second=0"]
                .into_iter()
                .chain(["?bytes=9&per_second=241", "?bytes=9&by=pigeons", "?bytes=9&films=1"])
        {
            assert_eq!(parsed(&format!("https://localhost/frames{query}")), None, "{query}");
        }
        assert_eq!(parsed("https://localhost/film?bytes=9"), None);
    }
}

//! A broker's messages, read with bounds: an impostor fills no memory.
//!
//! Source: the client protocol of NATS (docs.nats.io, "Client Protocol"). Why not the library `async-nats`: docs/decisions/0016.

use crate::protocol::{MAX_MESSAGE_BYTES, shortened};
use bytes::Bytes;
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// The longest line: the description that a broker of a large cluster sends of itself; some hundred bytes else.
const MAX_LINE_BYTES: usize = 32 << 10;
/// The longest line before a message: subjects of ours have at most 160 bytes each.
const MAX_MESSAGE_LINE_BYTES: usize = 1 << 10;

/// A message under a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The subscription that it is for.
    pub sid: u64,
    /// The subject.
    pub subject: String,
    /// Where an answer goes.
    pub reply: Option<String>,
    /// A payload that is too long is cut, but still too long: [`MAX_MESSAGE_BYTES`] and one more.
    pub payload: Bytes,
}

/// A message of a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    Message(Message),
    Ping,
    Pong,
    Error(String),
    /// A message without effect: about the broker, or an acknowledgement.
    Other,
}

/// The first line, which identifies a broker. It is not used: before TLS it may come from any host.
pub(super) async fn greeting(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    if line(reader).await?.starts_with("INFO ") {
        return Ok(());
    }
    Err(io::Error::other("it does not greet as a NATS broker does"))
}

/// The next message.
pub(super) async fn operation(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Operation> {
    let line = line(reader).await?;
    let (verb, rest) = line.split_once([' ', '\t']).unwrap_or((&line, ""));
    Ok(match verb {
        "MSG" if line.len() <= MAX_MESSAGE_LINE_BYTES => Operation::Message(message(reader, rest).await?),
        "PING" => Operation::Ping,
        "PONG" => Operation::Pong,
        "-ERR" => Operation::Error(shortened(rest.trim().trim_matches('\''))),
        "+OK" | "INFO" => Operation::Other,
        _ => return Err(wrong()),
    })
}

async fn line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = Vec::new();
    let most = MAX_LINE_BYTES as u64;
    reader.take(most).read_until(b'\n', &mut line).await?;
    match line.strip_suffix(b"\r\n") {
        Some(text) => String::from_utf8(text.to_vec()).map_err(|_| wrong()),
        None if line.len() == MAX_LINE_BYTES => {
            Err(io::Error::other(format!("it sends a line of more than {MAX_LINE_BYTES} bytes")))
        }
        None if line.ends_with(b"\n") => Err(wrong()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The message after `MSG SUBJECT SID [REPLY] BYTES`. A payload that is too long is read, and not kept.
async fn message(reader: &mut (impl AsyncBufRead + Unpin), head: &str) -> io::Result<Message> {
    let words: Vec<_> = head.split_ascii_whitespace().collect();
    let (subject, sid, reply, length) = match words[..] {
        [subject, sid, length] => (subject, sid, None, length),
        [subject, sid, reply, length] => (subject, sid, Some(reply), length),
        _ => return Err(wrong()),
    };
    let sid = sid.parse().map_err(|_| wrong())?;
    let length: u64 = length.parse().map_err(|_| wrong())?;
    let kept = length.min(MAX_MESSAGE_BYTES as u64 + 1);
    let mut payload = Vec::new();
    (&mut *reader).take(kept).read_to_end(&mut payload).await?;
    let rest = tokio::io::copy(&mut (&mut *reader).take(length - kept), &mut tokio::io::sink()).await?;
    if payload.len() as u64 + rest < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut end = [0; 2];
    reader.read_exact(&mut end).await?;
    if end != *b"\r\n" {
        return Err(wrong());
    }
    Ok(Message { sid, subject: subject.into(), reply: reply.map(Into::into), payload: payload.into() })
}

fn wrong() -> io::Error {
    io::Error::other("it says something that is not of the protocol of NATS")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn all(mut said: &[u8]) -> (Vec<Operation>, io::Error) {
        let mut operations = Vec::new();
        loop {
            match operation(&mut said).await {
                Ok(operation) => operations.push(operation),
                Err(error) => return (operations, error),
            }
        }
    }

    #[tokio::test]
    async fn what_a_broker_says_is_read() {
        let said = b"PING\r\n+OK\r\nMSG na.v1 7 2\r\n\r\n\r\nMSG a 8 b 3\r\nxyz\r\n-ERR 'Stale Connection'\r\nPONG\r\n";
        let message = |subject: &str, sid, reply: Option<&str>, payload: &'static [u8]| {
            let (subject, reply) = (subject.into(), reply.map(Into::into));
            Operation::Message(Message { sid, subject, reply, payload: payload.into() })
        };
        let (operations, end) = all(said).await;
        let expected = [
            Operation::Ping,
            Operation::Other,
            message("na.v1", 7, None, b"\r\n"),
            message("a", 8, Some("b"), b"xyz"),
            Operation::Error("Stale Connection".into()),
            Operation::Pong,
        ];
        assert_eq!(operations, expected);
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn of_a_long_message_no_more_is_kept_than_shows_that_it_is_too_long() {
        let said = [b"MSG a 1 1000000\r\n", &vec![b'x'; 1_000_000][..], b"\r\nPING\r\n"].concat();
        let (operations, _) = all(&said).await;
        let [Operation::Message(message), Operation::Ping] = &operations[..] else {
            panic!("{operations:?}")
        };
        assert_eq!(message.payload.len(), MAX_MESSAGE_BYTES + 1);
    }

    #[tokio::test]
    async fn what_is_not_of_the_protocol_or_too_long_is_refused() {
        for said in [
            "HELLO\r\n",
            "PING\n",
            "MSG a\r\n",
            "MSG a 1 -5\r\n",
            "MSG a 1 1\r\nxyz",
            "HMSG a 1 1 1\r\nx\r\n",
        ] {
            assert_eq!(all(said.as_bytes()).await.1.kind(), io::ErrorKind::Other, "{said}");
        }
        let long = all(&vec![b'x'; 10 * MAX_LINE_BYTES]).await.1.to_string();
        assert!(long.contains("a line of more than 32768 bytes"), "{long}");
        assert!(greeting(&mut &b"SSH-2.0-x\r\n"[..]).await.is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(said in prop::collection::vec(any::<u8>(), 0..300), head in "(MSG|-ERR|INFO|) ?") {
            let said = [head.as_bytes(), &said].concat();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(all(&said));
        }
    }
}

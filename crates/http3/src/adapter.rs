//! noq's connections and streams as h3 wants them.
//!
//! h3 keeps a frame until it is whole, however long its header says that it is. So a peer may send only so many bytes on a
//! stream; the stream is stopped then.

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use noq::{ConnectionError, ReadError, VarInt, WriteError};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Bytes of a stream read at once: a request is shorter, and a page of memory.
const READ_BYTES: usize = 4096;

/// A pending request to open or to accept a stream.
type Pending<T> = Option<Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>>;

/// A connection of noq for h3, at either end.
pub struct Adapter {
    connection: noq::Connection,
    limits: [u64; 2],
    accepting_bi: Pending<(noq::SendStream, noq::RecvStream)>,
    accepting_uni: Pending<noq::RecvStream>,
    opening_bi: Pending<(noq::SendStream, noq::RecvStream)>,
    opening_uni: Pending<noq::SendStream>,
}

impl Adapter {
    /// `limits`: the most bytes that the peer may send on a bidirectional and on a unidirectional stream.
    pub fn new(connection: noq::Connection, limits: [u64; 2]) -> Self {
        Self {
            connection,
            limits,
            accepting_bi: None,
            accepting_uni: None,
            opening_bi: None,
            opening_uni: None,
        }
    }

    fn stream(&self, (send, recv): (noq::SendStream, noq::RecvStream)) -> Stream {
        Stream { send: SendHalf::new(send), recv: RecvHalf { stream: recv, left: self.limits[0] } }
    }
}

/// Another one of the same connection.
impl Clone for Adapter {
    fn clone(&self) -> Self {
        Self::new(self.connection.clone(), self.limits)
    }
}

/// Polls the pending operation, or begins it.
fn poll<T, F>(
    pending: &mut Pending<T>,
    connection: &noq::Connection,
    cx: &mut Context<'_>,
    begin: impl FnOnce(noq::Connection) -> F,
) -> Poll<Result<T, ConnectionError>>
where
    F: Future<Output = Result<T, ConnectionError>> + Send + Sync + 'static,
{
    let begun = pending.get_or_insert_with(|| Box::pin(begin(connection.clone())));
    let result = ready!(begun.as_mut().poll(cx));
    *pending = None;
    Poll::Ready(result)
}

impl quic::Connection<Bytes> for Adapter {
    type RecvStream = RecvHalf;
    type OpenStreams = Self;

    fn poll_accept_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<RecvHalf, ConnectionErrorIncoming>> {
        let accepted =
            poll(&mut self.accepting_uni, &self.connection, cx, async |noq| noq.accept_uni().await);
        let stream = ready!(accepted).map_err(of_connection)?;
        Poll::Ready(Ok(RecvHalf { stream, left: self.limits[1] }))
    }

    fn poll_accept_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Stream, ConnectionErrorIncoming>> {
        let accepted = poll(&mut self.accepting_bi, &self.connection, cx, async |noq| noq.accept_bi().await);
        Poll::Ready(ready!(accepted).map(|halves| self.stream(halves)).map_err(of_connection))
    }

    fn opener(&self) -> Self {
        self.clone()
    }
}

impl quic::OpenStreams<Bytes> for Adapter {
    type BidiStream = Stream;
    type SendStream = SendHalf;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Stream, StreamErrorIncoming>> {
        let opened = poll(&mut self.opening_bi, &self.connection, cx, async |noq| noq.open_bi().await);
        Poll::Ready(ready!(opened).map(|halves| self.stream(halves)).map_err(lost))
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<SendHalf, StreamErrorIncoming>> {
        let opened = poll(&mut self.opening_uni, &self.connection, cx, async |noq| noq.open_uni().await);
        Poll::Ready(ready!(opened).map(SendHalf::new).map_err(lost))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(code_of(code.value()), reason);
    }
}

/// A bidirectional stream.
pub struct Stream {
    send: SendHalf,
    recv: RecvHalf,
}

impl quic::BidiStream<Bytes> for Stream {
    type SendStream = SendHalf;
    type RecvStream = RecvHalf;

    fn split(self) -> (SendHalf, RecvHalf) {
        (self.send, self.recv)
    }
}

impl quic::SendStream<Bytes> for Stream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.send.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl quic::RecvStream for Stream {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.recv.poll_data(cx)
    }

    fn stop_sending(&mut self, code: u64) {
        self.recv.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}

/// The sending half of a stream.
pub struct SendHalf {
    stream: noq::SendStream,
    writing: Option<WriteBuf<Bytes>>,
    stopped: Option<Pin<Box<noq::Stopped>>>,
}

impl SendHalf {
    fn new(stream: noq::SendStream) -> Self {
        Self { stream, writing: None, stopped: None }
    }
}

impl quic::SendStream<Bytes> for SendHalf {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(data) = self.writing.as_mut().filter(|data| data.has_remaining()) {
            let written =
                ready!(Pin::new(&mut self.stream).poll_write(cx, data.chunk())).map_err(of_write)?;
            data.advance(written);
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.writing = Some(data.into());
        Ok(())
    }

    /// Waits until the peer has all of it: the connection can be closed then.
    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if self.stopped.is_none() {
            self.stream.finish().map_err(|error| StreamErrorIncoming::Unknown(Box::new(error)))?;
        }
        let stream = &self.stream;
        let stopped = self.stopped.get_or_insert_with(|| Box::pin(stream.stopped()));
        Poll::Ready(match ready!(stopped.as_mut().poll(cx)) {
            Ok(None) => Ok(()),
            Ok(Some(code)) => Err(StreamErrorIncoming::StreamTerminated { error_code: code.into() }),
            Err(error) => Err(StreamErrorIncoming::Unknown(Box::new(error))),
        })
    }

    fn reset(&mut self, code: u64) {
        let _ = self.stream.reset(code_of(code));
    }

    fn send_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

/// The receiving half of a stream, up to a number of bytes. A peer that is not read to the end is told that nothing is wrong:
/// noq says 0, which curl reports as a failure.
pub struct RecvHalf {
    stream: noq::RecvStream,
    left: u64,
}

impl Drop for RecvHalf {
    fn drop(&mut self) {
        let _ = self.stream.stop(code_of(Code::H3_NO_ERROR.value()));
    }
}

impl quic::RecvStream for RecvHalf {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let mut data = [0; READ_BYTES];
        let length = match ready!(self.stream.poll_read(cx, &mut data)) {
            Ok(0) => return Poll::Ready(Ok(None)),
            Ok(length) => length,
            Err(ReadError::ConnectionLost(error)) => return Poll::Ready(Err(lost(error))),
            Err(ReadError::Reset(code)) => {
                return Poll::Ready(Err(StreamErrorIncoming::StreamTerminated { error_code: code.into() }));
            }
            Err(error) => return Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(error)))),
        };
        let Some(left) = self.left.checked_sub(length as u64) else {
            self.stop_sending(Code::H3_EXCESSIVE_LOAD.value());
            let error = io::Error::other("more than a peer may send on a stream");
            return Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(error))));
        };
        self.left = left;
        Poll::Ready(Ok(Some(Bytes::copy_from_slice(&data[..length]))))
    }

    fn stop_sending(&mut self, code: u64) {
        let _ = self.stream.stop(code_of(code));
    }

    fn recv_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

fn code_of(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

fn id(id: noq::StreamId) -> StreamId {
    u64::from(VarInt::from(id)).try_into().expect("both are integers of 62 bits")
}

fn of_connection(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn lost(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: of_connection(error) }
}

fn of_write(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::ConnectionLost(error) => lost(error),
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into() },
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

//! One request, from its header to the last byte.

use crate::answer::{self, Answer, Facts};
use crate::frames::Frames;
use crate::{Adapter, PIECE_BYTES, Refusal, Site, Stream, read_piece};
use bytes::Bytes;
use h3::error::{Code, StreamError};
use h3::server::{RequestResolver, RequestStream};
use http::header::ALT_SVC;
use http::{HeaderValue, Method, Request, StatusCode};
use noq::Connection;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Read at once by a request that finds [`LARGE_PIECES`] on their way: 100 unread ones keep 8 MB.
const SMALL_BYTES: u32 = 1 << 16;
/// Pieces of a connection that are read with all of [`PIECE_BYTES`], which costs a server a seventh less.
pub(crate) const LARGE_PIECES: usize = 8;
/// A client may be this late with its header, and with its end.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for which clients may remember the port.
const ALT_SVC_SECONDS: u32 = 3600;

/// Answers a request. How many bytes of files were sent.
pub(crate) async fn answer(
    request: RequestResolver<Adapter, Bytes>,
    (connection, session, large): (Connection, Arc<Semaphore>, Arc<Semaphore>),
    site: Arc<Site>,
) -> u64 {
    let Ok(Ok((request, mut stream))) = timeout(CLIENT_TIMEOUT, request.resolve_request()).await else {
        return 0;
    };
    if let Some(frames) = Frames::parse(&request).filter(|_| Frames::is_session(&request))
        && let Ok(_only_one) = session.try_acquire()
    {
        return match stream.send_response(Frames::response()).await {
            Ok(()) => frames.serve(&connection, &mut stream).await,
            Err(_) => 0,
        };
    }
    let (file, Answer { mut response, body }) = prepare(&request, &site).await;
    let alternative = format!("h3=\":{}\"; ma={ALT_SVC_SECONDS}", site.port);
    if let Ok(value) = HeaderValue::from_str(&alternative) {
        response.headers_mut().insert(ALT_SVC, value);
    }
    let file = file.filter(|_| request.method() == Method::GET);
    if stream.send_response(response).await.is_err() {
        return 0;
    }
    let sent = match file {
        Some(file) => send(file, body, &mut stream, &large).await,
        None => Ok(0),
    };
    if sent.is_ok() {
        let _ = stream.finish().await;
        let _ = timeout(CLIENT_TIMEOUT, read_to_end(&mut stream)).await;
    }
    sent.unwrap_or_else(|sent| sent)
}

/// A file, and its place among those that may be open.
type Opened = (File, OwnedSemaphorePermit);

/// The answer, and the file if there is one.
async fn prepare(request: &Request<()>, site: &Arc<Site>) -> (Option<Opened>, Answer) {
    let now = SystemTime::now();
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return (None, answer::refusal(StatusCode::METHOD_NOT_ALLOWED, now));
    }
    let (site, name) = (Arc::clone(site), answer::name(request.uri().path()));
    let opened = spawn_blocking(move || {
        let name = name.ok_or(Refusal::Absent)?;
        let opened = (site.open)(&name)?;
        let metadata = opened.0.metadata().map_err(|_| Refusal::Absent)?;
        let facts = Facts::new(&name, metadata.len(), metadata.modified().unwrap_or(UNIX_EPOCH));
        Ok((opened, facts))
    });
    match opened.await {
        Ok(Ok((opened, facts))) => (Some(opened), facts.answer(request.headers(), now)),
        Ok(Err(Refusal::Absent)) => (None, answer::refusal(StatusCode::NOT_FOUND, now)),
        Ok(Err(Refusal::Busy)) => (None, answer::refusal(StatusCode::SERVICE_UNAVAILABLE, now)),
        Err(_) => (None, answer::refusal(StatusCode::INTERNAL_SERVER_ERROR, now)),
    }
}

/// Sends these bytes of the file. How many were sent: as an error where not all were.
async fn send(
    (mut file, _place): Opened,
    body: Range<u64>,
    stream: &mut RequestStream<Stream, Bytes>,
    large: &Semaphore,
) -> Result<u64, u64> {
    let mut at = body.start;
    while at < body.end {
        let place = large.try_acquire();
        let most = if place.is_ok() { PIECE_BYTES } else { SMALL_BYTES };
        let length = (body.end - at).min(most.into());
        let read = spawn_blocking(move || read_piece(&file, &[], at, length).map(|piece| (file, piece)));
        let Ok(Ok((same, piece))) = read.await else {
            // It is shorter than it was, or cannot be read.
            stream.stop_stream(Code::H3_INTERNAL_ERROR);
            return Err(at - body.start);
        };
        file = same;
        // An error: the client has gone, or wants no more.
        stream.send_data(piece).await.map_err(|_| at - body.start)?;
        at += length;
    }
    Ok(at - body.start)
}

/// A client whose request is not read to its end is asked to stop, which some take for a failure.
async fn read_to_end(stream: &mut RequestStream<Stream, Bytes>) -> Result<(), StreamError> {
    while stream.recv_data().await?.is_some() {}
    Ok(())
}

//! A connection: its requests, its bounds, its end.

use crate::{Adapter, Site, exchange};
use noq::{Connection, FrameStats};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, timeout};

/// Requests that are answered at once (RFC 9114, section 6.1, wants 100).
pub const MAX_REQUESTS_AT_ONCE: u32 = 100;
/// Unidirectional streams: HTTP/3 has three, and some that mean nothing (RFC 9114, section 6.2.3).
pub const MAX_UNIDIRECTIONAL: u32 = 8;
/// Most bytes of a request. Browsers send a few hundred, with cookies a few thousand.
pub const REQUEST_BYTES: u32 = 1 << 16;
/// Most bytes of a header, as h3 counts them (RFC 9114, section 4.2.2).
const HEADER_BYTES: u64 = 1 << 14;
/// Most bytes of the control stream: ten thousand requests, with a change of priority each.
const CONTROL_BYTES: u64 = 1 << 20;
/// Requests of a connection; its client then makes another one. h3 remembers each that is given up before its header.
const MAX_REQUESTS: u64 = 10_000;
/// Sessions of WebTransport at once; more are refused.
const SESSIONS: u64 = 1;
/// The longest silence of a client, that of nginx's `send_timeout`.
pub const SILENCE: Duration = Duration::from_secs(60);

/// The totals of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Served {
    /// Requests.
    pub requests: u64,
    /// Bytes of files.
    pub bytes: u64,
}

/// Serves a connection to its end. After `ends` no request is accepted, and the connection is closed when all are answered.
/// Dropping this ends the answers.
pub async fn serve(connection: Connection, site: Arc<Site>, ends: impl Future<Output = ()>) -> Served {
    let mut served = Served::default();
    let adapter = Adapter::new(connection.clone(), [REQUEST_BYTES.into(), CONTROL_BYTES]);
    let mut builder = h3::server::builder();
    builder
        .max_field_section_size(HEADER_BYTES)
        .enable_webtransport(true)
        .enable_extended_connect(true)
        .enable_datagram(true)
        .max_webtransport_sessions(SESSIONS);
    let session = Arc::new(Semaphore::new(SESSIONS as usize));
    let large = Arc::new(Semaphore::new(exchange::LARGE_PIECES));
    // A client may forbid us to open a stream, or to send on one.
    let Ok(Ok(mut http)) = timeout(site.silence, builder.build(adapter)).await else { return served };
    let mut answers = JoinSet::new();
    let mut ticks = tokio::time::interval(site.silence);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut frames = None;
    let mut is_ending = false;
    tokio::pin!(ends);
    loop {
        tokio::select! {
            accepted = http.accept(), if answers.len() < MAX_REQUESTS_AT_ONCE as usize => match accepted {
                Ok(Some(request)) => {
                    served.requests += 1;
                    let place = (connection.clone(), Arc::clone(&session), Arc::clone(&large));
                    answers.spawn(exchange::answer(request, place, Arc::clone(&site)));
                }
                Ok(None) | Err(_) => break,
            },
            Some(sent) = answers.join_next() => served.bytes += sent.unwrap_or(0),
            _ = ticks.tick() => {
                let FrameStats { stream, datagram, .. } = connection.stats().frame_tx;
                let sent = Some((stream, datagram));
                if frames == sent {
                    break;
                }
                frames = sent;
            }
            () = &mut ends, if !is_ending => is_ending = true,
        }
        is_ending |= served.requests >= MAX_REQUESTS;
        // The client knows that it may repeat the requests after this.
        if is_ending {
            let farewell = timeout(site.silence, http.shutdown(0)).await;
            if !matches!(farewell, Ok(Ok(()))) || answers.is_empty() {
                break;
            }
        }
    }
    // Closes the connection, which ends the rest.
    drop(http);
    while let Some(sent) = answers.join_next().await {
        served.bytes += sent.unwrap_or(0);
    }
    served
}

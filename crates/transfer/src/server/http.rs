//! HTTP/3 on the server's port. The handshake says which protocol a connection has, and a ClientHello may come in several
//! packets, so all connections without a ticket begin with the same transport configuration: that of HTTP.

use crate::flow::Flow;
use crate::folder::Folder;
use crate::limits::{CHARGE_INTERVAL, Lease};
use crate::server::admission::Place;
use crate::server::{Shared, closing_time};
use crate::{ServerSettings, TransferError};
use cellcc_control::Context;
use cellcc_http3::{
    ALPN, MAX_REQUESTS_AT_ONCE, MAX_UNIDIRECTIONAL, OpenFile, REQUEST_BYTES, Refusal, SILENCE, Served, Site,
};
use cellcc_quic::Congestion;
use cellcc_units::Bytes;
use noq::crypto::rustls::HandshakeData;
use noq::{Connection, TransportConfig, VarInt};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::MissedTickBehavior;

/// A browser whose page is paused sends something every 15 s (Chromium's `kPingTimeoutSecs`); another one has gone.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Unread data that a connection has sent: four whole requests.
const RECEIVE_WINDOW: u32 = 4 * REQUEST_BYTES;
/// Datagrams that wait to be sent, or read: 0.1 s of 20 Mbit/s. Older ones are dropped.
const DATAGRAM_BUFFER: usize = 1 << 18;
/// H3_EXCESSIVE_LOAD (RFC 9114, section 8.1): a limit is reached.
const EXCESSIVE_LOAD: VarInt = VarInt::from_u32(0x107);

/// Shortest time between two lines of the log about files that are refused, for each limit.
const NEWS_INTERVAL: Duration = Duration::from_secs(10);

/// The common state of HTTP's connections.
#[derive(Debug)]
pub(crate) struct Http {
    congestion: Congestion,
    folder: Folder,
    port: u16,
    /// The times of the last log lines about an address's limit and the process's limit.
    said_at: Mutex<[Option<Instant>; 2]>,
}

impl Http {
    pub(crate) fn new(folder: Folder, congestion: Congestion, port: u16) -> Arc<Self> {
        Arc::new(Self { congestion, folder, port, said_at: Mutex::default() })
    }

    /// A line for the log on a file that is refused because too many are open.
    fn news(&self, now: Instant, peer: SocketAddr, error: &TransferError) -> Option<String> {
        let is_process = matches!(error, TransferError::File { .. });
        let mut said_at = self.said_at.lock().unwrap_or_else(PoisonError::into_inner);
        let said_at = &mut said_at[usize::from(is_process)];
        if said_at.is_some_and(|at| now < at + NEWS_INTERVAL) {
            return None;
        }
        *said_at = Some(now);
        let advice = if is_process { "; the limit is that of open files: raise `ulimit -Hn`" } else { "" };
        Some(format!("{peer}: answered 503: {}{advice}", error.reason()))
    }
}

/// The server's scheme, if foreign clients can receive from it.
pub(crate) fn congestion(settings: &ServerSettings) -> Result<Congestion, TransferError> {
    let congestion =
        Congestion::new(settings.scheme.clone()).map_err(|error| TransferError::Input(error.to_string()))?;
    // The presence of a component does not depend on packet sizes.
    let any = Context::new(Bytes::new(1200), Bytes::new(12_000), 0);
    if settings.http.is_some() && settings.scheme.build_receiver(&any).is_some() {
        return Err(TransferError::Input(format!(
            "--http: scheme `{}` has a part at the receiver, which curl and browsers do not run; choose another with --scheme",
            settings.scheme.text()
        )));
    }
    Ok(congestion)
}

/// The transport configuration of all connections without a ticket, where there is HTTP.
pub(crate) fn transport(settings: &ServerSettings, congestion: &Congestion) -> TransportConfig {
    let mut transport = crate::transport(settings.qlog.as_ref());
    let idle = VarInt::from_u32(IDLE_TIMEOUT.as_millis() as u32);
    transport
        .max_idle_timeout(Some(idle.into()))
        .keep_alive_interval(None)
        .max_concurrent_bidi_streams(VarInt::from_u32(MAX_REQUESTS_AT_ONCE))
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_UNIDIRECTIONAL))
        .stream_receive_window(VarInt::from_u32(REQUEST_BYTES))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .datagram_receive_buffer_size(Some(DATAGRAM_BUFFER))
        .datagram_send_buffer_size(DATAGRAM_BUFFER);
    congestion.install(&mut transport);
    transport
}

/// True if the handshake has chosen HTTP.
pub(crate) fn is_chosen(connection: &Connection) -> bool {
    let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    data.and_then(|data| data.protocol).is_some_and(|protocol| protocol == ALPN)
}

impl Shared {
    /// Serves a connection of HTTP to its end.
    pub(crate) async fn serve_http(
        self: &Arc<Self>,
        http: &Arc<Http>,
        connection: &Connection,
        peer: SocketAddr,
        place: Place,
    ) {
        match self.answer_requests(http, connection, peer, place).await {
            Ok(Served { requests, bytes }) => {
                self.log(&format!(
                    "{peer}: end of HTTP/3; requests: {requests}, files: {}",
                    Bytes::new(bytes)
                ));
            }
            Err(error) => {
                self.log(&format!("{peer}: {error}"));
                connection.close(EXCESSIVE_LOAD, error.reason().as_bytes());
            }
        }
    }

    /// Opens files for a peer.
    fn opener(self: &Arc<Self>, http: &Arc<Http>, peer: SocketAddr, lease: &Arc<Lease>) -> OpenFile {
        let (shared, http, lease) = (Arc::clone(self), Arc::clone(http), Arc::clone(lease));
        Box::new(move |name| {
            let opened = lease.file().and_then(|place| Ok((http.folder.open(name)?, place)));
            opened.map_err(|error| {
                if !error.is_busy() {
                    return Refusal::Absent;
                }
                if let Some(line) = http.news(Instant::now(), peer, &error) {
                    shared.log(&line);
                }
                Refusal::Busy
            })
        })
    }

    async fn answer_requests(
        self: &Arc<Self>,
        http: &Arc<Http>,
        connection: &Connection,
        peer: SocketAddr,
        place: Place,
    ) -> Result<Served, TransferError> {
        let lease = match self.ledger.lease(Instant::now(), peer.ip(), 1, (None, None)) {
            Ok(lease) => Arc::new(lease),
            Err(error) => {
                place.keep_for(closing_time(connection));
                return Err(error);
            }
        };
        drop(place);
        self.log(&format!("{peer}: HTTP/3 by {}", http.congestion.scheme().text()));
        let mut flow = Flow::sending(connection.clone(), &http.congestion, self.settings.advice.as_ref())?;
        let mut ends = self.ends.subscribe();
        let open = self.opener(http, peer, &lease);
        let site = Site { open, silence: SILENCE, port: http.port };
        let serving = cellcc_http3::serve(connection.clone(), Arc::new(site), async move {
            let _ = ends.wait_for(|ends| *ends).await;
        });
        tokio::pin!(serving);
        let mut charges = tokio::time::interval(CHARGE_INTERVAL);
        charges.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut charged_at = Instant::now();
        loop {
            tokio::select! {
                served = &mut serving => return Ok(served),
                _ = charges.tick() => {
                    let now = Instant::now();
                    lease.charge(now, flow.uncharged(), now - charged_at)?;
                    charged_at = now;
                }
            }
        }
    }
}

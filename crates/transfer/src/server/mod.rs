//! The server: listens, and tells control connections from data connections.

pub(crate) mod admission;
pub(crate) mod http;
pub(crate) mod http_certificate;
pub(crate) mod serving;
pub(crate) mod tickets;

use crate::advice::AdviceConfig;
use crate::certificates::server_crypto;
use crate::folder::Folder;
use crate::limits::Ledger;
use crate::server::admission::{Admission, Answer, Client};
use crate::server::http::Http;
use crate::server::http_certificate::ByProtocol;
use crate::server::tickets::TicketStore;
use crate::session::close;
use crate::{CloseCode, Fingerprint, Identity, Limits, TransferError, transport};
use cellcc_control::Scheme;
use cellcc_quic::Congestion;
use cellcc_quic::qlog::Directory;
use cellcc_quic::receive_thread::endpoint;
use noq::{Connection, Endpoint, Incoming, PathId, ServerConfig, TransportConfig, VarInt};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Longest wait from a connection's handshake to its request, and from the answer to the start.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that running transfers have left when the server shuts down.
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);
/// Longest wait for the last packets to leave.
pub(crate) const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// First packets without an answer: of clients that wait for room, and those that have not been looked at yet. A client whose
/// packet is dropped sends it again after a second.
const MAX_INCOMING: usize = 2048;
/// Bytes that these may send meanwhile: the rest of a first message, which has two packets where its keys are large.
const INCOMING_BUFFER: u64 = 8192;
/// All of them together.
const INCOMING_BUFFERS: u64 = 1 << 20;
/// A control connection's data that have not been read. Nothing but messages comes, and they are read at once.
const CONTROL_WINDOW: u32 = 1 << 16;

/// noq keeps a closed connection for three PTOs (RFC 9000, section 10.2). Without an RTT sample a PTO takes a second (RFC
/// 9002, section 6.2.2: 333 ms, and four times half of it).
const CLOSING_TIME: Duration = Duration::from_secs(3);
/// The default max_ack_delay (RFC 9000, section 18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// The interval at which an idle server returns memory.
const TIDY_INTERVAL: Duration = Duration::from_secs(10);

/// Settings of a server.
pub struct ServerSettings {
    /// Address to listen on; port 0: any free one.
    pub listen: SocketAddr,
    /// The default congestion control of data that the server sends.
    pub scheme: Scheme,
    /// Names of the schemes that clients may choose; empty: all.
    pub allowed: Vec<String>,
    /// The folder of files that clients may get.
    pub root: Option<PathBuf>,
    /// True if clients may put files there.
    pub takes_files: bool,
    /// The folder of files that HTTP's clients may get.
    pub http: Option<PathBuf>,
    /// True if both hand out names that begin with a dot.
    pub hidden: bool,
    /// The server's certificate.
    pub identity: Identity,
    /// A PEM file of the authorities that sign clients' certificates; none: clients need no certificate.
    pub client_authorities: Option<PathBuf>,
    /// Limits of each peer.
    pub limits: Limits,
    /// Folder for the qlogs of data connections.
    pub qlog: Option<Directory>,
    /// Source of network advice, for schemes that ask for it.
    pub advice: Option<AdviceConfig>,
    /// Takes a line at the start and the end of each transfer.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for ServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings").field("listen", &self.listen).finish_non_exhaustive()
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    fingerprint: Fingerprint,
    shared: Arc<Shared>,
}

/// The common state of all connections of a server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: ServerSettings,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) tickets: TicketStore<DataTarget>,
    admission: Admission,
    http: Option<Arc<Http>>,
    /// The configuration for connections without a ticket; data connections add their scheme.
    config: ServerConfig,
    pub(crate) ends: watch::Sender<bool>,
    pub(crate) epoch: Instant,
}

/// The transfer that a data connection belongs to.
#[derive(Debug, Clone)]
pub(crate) struct DataTarget {
    /// The scheme, if the server sends.
    pub(crate) congestion: Option<Congestion>,
    pub(crate) connections: mpsc::Sender<Connection>,
}

impl Server {
    /// Listens. Needs a tokio runtime.
    ///
    /// # Errors
    /// An unusable certificate, an address in use, a scheme that needs something that QUIC cannot do.
    pub fn bind(settings: ServerSettings) -> Result<Self, TransferError> {
        let congestion = http::congestion(&settings)?;
        let authorities = settings.client_authorities.as_deref();
        let crypto = server_crypto(
            Arc::new(ByProtocol::new(&settings.identity)?),
            authorities,
            settings.http.is_some(),
        )?;
        let transport = match &settings.http {
            Some(_) => http::transport(&settings, &congestion),
            None => control_transport(),
        };
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config
            .transport_config(Arc::new(transport))
            .max_incoming(MAX_INCOMING)
            .incoming_buffer_size(INCOMING_BUFFER)
            .incoming_buffer_size_total(INCOMING_BUFFERS);
        let endpoint = endpoint(settings.listen, Some(config.clone())).map_err(|error| {
            TransferError::Input(format!(
                "cannot listen on {}: {error}; choose another address or port with --listen",
                settings.listen
            ))
        })?;
        let port = endpoint.local_addr().map_or(settings.listen.port(), |address| address.port());
        let folder = settings.http.as_deref().map(|path| Folder::new(path, settings.hidden));
        let http = folder.map(|folder| Http::new(folder, congestion, port));
        let shared = Shared {
            http,
            ledger: Ledger::new(settings.limits),
            tickets: TicketStore::default(),
            admission: Admission::default(),
            config,
            ends: watch::Sender::new(false),
            epoch: Instant::now(),
            settings,
        };
        let fingerprint = shared.settings.identity.fingerprint();
        Ok(Self { endpoint, fingerprint, shared: Arc::new(shared) })
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// The socket was closed.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// The fingerprint of its certificate; HTTP's clients see another one of the same key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Serves until `end` completes. Running transfers then have five seconds; the rest are closed with a reason.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let mut tasks = JoinSet::new();
        let mut ticks = tokio::time::interval(TIDY_INTERVAL);
        let mut is_tidy = true;
        tokio::pin!(end);
        loop {
            tokio::select! {
                incoming = self.endpoint.accept() => match incoming {
                    Some(incoming) => {
                        self.accept(incoming, &mut tasks);
                        is_tidy = false;
                    }
                    None => return,
                },
                Some(_) = tasks.join_next() => {}
                // Not while connections are open: it would delay their packets.
                _ = ticks.tick(), if !is_tidy => if self.endpoint.open_connections() == 0 {
                    give_back_memory();
                    is_tidy = true;
                },
                () = &mut end => break,
            }
        }
        self.shared.ends.send_replace(true);
        let rest = async {
            while !tasks.is_empty() {
                tokio::select! {
                    Some(incoming) = self.endpoint.accept() => incoming.refuse(),
                    _ = tasks.join_next() => {}
                }
            }
        };
        // After the grace period of transfers, only connections without a request are left.
        let _ = timeout(SHUTDOWN_GRACE + FLUSH_TIMEOUT, rest).await;
        self.endpoint.close(CloseCode::Shutdown.code(), b"the server has shut down");
        let _ = timeout(FLUSH_TIMEOUT, self.endpoint.wait_idle()).await;
        if let Some(line) = self.shared.admission.last_news() {
            self.shared.log(&line);
        }
    }

    fn accept(&self, incoming: Incoming, tasks: &mut JoinSet<()>) {
        let shared = Arc::clone(&self.shared);
        // A ticket proves the address: it was sent there, and cannot be guessed.
        if let Some(target) = shared.tickets.redeem(&incoming.orig_dst_cid()) {
            tasks.spawn(async move { shared.accept_data(incoming, target).await });
            return;
        }
        match shared.admission.answer(incoming.remote_address_validated()) {
            Answer::Accept(client) => {
                tasks.spawn(async move { shared.accept_control(incoming, client).await });
            }
            // Fails only for a client that has proved its address.
            Answer::Retry => drop(incoming.retry()),
            Answer::Refuse => incoming.refuse(),
        }
        if let Some(line) = self.shared.admission.news(Instant::now()) {
            self.shared.log(&line);
        }
    }
}

/// The transport configuration of control connections: one stream, and little memory for unknown clients.
fn control_transport() -> TransportConfig {
    let mut transport = transport(None);
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .stream_receive_window(VarInt::from_u32(CONTROL_WINDOW))
        .receive_window(VarInt::from_u32(CONTROL_WINDOW))
        .datagram_receive_buffer_size(None);
    transport
}

impl Shared {
    /// Accepts a data connection. If the handshake fails, the client reports it.
    async fn accept_data(&self, incoming: Incoming, target: DataTarget) {
        let mut transport = transport(self.settings.qlog.as_ref());
        if let Some(congestion) = &target.congestion {
            congestion.install(&mut transport);
        }
        let mut config = self.config.clone();
        config.transport_config(Arc::new(transport));
        let Ok(connecting) = incoming.accept_with(Arc::new(config)) else { return };
        if let Ok(Ok(connection)) = timeout(REQUEST_TIMEOUT, connecting).await {
            let _ = target.connections.send(connection).await;
        }
    }

    async fn accept_control(self: &Arc<Self>, incoming: Incoming, client: Client) {
        let peer = incoming.remote_address();
        let place = client.place().await;
        let Ok(connecting) = incoming.accept() else { return };
        let Ok(Ok(connection)) = timeout(REQUEST_TIMEOUT, connecting).await else {
            place.keep_for(CLOSING_TIME);
            return;
        };
        if let Some(http) = self.http.as_ref().filter(|_| http::is_chosen(&connection)) {
            return self.serve_http(http, &connection, peer, place).await;
        }
        let result = match self.begin(&connection, peer).await {
            Ok(begun) => {
                drop(place);
                self.serve(&connection, peer, begun).await
            }
            Err(error) => {
                place.keep_for(closing_time(&connection));
                Err(error)
            }
        };
        if let Err(error) = result {
            self.log(&format!("{peer}: {error}"));
            close(&connection, error.close_code(), &error.reason());
        }
    }

    pub(crate) fn log(&self, line: &str) {
        (self.settings.log)(line);
    }
}

/// Time for which noq keeps an ended connection: three PTOs (RFC 9002, section 6.2.1), if its RTT varies by half.
fn closing_time(connection: &Connection) -> Duration {
    connection.rtt(PathId::ZERO).map_or(CLOSING_TIME, |rtt| (rtt * 3 + MAX_ACK_DELAY) * 3)
}

/// Gives free memory back to the system. glibc keeps it otherwise: after a flood had ended, 12 of 209 MB were in use, and all
/// 209 MB were resident, with one arena or many, and with any trim threshold. Takes milliseconds, in which other threads may
/// wait for memory. Other C libraries need no such call.
fn give_back_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code, reason = "glibc has no other interface")]
    // SAFETY: malloc_trim(3) is thread-safe and touches only memory that is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

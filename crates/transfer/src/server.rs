//! The server: listens, and tells conversations from data.

use crate::advice::Adviser;
use crate::certificates::server_crypto;
use crate::limits::Ledger;
use crate::session::close;
use crate::tickets::TicketOffice;
use crate::{CloseCode, Fingerprint, Identity, Limits, TransferError, transport};
use cellcc_control::Scheme;
use cellcc_quic::Congestion;
use cellcc_quic::qlog::Directory;
use cellcc_quic::reception::endpoint;
use noq::{Connection, Endpoint, Incoming, ServerConfig};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// From a connection's handshake to its request, and from the answer to the start.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Transfers may take so much longer when the server is to end.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// For the last packets to leave.
pub(crate) const LAST_PACKETS: Duration = Duration::from_millis(500);

/// What a server does for whom.
pub struct ServerSettings {
    /// Where it listens; port 0: any that is free.
    pub listen: SocketAddr,
    /// Sends with this, where a client asks for nothing else.
    pub scheme: Scheme,
    /// Names of the schemes that clients may ask it to send with; empty: all.
    pub allowed: Vec<String>,
    /// The folder with the files that can be had.
    pub root: Option<PathBuf>,
    /// Whether clients may add files to it.
    pub takes_files: bool,
    /// Its certificate.
    pub identity: Identity,
    /// The authorities of clients' certificates, in PEM; none: anybody may come.
    pub client_authorities: Option<PathBuf>,
    /// What each peer may have.
    pub limits: Limits,
    /// Where to write what each data connection does.
    pub qlog: Option<Directory>,
    /// Who tells schemes that ask for it about their bottleneck.
    pub adviser: Option<Adviser>,
    /// Is told of each transfer's beginning and end, in a line.
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

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: ServerSettings,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) office: TicketOffice<Place>,
    /// For control connections; the data connections' have their scheme beside it.
    config: ServerConfig,
    pub(crate) ends: watch::Sender<bool>,
    pub(crate) epoch: Instant,
}

/// Where a data connection belongs.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Where the server sends.
    pub(crate) congestion: Option<Congestion>,
    pub(crate) connections: mpsc::Sender<Connection>,
}

impl Server {
    /// Listens. In a tokio runtime.
    ///
    /// # Errors
    /// A certificate that cannot be used, an address that is taken, a scheme that needs what QUIC cannot do.
    pub fn bind(settings: ServerSettings) -> Result<Self, TransferError> {
        Congestion::new(settings.scheme.clone()).map_err(|error| TransferError::Input(error.to_string()))?;
        let crypto = server_crypto(&settings.identity, settings.client_authorities.as_deref())?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport(None)));
        let endpoint = endpoint(settings.listen, Some(config.clone())).map_err(|error| {
            TransferError::Input(format!(
                "cannot listen on {}: {error}; choose another address or port with --listen",
                settings.listen
            ))
        })?;
        let shared = Shared {
            ledger: Ledger::new(settings.limits),
            office: TicketOffice::default(),
            config,
            ends: watch::Sender::new(false),
            epoch: Instant::now(),
            settings,
        };
        let fingerprint = shared.settings.identity.fingerprint();
        Ok(Self { endpoint, fingerprint, shared: Arc::new(shared) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// The fingerprint of its certificate.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Serves until `end` is over. Then transfers have five seconds; what is left is closed with a reason.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let mut tasks = JoinSet::new();
        tokio::pin!(end);
        loop {
            tokio::select! {
                incoming = self.endpoint.accept() => match incoming {
                    Some(incoming) => self.accept(incoming, &mut tasks),
                    None => return,
                },
                Some(_) = tasks.join_next() => {}
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
        // Beyond the grace of transfers there are only those who never asked for one.
        let _ = timeout(GRACE + LAST_PACKETS, rest).await;
        self.endpoint.close(CloseCode::Shutdown.code(), b"the server has shut down");
        let _ = timeout(LAST_PACKETS, self.endpoint.wait_idle()).await;
    }

    fn accept(&self, incoming: Incoming, tasks: &mut JoinSet<()>) {
        let shared = Arc::clone(&self.shared);
        if let Some(place) = shared.office.redeem(&incoming.orig_dst_cid()) {
            tasks.spawn(async move { shared.accept_data(incoming, place).await });
        } else {
            tasks.spawn(async move { shared.accept_control(incoming).await });
        }
    }
}

impl Shared {
    /// A connection that fails its handshake is the client's to report.
    async fn accept_data(&self, incoming: Incoming, place: Place) {
        let mut transport = transport(self.settings.qlog.as_ref());
        if let Some(congestion) = &place.congestion {
            congestion.install(&mut transport);
        }
        let mut config = self.config.clone();
        config.transport_config(Arc::new(transport));
        let Ok(connecting) = incoming.accept_with(Arc::new(config)) else { return };
        if let Ok(Ok(connection)) = timeout(PATIENCE, connecting).await {
            let _ = place.connections.send(connection).await;
        }
    }

    async fn accept_control(&self, incoming: Incoming) {
        let peer = incoming.remote_address();
        let Ok(connecting) = incoming.accept() else { return };
        let Ok(Ok(connection)) = timeout(PATIENCE, connecting).await else { return };
        if let Err(error) = self.serve(&connection, peer).await {
            self.log(&format!("{peer}: {error}"));
            close(&connection, error.close_code(), &error.to_string());
        }
    }

    pub(crate) fn log(&self, line: &str) {
        (self.settings.log)(line);
    }
}

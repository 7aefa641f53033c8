//! HTTPS for browsers and programs: with the service's certificate, the client's where it has one, and bounds on time and number.

use crate::certificates::{CertificateError, Credentials, name_in};
use crate::name::PeerName;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Connections at once: as many as clients of the service.
const MAX_CONNECTIONS: usize = 256;
/// A handshake, and the headers of a request, take no longer than this. Ours: a hundred round trips of a slow path.
const PATIENCE: Duration = Duration::from_secs(10);
/// A peer that acknowledges nothing for so long is gone.
#[cfg(target_os = "linux")]
const USER_TIMEOUT: Duration = Duration::from_secs(15);
/// Wait where the system gives no socket.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Who asks.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// The name in its certificate, which our authority has signed; `None` for a browser.
    pub(super) name: Option<PeerName>,
    pub(super) address: IpAddr,
}

/// A socket that listens.
pub(super) struct Https {
    listener: TcpListener,
    tls: TlsAcceptor,
}

/// Why there is none.
#[derive(Debug)]
pub(super) enum HttpsError {
    Certificate(CertificateError),
    Listen(io::Error),
}

impl Https {
    pub(super) async fn bind(address: SocketAddr, credentials: &Credentials) -> Result<Self, HttpsError> {
        let tls = credentials.server_https().map_err(HttpsError::Certificate)?;
        let listener = TcpListener::bind(address).await.map_err(HttpsError::Listen)?;
        Ok(Self { listener, tls: TlsAcceptor::from(Arc::new(tls)) })
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Answers until it is dropped. Each request has an [`Extension`] with its [`Peer`].
    pub(super) async fn serve(self, router: Router) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            // Nobody closes the semaphore.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let Ok((socket, address)) = self.listener.accept().await else {
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            };
            let (tls, router) = (self.tls.clone(), router.clone());
            connections.spawn(async move {
                answer(socket, address.ip().to_canonical(), tls, router).await;
                drop(place);
            });
        }
    }
}

/// Until the connection ends.
async fn answer(socket: TcpStream, address: IpAddr, tls: TlsAcceptor, router: Router) {
    // Without these options it takes longer to see that a peer is gone, and an event waits for an acknowledgement.
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(&socket).set_tcp_user_timeout(Some(USER_TIMEOUT));
    let _ = socket.set_nodelay(true);
    let Ok(Ok(stream)) = timeout(PATIENCE, tls.accept(socket)).await else { return };
    let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let name = certificate.and_then(|certificate| name_in(certificate).ok());
    let service = TowerToHyperService::new(router.layer(Extension(Peer { name, address })));
    // How a connection ends is the peer's affair.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

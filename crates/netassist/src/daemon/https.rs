//! HTTPS for browsers and programs: with the service's certificate, and the client's where it has one.

use crate::transport::Log;
use axum::{Extension, Router};
use cellcc_http_port::{Bounds, Port, answer};
use cellcc_netassist_client::certificates::name_in;
use cellcc_netassist_client::{CertificateError, Credentials, PeerName};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// As many connections as clients of the service.
const BOUNDS: Bounds = Bounds::of(256);

/// The client.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// The name in its certificate, which our authority has signed; `None` for a browser.
    pub(super) name: Option<PeerName>,
    pub(super) address: IpAddr,
}

/// A socket that listens.
pub(super) struct Https {
    port: Port,
    tls: TlsAcceptor,
}

/// Why the socket could not be opened.
#[derive(Debug)]
pub(super) enum HttpsError {
    Certificate(CertificateError),
    Listen(io::Error),
}

impl Https {
    pub(super) async fn bind(address: SocketAddr, credentials: &Credentials) -> Result<Self, HttpsError> {
        let tls = credentials.server_https().map_err(HttpsError::Certificate)?;
        let port = Port::bind(address, BOUNDS).await.map_err(HttpsError::Listen)?;
        Ok(Self { port, tls: TlsAcceptor::from(Arc::new(tls)) })
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.port.address()
    }

    /// Answers until it is dropped. Each request has an [`Extension`] with its [`Peer`].
    pub(super) async fn serve(self, router: Router, log: Log) {
        let tls = self.tls;
        self.port
            .serve(&*log, move |socket, address| greet(socket, address, tls.clone(), router.clone()))
            .await;
    }
}

/// The handshake, and the requests after it.
async fn greet(socket: TcpStream, address: IpAddr, tls: TlsAcceptor, router: Router) {
    let Ok(Ok(stream)) = timeout(BOUNDS.patience, tls.accept(socket)).await else { return };
    let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let name = certificate.and_then(|certificate| name_in(certificate).ok());
    answer(stream, router.layer(Extension(Peer { name, address })), BOUNDS.patience).await;
}

//! Two noq endpoints on loopback, with a certificate made for the test.

use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const SERVER_NAME: &str = "localhost";
/// Ends a hang: longer than anything here takes on a slow machine.
pub(crate) const HANG_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) mod faults;
pub(crate) mod relay;

/// Both ends of one connection, with their endpoints: those must live on.
pub(crate) struct Pair {
    pub(crate) server: Connection,
    pub(crate) client: Connection,
    pub(crate) _endpoints: (Endpoint, Endpoint),
}

/// Waits until this is so.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(HANG_TIMEOUT, waiting).await.is_ok(), "within {HANG_TIMEOUT:?}: {what}");
}

/// Connects two endpoints of these settings over loopback.
pub(crate) async fn connect(server: TransportConfig, client: TransportConfig) -> Pair {
    connect_over(None, server, client).await
}

/// Connects over a bottleneck, where there is one.
pub(crate) async fn connect_over(
    bottleneck: Option<relay::Bottleneck>,
    server: TransportConfig,
    client: TransportConfig,
) -> Pair {
    let way = async |server| match bottleneck {
        Some(bottleneck) => relay::start(server, bottleneck).await,
        None => server,
    };
    connect_via(way, server, client).await
}

/// Connects over a relay in front of the server's address, which has another.
pub(crate) async fn connect_via(
    way: impl AsyncFnOnce(SocketAddr) -> SocketAddr,
    server: TransportConfig,
    client: TransportConfig,
) -> Pair {
    let (server_config, client_config) = configs(server, client);
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Endpoint::server(server_config, anywhere).unwrap();
    let client = Endpoint::client(anywhere).unwrap();
    let address = way(server.local_addr().unwrap()).await;
    let connecting = client.connect_with(client_config, address, SERVER_NAME).unwrap();
    let (accepted, connected) = tokio::join!(async { server.accept().await.unwrap().await }, connecting);
    Pair { server: accepted.unwrap(), client: connected.unwrap(), _endpoints: (server, client) }
}

/// The configurations of a server and a client that trusts it, with a certificate made for the test.
pub(crate) fn configs(server: TransportConfig, client: TransportConfig) -> (ServerConfig, ClientConfig) {
    let made = rcgen::generate_simple_self_signed([SERVER_NAME.to_owned()]).unwrap();
    let certificate = CertificateDer::from(made.cert);
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let mut server_config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    server_config.transport_config(Arc::new(server));
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut client_config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    client_config.transport_config(Arc::new(client));
    (server_config, client_config)
}

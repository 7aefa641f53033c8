//! Clients that cost a server memory and give it nothing to do: connections that fall silent.

use noq::ClientConfig;
use noq::crypto::rustls::QuicClientConfig;
use noq_proto::{DatagramEvent, EndpointConfig, FourTuple};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest wait for a server's Retry. On loopback it takes less than a millisecond, on a busy machine up to a second.
const RETRY_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest packet that a server sends before it knows the path.
const MAX_PACKET: usize = 1500;

/// Connections that fall silent.
pub(crate) struct Silent {
    socket: UdpSocket,
    server: SocketAddr,
    config: ClientConfig,
    endpoint: Arc<EndpointConfig>,
}

impl Silent {
    /// `from`: the client's address.
    pub(crate) fn new(server: SocketAddr, from: Ipv4Addr) -> io::Result<Self> {
        let socket = UdpSocket::bind((from, 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(RETRY_TIMEOUT))?;
        let config = client_config(None).map_err(io::Error::other)?;
        Ok(Self { socket, server, config, endpoint: Arc::default() })
    }

    /// Sends the first packet of a new connection, and nothing after it.
    pub(crate) fn send_initial(&self) -> io::Result<()> {
        self.connect(|_, mut connection| self.transmit(&mut connection))
    }

    /// Sends an Initial, but if a Retry comes back, answers that before it falls silent. False if something else comes.
    pub(crate) fn send_initial_and_answer_retry(&self) -> io::Result<bool> {
        self.connect(|endpoint, mut connection| {
            self.transmit(&mut connection)?;
            let mut packet = vec![0; MAX_PACKET];
            let length = self.socket.recv(&mut packet)?;
            // RFC 9000, section 17.2.5: a long header of type 3.
            if packet[0] & 0xf0 != 0xf0 {
                return Ok(false);
            }
            let data = packet[..length].into();
            let path = FourTuple::new(self.server, None);
            if let Some(DatagramEvent::ConnectionEvent(_, event)) =
                endpoint.handle(Instant::now(), path, None, data, &mut Vec::new())
            {
                connection.handle_event(event);
            }
            self.transmit(&mut connection)?;
            Ok(true)
        })
    }

    fn connect<T>(
        &self,
        run: impl FnOnce(&mut noq_proto::Endpoint, noq_proto::Connection) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut endpoint = noq_proto::Endpoint::new(Arc::clone(&self.endpoint), None, false);
        let connected = endpoint.connect(Instant::now(), self.config.clone(), self.server, "localhost");
        let (_, connection) = connected.map_err(io::Error::other)?;
        run(&mut endpoint, connection)
    }

    fn transmit(&self, connection: &mut noq_proto::Connection) -> io::Result<()> {
        let mut packet = Vec::with_capacity(MAX_PACKET);
        while connection.poll_transmit(Instant::now(), NonZeroUsize::MIN, &mut packet).is_some() {
            self.socket.send(&packet)?;
            packet.clear();
        }
        Ok(())
    }
}

/// A client of `cellcc serve`. `certificate`: the server's, in PEM; a connection that falls silent needs none.
pub(crate) fn client_config(certificate: Option<&Path>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = certificate {
        let certificate = CertificateDer::from_pem_file(path).map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?;
    let mut tls = builder.with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![b"cellcc/1".into()];
    let crypto = QuicClientConfig::try_from(tls).map_err(|error| error.to_string())?;
    Ok(ClientConfig::new(Arc::new(crypto)))
}

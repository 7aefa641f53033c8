//! The socket that clients connect to: handshakes, and the requests of each connection.

use super::Connected;
use crate::service::{ClientId, Reply};
use crate::transport::shared::Shared;
use cellcc_netassist_client::certificates::name_in;
use cellcc_netassist_client::protocol::{Answer, framed, request};
use cellcc_netassist_client::quic::{FramingError, read, transport};
use cellcc_netassist_client::{CertificateError, Credentials, PeerName};
use noq::{
    Connection, Endpoint, EndpointConfig, Incoming, PathId, RecvStream, ServerConfig, TokioRuntime, VarInt,
};
use noq_proto::HashedConnectionIdGenerator;
use ring::hmac::{HMAC_SHA256, Key, sign};
use rustls::pki_types::CertificateDer;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

/// Handshakes at once; each takes up to 85 kB of the QUIC implementation's memory, so 5.4 MB. Further ones are refused.
const MAX_HANDSHAKES: usize = 64;
/// Above this many at once, a client first proves its address, which takes it a round trip.
const RETRY_ABOVE: usize = 16;
/// Longest handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Answers that wait for a client that does not read them. One that lets more wait is disconnected.
const MAX_ANSWERS: usize = 256;
/// Bound of first packets that wait, and of their clients' further data.
const MAX_INCOMING: usize = 256;
const INCOMING_BUFFER_BYTES: u64 = 8192;

/// The service accepts no datagrams. Without any room, though, it could not send them either (noq 1.4).
const SERVICE_DATAGRAM_RECEIVE_BYTES: usize = 1;

const CLOSE_REFUSED: VarInt = VarInt::from_u32(1);
const CLOSE_PROTOCOL: VarInt = VarInt::from_u32(2);
const CLOSE_SHUTDOWN: VarInt = VarInt::from_u32(4);

/// The socket that clients connect to. Clones share it.
#[derive(Debug, Clone)]
pub(in crate::transport) struct Listener {
    endpoint: Endpoint,
    handshakes: Arc<Semaphore>,
}

impl Listener {
    pub(in crate::transport) fn bind(
        listen: SocketAddr,
        credentials: &Credentials,
    ) -> Result<Self, BindError> {
        let tls = credentials.server_quic()?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        config
            .transport_config(Arc::new(transport(SERVICE_DATAGRAM_RECEIVE_BYTES)))
            .max_incoming(MAX_INCOMING)
            .incoming_buffer_size(INCOMING_BUFFER_BYTES);
        let endpoint = socket(listen)
            .and_then(|socket| {
                Endpoint::new(endpoint_config(credentials), Some(config), socket, Arc::new(TokioRuntime))
            })
            .map_err(|cause| BindError::Listen { listen, cause })?;
        Ok(Self { endpoint, handshakes: Arc::new(Semaphore::new(MAX_HANDSHAKES)) })
    }

    pub(in crate::transport) fn address(&self) -> io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    /// Accepts connections until it is shut down.
    pub(in crate::transport) async fn run(&self, shared: &Arc<Shared>) {
        while let Some(incoming) = self.endpoint.accept().await {
            self.accept(incoming, shared);
        }
    }

    /// Ends all connections.
    pub(in crate::transport) async fn shut_down(&self) {
        self.endpoint.close(CLOSE_SHUTDOWN, b"the service has shut down");
        let _ = timeout(Duration::from_millis(500), self.endpoint.wait_idle()).await;
    }

    fn accept(&self, incoming: Incoming, shared: &Arc<Shared>) {
        let free = self.handshakes.available_permits();
        if MAX_HANDSHAKES - free >= RETRY_ABOVE && !incoming.remote_address_validated() {
            shared.state().counts.handshakes_refused += 1;
            // Fails only for a client that has proved its address.
            drop(incoming.retry());
            return;
        }
        let Ok(permit) = Arc::clone(&self.handshakes).try_acquire_owned() else {
            shared.state().counts.handshakes_refused += 1;
            incoming.refuse();
            return;
        };
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            let connected = handshake(incoming).await;
            drop(permit);
            match connected {
                Some((connection, name, address)) => serve(&shared, connection, name, address).await,
                None => shared.state().counts.handshakes_failed += 1,
            }
        });
    }
}

/// A UDP socket; one for all IPv6 addresses also takes IPv4.
fn socket(listen: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(listen), Type::DGRAM, None)?;
    if listen.is_ipv6() {
        // Where the system does not do that, the address is for IPv6 alone.
        let _ = socket.set_only_v6(false);
    }
    socket.bind(&listen.into())?;
    Ok(socket.into())
}

/// A connection whose client has proved who it is.
async fn handshake(incoming: Incoming) -> Option<(Connection, PeerName, IpAddr)> {
    let connection = timeout(HANDSHAKE_TIMEOUT, incoming.accept().ok()?).await.ok()?.ok()?;
    let address = connection.path(PathId::ZERO)?.remote_address().ok()?.ip();
    let identity = connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    let Ok(name) = name_in(identity.first()?) else {
        connection.close(CLOSE_REFUSED, b"the certificate names no role of NetAssist");
        return None;
    };
    Some((connection, name, address.to_canonical()))
}

async fn serve(shared: &Shared, connection: Connection, name: PeerName, address: IpAddr) {
    let (answers, mut waiting) = mpsc::channel(MAX_ANSWERS);
    shared.state().counts.connections += 1;
    let Some(id) = shared.connect(name, address) else {
        connection.close(CLOSE_REFUSED, b"too many clients");
        return;
    };
    let connected = Connected::new(connection.clone(), answers.clone());
    shared.state().connections.insert(id, connected);
    // A stream is there with its first byte: a server without users sends none yet.
    if let Ok((mut send, mut receive)) = connection.accept_bi().await {
        let writing = async {
            while let Some(answer) = waiting.recv().await {
                if send.write_all(&framed(&answer)).await.is_err() {
                    break;
                }
            }
        };
        tokio::select! {
            () = writing => {}
            () = read_requests(shared, id, &connection, &mut receive, &answers) => {}
        }
    }
    shared.disconnect(id);
    connection.close(VarInt::from_u32(0), b"");
}

async fn read_requests(
    shared: &Shared,
    id: ClientId,
    connection: &Connection,
    receive: &mut RecvStream,
    answers: &mpsc::Sender<Answer>,
) {
    loop {
        let text = match read(receive).await {
            Ok(Some(text)) => text,
            Ok(None) | Err(FramingError::Lost(_)) => return,
            Err(FramingError::Malformed(problem)) => {
                shared.state().counts.malformed += 1;
                return connection.close(CLOSE_PROTOCOL, problem.to_string().as_bytes());
            }
        };
        let asked = match request(&text) {
            Ok(asked) => asked,
            Err(problem) => {
                shared.state().counts.malformed += 1;
                return connection.close(CLOSE_PROTOCOL, problem.to_string().as_bytes());
            }
        };
        let Reply::Answers(replies) = shared.reply(id, &asked) else {
            return connection.close(CLOSE_REFUSED, b"too many requests");
        };
        // A client that does not read its answers may send no more requests.
        for reply in replies {
            if answers.send(reply).await.is_err() {
                return;
            }
        }
    }
}

/// Why the service cannot listen.
#[derive(Debug, Error)]
pub enum BindError {
    /// The address.
    #[error("cannot listen on {listen}: {cause}; choose another address or port")]
    Listen {
        /// Which.
        listen: SocketAddr,
        /// The system's error.
        cause: io::Error,
    },
    /// The certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

// The way in which clients learn at once that the service has crashed and restarted: it answers packets of unknown connections
// with stateless resets (RFC 9000, section 10.3). A client believes the token that it was given before the crash, so that
// tokens, and the connection identifiers that they belong to, are made from the service's private key.

/// An endpoint that is known again after a restart with the same credentials.
fn endpoint_config(credentials: &Credentials) -> EndpointConfig {
    let secret = Key::new(HMAC_SHA256, credentials.key().secret_der());
    let reset_key = Key::new(HMAC_SHA256, sign(&secret, b"cellcc netassist stateless reset").as_ref());
    let identifiers = sign(&secret, b"cellcc netassist connection identifiers");
    let identifiers = identifiers.as_ref().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mut config = EndpointConfig::new(Arc::new(reset_key));
    config.cid_generator(Arc::new(move || Box::new(HashedConnectionIdGenerator::from_key(identifiers))));
    config
}

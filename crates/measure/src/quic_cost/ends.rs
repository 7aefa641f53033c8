//! The two ends of a transfer, each with a thread of its own, so that the processor time of each is known.

use super::stock;
use bytes::Bytes;
use cellcc_quic::ecn_socket::Codepoints;
use cellcc_quic::receive_thread::endpoint;
use cellcc_quic::{Congestion, attach_mapping_receiver};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{
    ClientConfig, Connection, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime, TransportConfig,
    VarInt,
};
use rustix::time::{ClockId, clock_gettime};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const PORT: u16 = 4433;
const STREAMS: usize = 16;
/// Below noq's bound of 1024 gaps in a stream at any loss.
const STREAM_WINDOW: u32 = 2 << 20;
const CHUNK: usize = 1 << 18;
const IP_UDP_HEADERS: u64 = 28;
/// The code with which a satisfied client closes.
const ENOUGH: VarInt = VarInt::from_u32(0);

/// The data of a transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carried {
    payload: u64,
    on_link: u64,
    time: Duration,
    sender_cpu: Duration,
    sent_packets: u64,
}

impl Carried {
    pub(crate) fn goodput_gbit_s(&self) -> f64 {
        self.payload as f64 * 8e-9 / self.time.as_secs_f64()
    }

    pub(crate) fn on_link_mbit_s(&self) -> f64 {
        self.on_link as f64 * 8e-6 / self.time.as_secs_f64()
    }

    pub(crate) fn cpu_us_per_packet(&self) -> f64 {
        self.sender_cpu.as_secs_f64() * 1e6 / self.sent_packets.max(1) as f64
    }
}

/// The sockets of both ends.
#[derive(Clone)]
pub(crate) enum Sockets {
    /// With a thread of its own to receive.
    WithThread,
    /// noq's.
    Own,
    /// Sockets that map ECN codepoints: the sender's and the receiver's.
    Mapping([Codepoints; 2]),
}

impl Sockets {
    fn open(&self, address: SocketAddr, server: Option<ServerConfig>) -> Endpoint {
        let runtime: Arc<dyn Runtime> = match self {
            Self::WithThread => return endpoint(address, server).unwrap(),
            Self::Own => Arc::new(TokioRuntime),
            Self::Mapping(codepoints) => {
                codepoints[usize::from(server.is_none())].runtime(Arc::new(TokioRuntime))
            }
        };
        Endpoint::new(EndpointConfig::default(), server, UdpSocket::bind(address).unwrap(), runtime).unwrap()
    }

    fn congestion(&self, scheme: &str) -> Option<Congestion> {
        match self {
            Self::Mapping(_) => {
                Congestion::over_mapping_sockets(cellcc_schemes::registry().parse(scheme).ok()?).ok()
            }
            _ => Congestion::named(scheme).ok(),
        }
    }
}

struct Received {
    payload: u64,
    on_link: u64,
    time: Duration,
}

struct SentTotals {
    cpu: Duration,
    packets: u64,
    /// The scheme's own at the end, in bytes on the link, where it paces.
    send_quantum: Option<u64>,
}

/// One transfer over loopback.
pub(crate) fn carry(sockets: &Sockets, scheme: &str, time: Duration) -> Carried {
    let (theirs, scheme) = (sockets.clone(), scheme.to_owned());
    let (address_to, address_from) = channel();
    let sender = std::thread::spawn(move || {
        runtime().block_on(async {
            let endpoint = listen(&theirs, &scheme, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
            address_to.send(endpoint.local_addr().unwrap()).unwrap();
            send_to_first(&theirs, &endpoint, &scheme).await
        })
    });
    let address = address_from.recv().unwrap();
    let received = runtime().block_on(receive(sockets, address, time));
    let sent = sender.join().unwrap();
    Carried {
        payload: received.payload,
        on_link: received.on_link,
        time: received.time,
        sender_cpu: sent.cpu,
        sent_packets: sent.packets,
    }
}

/// Sends to one client, until that closes.
pub(crate) fn serve(scheme: &str) {
    runtime().block_on(async {
        let sockets = Sockets::WithThread;
        let endpoint = listen(&sockets, scheme, SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)));
        let sent = send_to_first(&sockets, &endpoint, scheme).await;
        let per_packet = sent.cpu.as_secs_f64() * 1e6 / sent.packets.max(1) as f64;
        let quantum = sent.send_quantum.map_or_else(String::new, |bytes| format!("  quantum {bytes}"));
        println!("{scheme:30} {:9} packets  {per_packet:6.3} us/packet{quantum}", sent.packets);
    });
}

/// Receives for some time.
pub(crate) fn fetch(address: SocketAddr, time: Duration) {
    let received = runtime().block_on(receive(&Sockets::WithThread, address, time));
    let mbit_s = received.on_link as f64 * 8e-6 / received.time.as_secs_f64();
    println!("{mbit_s:30.3} Mbit/s on the link");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(STREAM_WINDOW.into());
    transport.send_window(64 << 20);
    transport
}

fn listen(sockets: &Sockets, scheme: &str, address: SocketAddr) -> Endpoint {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = CertificateDer::from(made.cert);
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let tls = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    let mut transport = transport();
    if !stock::install(scheme, &mut transport) {
        sockets.congestion(scheme).expect("it can run here").install(&mut transport);
    }
    config.transport_config(Arc::new(transport));
    // Also for noq's CUBIC: a fixed window overflows the buffer of a usual socket, and that is no cost of the adapter.
    sockets.open(address, Some(config))
}

async fn send_to_first(sockets: &Sockets, endpoint: &Endpoint, scheme: &str) -> SentTotals {
    let connection = endpoint.accept().await.unwrap().await.unwrap();
    let attached = sockets.congestion(scheme).and_then(|congestion| match sockets {
        Sockets::Mapping(codepoints) => congestion.attach_mapping(&connection, &codepoints[0]),
        _ => congestion.attach(&connection),
    });
    let cpu_before = cpu();
    let streams = (0..STREAMS).map(|_| tokio::spawn(send_endlessly(connection.clone())));
    let streams: Vec<_> = streams.collect();
    connection.closed().await;
    for stream in streams {
        stream.await.unwrap();
    }
    let limits = attached.map(|attached| attached.scheme().snapshot().limits);
    let send_quantum =
        limits.filter(|limits| limits.pacing_rate.is_some()).map(|limits| limits.send_quantum.get());
    SentTotals { cpu: cpu() - cpu_before, packets: connection.stats().udp_tx.datagrams, send_quantum }
}

async fn send_endlessly(connection: Connection) {
    let chunk = Bytes::from_static(&[7; CHUNK]);
    let Ok(mut stream) = connection.open_uni().await else { return };
    while stream.write_chunk(chunk.clone()).await.is_ok() {}
}

async fn receive(sockets: &Sockets, address: SocketAddr, time: Duration) -> Received {
    let endpoint = sockets.open(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), None);
    let mut tls =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate))
            .with_no_client_auth();
    tls.enable_early_data = false;
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    config.transport_config(Arc::new(transport()));
    let connection = endpoint.connect_with(config, address, "localhost").unwrap().await.unwrap();
    let _mapping = match sockets {
        Sockets::Mapping(codepoints) => {
            Some(attach_mapping_receiver(&connection, cellcc_schemes::registry(), &codepoints[1]))
        }
        _ => None,
    };
    // The first second is the scheme's start.
    tokio::spawn(discard_all(connection.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    let before = connection.stats();
    tokio::time::sleep(time).await;
    let after = connection.stats();
    let time = began.elapsed();
    connection.close(ENOUGH, b"");
    endpoint.wait_idle().await;
    let bytes = after.udp_rx.bytes - before.udp_rx.bytes;
    let datagrams = after.udp_rx.datagrams - before.udp_rx.datagrams;
    Received { payload: bytes, on_link: bytes + datagrams * IP_UDP_HEADERS, time }
}

async fn discard_all(connection: Connection) {
    while let Ok(mut stream) = connection.accept_uni().await {
        tokio::spawn(async move { while let Ok(Some(_)) = stream.read_chunk(CHUNK).await {} });
    }
}

/// The processor time of this thread so far.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A measurement has no secrets. `transfer` has the like with pins, which is no reason to make it public.
#[derive(Debug)]
struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

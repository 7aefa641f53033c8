//! An impostor of a broker, without a certificate or with one: a client's memory for it is bounded.

use crate::broker::folder_of;
use crate::support::{ALICE, Edge, HANG_TIMEOUT, ListenerEvent, Listening, name};
use cellcc_assist::AdviceRecord;
use cellcc_netassist::{Authority, Server};
use cellcc_netassist_client::{BrokerUrl, Role, ServiceAddress, UserKey};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A foreign port on loopback.
async fn impostor() -> (TcpListener, BrokerUrl) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, format!("tls://localhost:{port}").parse().unwrap())
}

async fn next(listener: &TcpListener) -> TcpStream {
    timeout(HANG_TIMEOUT, listener.accept()).await.expect("it connects").unwrap().0
}

/// Bytes that are taken before the connection ends: of repetitions of `part`, up to `at_most` in all.
async fn taken(stream: &mut (impl AsyncWrite + Unpin), part: &[u8], at_most: usize) -> usize {
    let mut taken = 0;
    while taken < at_most && matches!(timeout(HANG_TIMEOUT, stream.write_all(part)).await, Ok(Ok(()))) {
        taken += part.len();
    }
    taken
}

/// Bytes in the sockets of both ends besides the read ones.
const BUFFERED: usize = 16 << 20;
/// A gigabyte is no bound.
const UNBOUNDED: usize = 1 << 30;

/// 562 MB were taken in five seconds, and the next attempt began.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_line_without_an_end_is_not_read_to_its_end() {
    let authority = Arc::new(Authority::new().unwrap());
    let edge = Edge::of(Arc::clone(&authority), "edge");
    let (listener, url) = impostor().await;
    let mut client = Listening::start(ServiceAddress::Nats(url.clone()), edge.credentials(Role::Server, "a"));
    let mut line = [b'x'; 1 << 16];
    line[..5].copy_from_slice(b"INFO ");
    let of_client = taken(&mut next(&listener).await, &line, UNBOUNDED).await;
    let reason = client.hears_that(ListenerEvent::lost).await;
    assert!(
        of_client < BUFFERED && reason.contains("a line of more than 32768 bytes"),
        "{of_client}: {reason}"
    );
    drop(client);
    // The service dials with the same code.
    edge.publish_through(&url, &[]);
    let of_service = taken(&mut next(&listener).await, &line, UNBOUNDED).await;
    assert!(of_service < BUFFERED, "{of_service} bytes");
}

/// The other end of a connection with a broker of this authority, after its TLS.
async fn after_tls(authority: &Authority, socket: TcpStream) -> BufReader<TlsStream<TcpStream>> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let folder = folder_of(authority, &name(Role::Broker, "localhost"));
    let chain = vec![CertificateDer::from_pem_file(folder.path().join("certificate.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(folder.path().join("key.pem")).unwrap();
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
    BufReader::new(TlsAcceptor::from(Arc::new(config)).accept(socket).await.unwrap())
}

/// Answers the first two lines of a client.
async fn welcome(stream: &mut BufReader<TlsStream<TcpStream>>) {
    let mut said = String::new();
    for _ in 0..2 {
        stream.read_line(&mut said).await.unwrap();
    }
    assert!(said.starts_with("CONNECT {") && said.ends_with("PING\r\n"), "{said}");
    stream.write_all(b"PONG\r\n").await.unwrap();
    stream.flush().await.unwrap();
}

/// The other end of the next connection, with which everything is in order so far.
async fn welcomed(listener: &TcpListener, authority: &Authority) -> BufReader<TlsStream<TcpStream>> {
    let mut socket = next(listener).await;
    socket.write_all(b"INFO {\"tls_required\":true}\r\n").await.unwrap();
    let mut stream = after_tls(authority, socket).await;
    welcome(&mut stream).await;
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_waits_for_tls_before_it_greets_is_connected_to() {
    let authority = Arc::new(Authority::new().unwrap());
    let edge = Edge::of(Arc::clone(&authority), "edge");
    let (listener, url) = impostor().await;
    let mut client = Listening::start(ServiceAddress::Nats(url), edge.credentials(Role::Server, "a"));
    let mut stream = after_tls(&authority, next(&listener).await).await;
    stream.write_all(b"INFO {}\r\n").await.unwrap();
    stream.flush().await.unwrap();
    welcome(&mut stream).await;
    client.is_connected().await;
}

/// 240 MB of answers waited after five seconds.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_only_pings_has_few_answers() {
    let authority = Arc::new(Authority::new().unwrap());
    let edge = Edge::of(Arc::clone(&authority), "edge");
    let (listener, url) = impostor().await;
    let mut client = Listening::start(ServiceAddress::Nats(url), edge.credentials(Role::Server, "a"));
    let mut stream = welcomed(&listener, &authority).await;
    client.is_connected().await;
    let pings = b"PING\r\n".repeat(1000);
    for _ in 0..1000 {
        timeout(HANG_TIMEOUT, stream.write_all(&pings)).await.expect("they are read").unwrap();
    }
    stream.flush().await.unwrap();
    stream.get_mut().shutdown().await.unwrap();
    let mut said = Vec::new();
    let _ = timeout(HANG_TIMEOUT, stream.read_to_end(&mut said)).await;
    let pongs = said.windows(6).filter(|bytes| bytes == b"PONG\r\n").count();
    assert!((1..100_000).contains(&pongs), "{pongs} answers to a million pings");
    client.hears_that(ListenerEvent::lost).await;
}

/// Reads lines up to one that begins so.
async fn says(stream: &mut BufReader<TlsStream<TcpStream>>, beginning: &str) {
    let mut line = String::new();
    while !line.starts_with(beginning) {
        line.clear();
        let read = timeout(HANG_TIMEOUT, stream.read_line(&mut line)).await.expect("it says so").unwrap();
        assert_ne!(read, 0, "it ends without `{beginning}`");
    }
}

/// Passes this site's record on under the second subscription.
async fn passes_on(stream: &mut BufReader<TlsStream<TcpStream>>, site: &str, record: &AdviceRecord) {
    let head = format!("MSG na.v1.{site}.1.{} 2 {}\r\n", UserKey(record.user), AdviceRecord::SIZE);
    stream.write_all(&[head.as_bytes(), &record.encode(), b"\r\n"].concat()).await.unwrap();
    stream.flush().await.unwrap();
}

/// A request that reached the broker before the service was back was lost, and the next one came up to ten seconds later.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_back_receives_reports_before_a_service_has_answered_and_sees_a_move_meanwhile() {
    let authority = Arc::new(Authority::new().unwrap());
    let edge = Edge::of(Arc::clone(&authority), "edge");
    let (listener, url) = impostor().await;
    let mut client = Listening::start(ServiceAddress::Nats(url), edge.credentials(Role::Server, "a"));
    client.client.want(ALICE, 1, None);
    let mut stream = welcomed(&listener, &authority).await;
    let record = AdviceRecord { user: [0xab; 16], ..AdviceRecord::EXAMPLE };
    let key = UserKey(record.user);
    let answer = format!(r#"{{"subscribed":{{"user":"{ALICE}","key":"{key}"}}}}"#);
    stream.write_all(format!("MSG a 1 {}\r\n{answer}\r\n", answer.len()).as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    let subscription = format!("SUB na.v1.*.*.{key} 2\r\n");
    says(&mut stream, &subscription).await;
    passes_on(&mut stream, "north", &record).await;
    assert_eq!(client.hears_that(ListenerEvent::record).await, record);
    drop(stream);
    client.hears_that(ListenerEvent::lost).await;
    let mut stream = welcomed(&listener, &authority).await;
    says(&mut stream, &subscription).await;
    passes_on(&mut stream, "south", &record).await;
    let moved = AdviceRecord { first: true, handover: true, ..record };
    assert_eq!(client.hears_that(ListenerEvent::record).await, moved);
}

/// A request that cannot be read, for a subscription that does not exist.
fn unusable_message() -> Vec<u8> {
    [&b"MSG na.ask.v1.server.a 9 b 4000\r\n"[..], &[b'x'; 4000], b"\r\n"].concat()
}

/// The next three connections get messages, a message and a line: each time four times the bytes that may wait.
async fn flood(listener: &TcpListener, authority: &Authority) {
    const FLOOD: usize = 64 << 20;
    let long = [b'x'; 1 << 16];
    let mut stream = welcomed(listener, authority).await;
    assert!(taken(&mut stream, &unusable_message(), FLOOD).await >= FLOOD, "all of it is read");
    drop(stream);
    let mut stream = welcomed(listener, authority).await;
    stream.write_all(b"MSG a 9 1000000000\r\n").await.unwrap();
    assert!(taken(&mut stream, &long, FLOOD).await >= FLOOD, "all of it is read");
    drop(stream);
    let mut stream = welcomed(listener, authority).await;
    stream.write_all(b"INFO ").await.unwrap();
    assert!(taken(&mut stream, &long, FLOOD).await < BUFFERED, "a line has an end");
}

/// A client and a service whose brokers flood them: neither takes anything for a record or a registration.
pub(crate) async fn flooded() {
    let authority = Arc::new(Authority::new().unwrap());
    let edge = Edge::of(Arc::clone(&authority), "edge");
    let ((of_client, url), (of_service, url_of_service)) = (impostor().await, impostor().await);
    let mut client = Listening::start(ServiceAddress::Nats(url), edge.credentials(Role::Server, "a"));
    edge.publish_through(&url_of_service, &[]);
    tokio::join!(flood(&of_client, &authority), flood(&of_service, &authority));
    let is_report =
        |heard: &ListenerEvent| matches!(heard, ListenerEvent::Record(..) | ListenerEvent::Granted(_));
    assert!(!client.so_far().iter().any(is_report));
    assert!(edge.server.counts().1.malformed > 0 && edge.server.sizes().0 == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_floods_a_service_takes_no_record_from_a_server_over_quic() {
    let authority = Arc::new(Authority::new().unwrap());
    let edge = Edge::of(Arc::clone(&authority), "edge");
    let (listener, url) = impostor().await;
    edge.publish_through(&url, &[]);
    let sent = Arc::new(AtomicUsize::new(0));
    let so_far = Arc::clone(&sent);
    let flood = tokio::spawn(async move {
        let mut stream = welcomed(&listener, &authority).await;
        let part = unusable_message();
        while stream.write_all(&part).await.is_ok() {
            so_far.fetch_add(part.len(), Ordering::Relaxed);
        }
    });
    let mut server = edge.client(edge.credentials(Role::Server, "a"));
    server.client.want(ALICE, 1, None);
    server.is_granted(ALICE).await;
    edge.until("flooded", |server| server.counts().1.malformed > 0).await;
    let before = sent.load(Ordering::Relaxed);
    for mbit in 1..=200 {
        edge.measure("alice", mbit.into());
        let heard = server.hears().await;
        let ListenerEvent::Record(ALICE, record) = heard else { panic!("{heard:?}") };
        assert_eq!(record.downlink.as_mbit_per_sec(), f64::from(mbit));
    }
    assert!(sent.load(Ordering::Relaxed) > before && edge.server.has_broker(), "the flood went on");
    flood.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_stalls_is_left_by_both_ends_and_what_waits_for_it_has_a_bound() {
    let authority = Arc::new(Authority::new().unwrap());
    let edge = Edge::of(Arc::clone(&authority), "edge");
    let ((of_client, url), (of_service, url_of_service)) = (impostor().await, impostor().await);
    let mut client = Listening::start(ServiceAddress::Nats(url), edge.credentials(Role::Server, "a"));
    edge.publish_through(&url_of_service, &[]);
    let _silent = tokio::join!(welcomed(&of_client, &authority), welcomed(&of_service, &authority));
    edge.until("connected", Server::has_broker).await;
    // 15 MB: many times the room of a socket.
    (0..100_000).for_each(|_| edge.measure("alice", 12.0));
    assert!(edge.server.counts().1.broker_records_dropped > 0, "{:?}", edge.server.counts());
    let reason = client.hears_that(ListenerEvent::lost).await;
    assert!(reason.contains("the broker does not answer"), "{reason}");
    edge.until("left", |server| !server.has_broker()).await;
}

//! Clients that do not read their answers, over loopback.

#![allow(clippy::disallowed_methods, reason = "tests in real time")]

use bytes::Bytes;
use cellcc_http3::{Adapter, Refusal, Served, Site, serve};
use h3::client::SendRequest;
use h3::error::{Code, StreamError};
use h3::ext::Protocol;
use http::{Method, Request};
use noq::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use rustls::RootCertStore;
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const SILENCE: Duration = Duration::from_millis(300);
/// Longer than a slow machine takes for a request and the beginning of its answer.
const LONG_SILENCE: Duration = Duration::from_secs(3);
/// Ends a hang: longer than anything here takes on a slow machine.
const HANG_TIMEOUT: Duration = Duration::from_secs(120);
/// The window of noq's default.
const WINDOW: u32 = 1_250_000;

/// The connection of a client that lets the server open this many streams and keeps this many bytes of each answer, and the
/// server's log at its end. Each name is that of a file of 50 MB.
async fn connected(silence: Duration, streams: u32, window: u32) -> (Connection, JoinHandle<Served>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let config = ServerConfig::with_single_cert(vec![made.cert.into()], key.into()).unwrap();
    let server = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let client = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let mut transport = TransportConfig::default();
    transport.max_concurrent_uni_streams(streams.into()).keep_alive_interval(Some(SILENCE));
    transport.stream_receive_window(window.into());
    config.transport_config(Arc::new(transport));
    let connecting = client.connect_with(config, server.local_addr().unwrap(), "localhost").unwrap();
    let serving = tokio::spawn(async move {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        File::create(&path).unwrap().set_len(50_000_000).unwrap();
        let places = Arc::new(Semaphore::new(1000));
        let open = move |_: &str| {
            Ok((
                File::open(&path).unwrap(),
                Arc::clone(&places).try_acquire_owned().map_err(|_| Refusal::Busy)?,
            ))
        };
        let site = Site { open: Box::new(open), silence, port: 443 };
        let connection = server.accept().await.unwrap().await.unwrap();
        serve(connection, Arc::new(site), std::future::pending()).await
    });
    (connecting.await.unwrap(), serving)
}

/// The sender of requests.
async fn requests(connection: &Connection) -> SendRequest<Adapter, Bytes> {
    let adapter = Adapter::new(connection.clone(), [u64::MAX; 2]);
    let (mut driver, sender) = h3::client::new(adapter).await.unwrap();
    tokio::spawn(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
    sender
}

fn asking(method: Method) -> Request<()> {
    Request::builder().method(method).uri("https://localhost/file").body(()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_asks_for_nothing_is_left_though_it_lets_nobody_open_a_stream() {
    for streams in [0, 3] {
        let (connection, serving) = connected(SILENCE, streams, WINDOW).await;
        let served = timeout(HANG_TIMEOUT, serving).await.unwrap().unwrap();
        assert_eq!(served, Served::default());
        timeout(HANG_TIMEOUT, connection.closed()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_left_and_its_answer_is_given_up() {
    let _alone = ALONE.lock().await;
    let (connection, serving) = connected(LONG_SILENCE, 3, WINDOW).await;
    let mut sender = requests(&connection).await;
    let mut unread = sender.send_request(asking(Method::GET)).await.unwrap();
    let _ = unread.finish().await;
    let answer = unread.recv_response().await.unwrap();
    assert_eq!(answer.headers()["content-length"], "50000000");
    let Served { requests, bytes } = timeout(HANG_TIMEOUT, serving).await.unwrap().unwrap();
    assert_eq!(requests, 1);
    // The bytes in its window, and those that waited in noq.
    assert!((1_000_000..30_000_000).contains(&bytes), "{bytes}");
    connection.closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_takes_no_frame_of_its_session_is_left() {
    let (connection, serving) = connected(LONG_SILENCE, 3, WINDOW).await;
    let mut sender = requests(&connection).await;
    let mut asking = asking(Method::CONNECT);
    *asking.uri_mut() = "https://localhost/frames?bytes=5000&per_second=240".parse().unwrap();
    asking.extensions_mut().insert(Protocol::WEB_TRANSPORT);
    let mut session = sender.send_request(asking.clone()).await.unwrap();
    assert_eq!(session.recv_response().await.unwrap().status(), 200);
    let mut second = sender.send_request(asking).await.unwrap();
    assert_eq!(second.recv_response().await.unwrap().status(), 405, "one at once");
    let served = timeout(HANG_TIMEOUT, serving).await.unwrap().unwrap();
    assert_eq!(served, Served { requests: 2, bytes: 0 });
    connection.closed().await;
}

/// Tests that hold much, or measure how much is held.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Memory of this process in bytes, including the clients.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1000
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_answers_that_nobody_reads_keep_few_bytes_of_each() {
    let _alone = ALONE.lock().await;
    let (connection, serving) = connected(HANG_TIMEOUT, 3, WINDOW / 20).await;
    let mut sender = requests(&connection).await;
    let before = resident();
    let mut unread = Vec::new();
    for _ in 0..100 {
        let mut request = sender.send_request(asking(Method::GET)).await.unwrap();
        assert_eq!(request.recv_response().await.unwrap().headers()["content-length"], "50000000");
        unread.push(request);
    }
    // Until nothing more comes: the windows are full.
    let received = async || {
        tokio::time::sleep(2 * SILENCE).await;
        connection.stats().frame_rx.stream
    };
    while received().await != received().await {}
    let more = resident().saturating_sub(before);
    // 17 MB: the windows of the client, noq's unacknowledged data, and small pieces. With large ones, 34.
    assert!(more < 25_000_000, "{more} bytes");
    drop(unread);
    connection.close(0_u32.into(), b"");
    assert_eq!(timeout(HANG_TIMEOUT, serving).await.unwrap().unwrap().requests, 100);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_requests_leave_nothing_and_end_the_connection() {
    let _alone = ALONE.lock().await;
    let (connection, serving) = connected(HANG_TIMEOUT, 3, WINDOW).await;
    let mut sender = requests(&connection).await;
    let before = resident();
    let all = async {
        for _ in 0..5_000 {
            let mut read = sender.send_request(asking(Method::HEAD)).await?;
            assert_eq!(read.recv_response().await?.headers()["content-length"], "50000000");
            let mut given_up = sender.send_request(asking(Method::GET)).await?;
            given_up.stop_sending(Code::H3_REQUEST_CANCELLED);
            given_up.stop_stream(Code::H3_REQUEST_CANCELLED);
        }
        Ok::<_, StreamError>(())
    };
    timeout(3 * HANG_TIMEOUT, all).await.expect("none waits for another").unwrap();
    let more = resident().saturating_sub(before);
    // As `cellcc-measure server-flood`.
    assert!(more < 64_000_000, "{more} bytes");
    let served = timeout(HANG_TIMEOUT, serving).await.unwrap().unwrap();
    assert_eq!(served.requests, 10_000);
    assert!(connection.closed().await.to_string().contains("256"), "H3_NO_ERROR");
}

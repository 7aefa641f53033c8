//! Clients that want what they should not have, or more than there is.

use super::client::{Site, content};
use h3::error::Code;
use http::{Method, StatusCode};
use noq::{Connection, ConnectionError, SendStream, VarInt};
use std::fs;
use std::time::Duration;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);

/// HTTP/3's stream and frame types (RFC 9114, sections 6.2.1 and 7.2), and one that means nothing.
const CONTROL: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const RESERVED: u8 = 0x21;
/// A frame's length of a gigabyte (RFC 9000, section 16).
const GIGABYTE: [u8; 8] = [0xc0, 0, 0, 0, 0x40, 0, 0, 0];

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_out_of_the_folder_and_no_folder_is_listed() {
    use std::os::unix::fs::symlink;
    let site = Site::start("cubic");
    let path = site.path();
    fs::create_dir(path.join("sub")).unwrap();
    symlink(path.parent().unwrap().join("key.pem"), path.join("link")).unwrap();
    symlink(path.parent().unwrap(), path.join("out")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path.join("pipe")).status().unwrap().success());
    site.write("file", b"file");
    let mut client = site.connect().await;
    let long = format!("/{}", "a".repeat(10_000));
    for path in [
        "/../key.pem",
        "/%2e%2e/key.pem",
        "/sub/%2e%2e/%2e%2e/key.pem",
        "/..%2fkey.pem",
        "//../key.pem",
        "/link",
        "/out/key.pem",
        "/sub",
        "/sub/",
        "/",
        "/pipe",
        "/file/",
        "/file%00",
        "/%ff",
        "/.cellcc-x.part",
        &long,
    ] {
        let (answer, body) = client.get(path, &[]).await;
        assert_eq!((answer.status(), body.len()), (StatusCode::NOT_FOUND, 0), "{path}");
    }
    assert_eq!(client.get("/sub/%2e/../file?x=1", &[]).await.0.status(), StatusCode::NOT_FOUND);
    assert_eq!(client.get("/file?x=1", &[]).await.1, b"file");
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
        let (answer, _) = client.ask(method.clone(), "/file", &[]).await;
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(answer.headers()["allow"], "GET, HEAD");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_header_is_refused_and_the_connection_goes_on() {
    let site = Site::start("cubic");
    site.write("file", b"file");
    let mut client = site.connect().await;
    let long = "a".repeat(17_000);
    let (answer, _) = client.get("/file", &[("x-long", &long)]).await;
    assert_eq!(answer.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    assert_eq!(client.get("/file", &[]).await.1, b"file");
}

/// Sends until the peer stops the stream: the code, and how many bytes were taken.
async fn flood(stream: &mut SendStream) -> (Option<VarInt>, usize) {
    let mut taken = 0;
    loop {
        match timeout(PATIENCE, stream.write(&[0; 4096])).await.expect("it is not left to wait") {
            Ok(length) => taken += length,
            Err(noq::WriteError::Stopped(code)) => return (Some(code), taken),
            Err(_) => return (None, taken),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_of_a_gigabyte_is_not_kept() {
    // h3 keeps a frame until it is whole.
    let site = Site::start("cubic");
    site.write("file", b"file");
    let mut client = site.connect().await;
    for frame in [HEADERS, RESERVED] {
        let (mut send, _recv) = client.connection.open_bi().await.unwrap();
        send.write_all(&[&[frame], &GIGABYTE[..]].concat()).await.unwrap();
        let (code, taken) = flood(&mut send).await;
        assert_eq!(code, Some(VarInt::from_u32(Code::H3_EXCESSIVE_LOAD.value() as u32)));
        // What was on its way when it was stopped fits in the stream's window.
        assert!((60_000..200_000).contains(&taken), "{taken}");
    }
    assert_eq!(client.get("/file", &[]).await.1, b"file");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_stream_without_an_end_ends_the_connection() {
    let site = Site::start("cubic");
    let connection: Connection = site.dial().await;
    let mut control = connection.open_uni().await.unwrap();
    control.write_all(&[CONTROL, SETTINGS, 0, RESERVED]).await.unwrap();
    control.write_all(&GIGABYTE).await.unwrap();
    let (_, taken) = flood(&mut control).await;
    assert!(taken < 2_000_000, "{taken}");
    let end = timeout(PATIENCE, connection.closed()).await.unwrap();
    assert!(matches!(end, ConnectionError::ApplicationClosed(_)), "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_mean_nothing_are_not_kept() {
    let site = Site::start("cubic");
    site.write("file", b"file");
    let mut client = site.connect().await;
    for _ in 0..1000 {
        let mut stream = timeout(PATIENCE, client.connection.open_uni()).await.unwrap().unwrap();
        let _ = stream.write(&[RESERVED; 100]).await;
        let _ = stream.finish();
    }
    assert_eq!(client.get("/file", &[]).await.1, b"file");
}

/// Memory of this process in bytes, the clients' as well.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1000
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_requests_that_are_given_up_leave_nothing_and_then_the_client_connects_anew() {
    let site = Site::start("cubic");
    site.write("large", &content(1_000_000));
    let mut client = site.connect().await;
    let before = resident();
    let give_up = async {
        for _ in 0..10_000 {
            let mut request = client.begin_without_end("/large").await?;
            request.stop_sending(Code::H3_REQUEST_CANCELLED);
            request.stop_stream(Code::H3_REQUEST_CANCELLED);
        }
        Ok::<_, h3::error::StreamError>(())
    };
    // The last ones may come after the server's farewell.
    let _ = timeout(Duration::from_secs(120), give_up).await.expect("none waits for another");
    let more = resident().saturating_sub(before);
    // As `make soak`.
    assert!(more < 64_000_000, "{more} bytes");
    timeout(PATIENCE, client.connection.closed()).await.expect("the connection has had its requests");
    let mut client = site.connect().await;
    assert_eq!(client.get("/large", &[]).await.1.len(), 1_000_000);
}

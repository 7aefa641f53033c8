//! Clients that request forbidden or missing things.

use super::HANG_TIMEOUT;
use super::client::Site;
use h3::error::Code;
use http::{Method, StatusCode};
use noq::{Connection, ConnectionError, SendStream, VarInt};
use std::fs;
use tokio::time::timeout;

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

/// The header of a GET of /, with a field of 17,000 bytes, which h3's client does not send: the server has said that it takes
/// 16,384 (RFC 9204, section 4.5, and its static table).
fn long_header() -> Vec<u8> {
    const GET_HTTPS_ROOT: [u8; 5] = [0, 0, 0xd1, 0xd7, 0xc1];
    const AUTHORITY: [u8; 3] = [0x50, 1, b'a'];
    const LENGTH: [u8; 4] = [0x7f, 0x80 | (16_873 & 0x7f) as u8, 0x80 | (16_873 >> 7 & 0x7f) as u8, 1];
    let block = [&GET_HTTPS_ROOT[..], &AUTHORITY, &[0x26], b"x-long", &LENGTH, &[b'a'; 17_000]].concat();
    [&[HEADERS, 0x80, 0, (block.len() >> 8) as u8, block.len() as u8], &block[..]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_header_is_refused_and_the_connection_goes_on() {
    // 431 in the code of RFC 7541, appendix B.
    const TOO_LARGE: [u8; 4] = [0x83, 0x69, 0x90, 0xff];
    let site = Site::start("cubic");
    site.write("file", b"file");
    let mut client = site.connect().await;
    let (mut send, mut recv) = client.connection.open_bi().await.unwrap();
    send.write_all(&long_header()).await.unwrap();
    let _ = send.finish();
    let answer = timeout(HANG_TIMEOUT, recv.read_to_end(10_000)).await.unwrap().unwrap();
    assert_eq!(answer[0], HEADERS);
    assert!(answer.windows(4).any(|bytes| bytes == TOO_LARGE), "{answer:02x?}");
    assert_eq!(client.get("/file", &[]).await.1, b"file");
}

/// Sends until the peer stops the stream: the code, and how many bytes were taken.
async fn flood(stream: &mut SendStream) -> (Option<VarInt>, usize) {
    let mut taken = 0;
    loop {
        match timeout(HANG_TIMEOUT, stream.write(&[0; 4096])).await.expect("it is not left to wait") {
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
        // Data on their way when it was stopped fit in the stream's window.
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
    let end = timeout(HANG_TIMEOUT, connection.closed()).await.unwrap();
    assert!(matches!(end, ConnectionError::ApplicationClosed(_)), "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_mean_nothing_are_not_kept() {
    let site = Site::start("cubic");
    site.write("file", b"file");
    let mut client = site.connect().await;
    for _ in 0..1000 {
        let mut stream = timeout(HANG_TIMEOUT, client.connection.open_uni()).await.unwrap().unwrap();
        let _ = stream.write(&[RESERVED; 100]).await;
        let _ = stream.finish();
    }
    assert_eq!(client.get("/file", &[]).await.1, b"file");
}

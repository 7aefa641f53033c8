//! HTTP/3 from a server, by h3's client.

mod client;
mod hostile;
mod open_files;

use bytes::Buf;
use cellcc_transfer::Limits;
use client::{Client, Site, content};
use http::{Method, StatusCode};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Ends a hang: longer than anything here takes on a slow machine.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn files_of_any_size_arrive_as_they_are_by_any_scheme_without_a_part_at_the_receiver() {
    for scheme in ["cubic", "bbr", "reminis"] {
        let site = Site::start(scheme);
        let mut client = site.connect().await;
        for bytes in [0, 1, 65_535, 65_536, 65_537, 20_000_000] {
            site.write("file.bin", &content(bytes));
            let (answer, body) = client.get("/file.bin", &[]).await;
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(answer.headers()["content-length"], bytes.to_string());
            assert!(body == content(bytes), "{bytes} bytes by {scheme}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_a_type_a_date_a_tag_and_the_servers_port_and_a_head_is_all_but_its_body() {
    let site = Site::start("cubic");
    site.write("page.html", b"<p>");
    let mut client = site.connect().await;
    let (answer, body) = client.get("/page.html", &[]).await;
    assert_eq!(body, b"<p>");
    let (head, nothing) = client.ask(Method::HEAD, "/page.html", &[]).await;
    assert!(nothing.is_empty());
    for answer in [answer, head] {
        let value = |name: &str| answer.headers()[name].to_str().unwrap();
        assert_eq!(value("content-type"), "text/html; charset=utf-8");
        assert_eq!((value("content-length"), value("accept-ranges")), ("3", "bytes"));
        assert_eq!(value("alt-svc"), format!("h3=\":{}\"; ma=3600", site.address.port()));
        assert!(value("date").ends_with("GMT") && value("last-modified").ends_with("GMT"));
        assert!(value("etag").starts_with('"'), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_are_those_that_were_asked_for_and_what_is_known_is_not_sent() {
    let site = Site::start("cubic");
    let all = content(1_000_000);
    site.write("film.mp4", &all);
    let mut client = site.connect().await;
    for (range, part) in [
        ("bytes=0-0", &all[..1]),
        ("bytes=65530-131080", &all[65530..=131080]),
        ("bytes=999999-", &all[999_999..]),
        ("bytes=-100000", &all[900_000..]),
    ] {
        let (answer, body) = client.get("/film.mp4", &[("range", range)]).await;
        assert_eq!(answer.status(), StatusCode::PARTIAL_CONTENT, "{range}");
        assert!(body == part, "{range}");
    }
    let (beyond, body) = client.get("/film.mp4", &[("range", "bytes=1000000-")]).await;
    assert_eq!((beyond.status(), body.len()), (StatusCode::RANGE_NOT_SATISFIABLE, 0));
    let tag = beyond.headers()["etag"].to_str().unwrap().to_owned();
    let (known, body) = client.get("/film.mp4", &[("if-none-match", &tag)]).await;
    assert_eq!((known.status(), body.len()), (StatusCode::NOT_MODIFIED, 0));
    site.write("film.mp4", &all[1..]);
    let (changed, body) = client.get("/film.mp4", &[("range", "bytes=0-9"), ("if-range", &tag)]).await;
    assert_eq!((changed.status(), body.len()), (StatusCode::OK, 999_999));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_requests_are_answered_at_once() {
    let site = Site::start("cubic");
    (0..100).for_each(|index| site.write(&format!("{index}"), &content(100_000 + index)));
    let client = site.connect().await;
    let mut tasks = JoinSet::new();
    for index in 0..100 {
        let mut client = client.again();
        tasks.spawn(async move {
            let (_, body) = client.get(&format!("/{index}"), &[]).await;
            assert!(body == content(100_000 + index), "{index}");
        });
    }
    while let Some(result) = tasks.join_next().await {
        result.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gives_up_a_file_in_the_middle_or_does_not_read_it_holds_up_no_other() {
    let site = Site::start("cubic");
    let all = content(20_000_000);
    site.write("large", &all);
    site.write("small", b"small");
    let mut client = site.connect().await;
    let mut given_up = client.begin(Method::GET, "/large", &[]).await;
    given_up.recv_response().await.unwrap();
    given_up.recv_data().await.unwrap().unwrap();
    given_up.stop_sending(h3::error::Code::H3_REQUEST_CANCELLED);
    given_up.stop_stream(h3::error::Code::H3_REQUEST_CANCELLED);
    drop(given_up);
    let mut slow = client.begin(Method::GET, "/large", &[]).await;
    slow.recv_response().await.unwrap();
    client.is_sent_no_more().await;
    assert_eq!(client.get("/small", &[]).await.1, b"small");
    let mut body = Vec::new();
    while let Some(mut data) = slow.recv_data().await.unwrap() {
        body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    assert!(body == all);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_answers_what_was_asked() {
    let site = Site::start("cubic");
    // Somewhat more than the client's window (1.25 MB): the answer is under way when the server ends, and has little left, since it
    // has five seconds for that.
    let all = content(2_000_000);
    site.write("file", &all);
    let mut client = site.connect().await;
    let mut answer = client.begin(Method::GET, "/file", &[]).await;
    answer.recv_response().await.unwrap();
    site.end();
    let mut body = Vec::new();
    while let Some(mut data) = answer.recv_data().await.unwrap() {
        body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    assert!(body == all);
    let end = timeout(HANG_TIMEOUT, client.connection.closed()).await.unwrap();
    assert!(end.to_string().contains("256"), "H3_NO_ERROR: {end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_gives_its_place_back() {
    let site = Site::with_connections("cubic", 1);
    site.write("large", &content(20_000_000));
    let mut first = site.connect().await;
    let mut unread = first.begin(Method::GET, "/large", &[]).await;
    unread.recv_response().await.unwrap();
    let refused = timeout(HANG_TIMEOUT, site.dial().await.closed()).await;
    assert!(refused.unwrap().to_string().contains("1 data connections at once are the limit"));
    first.connection.close(0u32.into(), b"");
    let kept = async {
        loop {
            let connection = site.dial().await;
            // The server opens a stream on a connection that it keeps.
            if connection.accept_uni().await.is_ok() {
                return connection;
            }
        }
    };
    let mut second = Client::over(timeout(HANG_TIMEOUT, kept).await.unwrap()).await;
    assert_eq!(second.get("/none", &[]).await.0.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_go_on_at_the_same_port() {
    let site = Site::start("cubic");
    crate::admission::download(site.address).await;
    let mut client: Client = site.connect().await;
    assert_eq!(client.get("/none", &[]).await.0.status(), StatusCode::NOT_FOUND);
}

#[test]
fn a_scheme_with_a_part_at_the_receiver_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    for scheme in ["rbbr", "natcp(fairness=report)"] {
        let error = client::start(scheme, folder.path(), Limits::default()).map(drop).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(&format!("scheme `{scheme}`")), "{error}");
    }
}

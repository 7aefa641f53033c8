//! Limits of the files that are served, and of their number at a time.

use super::client::{Site, content};
use cellcc_transfer::Limits;
use http::{Method, StatusCode};
use std::fs::{self, File};
use std::time::{Duration, UNIX_EPOCH};

/// One address could take all files that the process may have open, and others were told that existing files are missing.
#[tokio::test(flavor = "multi_thread")]
async fn who_has_as_many_files_open_as_an_address_may_hears_when_to_come_again_and_gets_them_once_some_are_read()
 {
    let site = Site::with_limits("cubic", Limits { files: 3, ..Limits::default() });
    let all = content(20_000_000);
    site.write("large", &all);
    site.write("small", b"small");
    let (mut first, mut second) = (site.connect().await, site.connect().await);
    let mut unread = Vec::new();
    for _ in 0..3 {
        let mut request = first.begin(Method::GET, "/large", &[]).await;
        assert_eq!(request.recv_response().await.unwrap().status(), StatusCode::OK);
        unread.push(request);
    }
    for client in [&mut first, &mut second] {
        let (answer, _) = client.get("/small", &[]).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers()["retry-after"], "10");
    }
    let mut read = unread.pop().unwrap();
    while read.recv_data().await.unwrap().is_some() {}
    assert_eq!(second.get("/small", &[]).await.1, b"small");
    // A request that needs no body gives its place back at once.
    for _ in 0..5 {
        assert_eq!(second.ask(Method::HEAD, "/large", &[]).await.0.status(), StatusCode::OK);
    }
}

/// Requests for such a file ended without an answer, and the log of the server had a panic for each.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_from_before_1970_is_sent_and_can_be_known() {
    let site = Site::start("cubic");
    site.write("old.txt", b"old");
    let of_1960 = UNIX_EPOCH - Duration::from_secs(3653 * 86_400);
    File::options().write(true).open(site.path().join("old.txt")).unwrap().set_modified(of_1960).unwrap();
    let mut client = site.connect().await;
    let (answer, body) = client.get("/old.txt", &[]).await;
    assert_eq!(body, b"old");
    let date = answer.headers()["last-modified"].to_str().unwrap();
    assert_eq!(date, "Thu, 01 Jan 1970 00:00:00 GMT");
    let (known, _) = client.get("/old.txt", &[("if-modified-since", date)]).await;
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_begins_with_a_dot_is_not_found_unless_it_is_well_known() {
    let site = Site::start("cubic");
    for (folder, file) in [(".git", "config"), (".well-known", "security.txt")] {
        fs::create_dir(site.path().join(folder)).unwrap();
        site.write(&format!("{folder}/{file}"), b"x");
    }
    site.write(".htpasswd", b"x");
    let mut client = site.connect().await;
    for (path, status) in [
        ("/.git/config", 404),
        ("/%2egit/config", 404),
        ("/.htpasswd", 404),
        ("/.well-known/security.txt", 200),
    ] {
        assert_eq!(client.get(path, &[]).await.0.status().as_u16(), status, "{path}");
    }
}

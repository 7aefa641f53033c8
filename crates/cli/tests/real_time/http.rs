//! `cellcc serve --http` and Chromium, as people use them.

use crate::browser::Browser;
use crate::transfer::Server;
use cellcc_test_support::skip;
use serde_json::json;
use std::fs;
use std::io::BufRead;

/// Fetches a file and a part of it, and says in its title over what all came.
const PAGE: &str = "<!doctype html><title>start</title><img src=\"picture.svg\"><script>
addEventListener('load', async () => {
  const whole = await (await fetch('film.bin')).arrayBuffer();
  const part = await fetch('film.bin', {headers: {range: 'bytes=1000-1099'}});
  const bytes = new Uint8Array(whole).slice(1000, 1100).toString();
  const same = new Uint8Array(await part.arrayBuffer()).toString() === bytes;
  const over = ['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind)).map((one) => one.nextHopProtocol);
  document.title = [over.every((protocol) => protocol === 'h3'), over.length > 3, part.status, same, whole.byteLength, document.images[0].naturalWidth].join(' ');
});
</script>";

#[test]
fn the_command_that_a_server_prints_opens_its_page_in_chromium_by_http_3() {
    let mut server = Server::start(&["--http", ".", "--scheme", "bbr"]);
    let content: Vec<u8> = (0..5_000_000_u64).map(|index| ((index * index) >> 7) as u8).collect();
    let write = |name: &str, content: &[u8]| fs::write(server.folder.path().join(name), content).unwrap();
    write("index.html", PAGE.as_bytes());
    write("picture.svg", b"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"50\" height=\"40\"/>");
    write("film.bin", &content);
    let mut lines = (&mut server.stdout).lines().map(Result::unwrap);
    let line = lines.find(|line| line.starts_with("try: chromium ")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let flags: Vec<&str> = words
        .iter()
        .filter(|word| word.starts_with("--") && !word.contains("user-data-dir"))
        .copied()
        .collect();
    let Some(mut browser) = Browser::with(&flags) else {
        return skip("chromium is not installed (apt-get install chromium)");
    };
    browser.open(words.last().unwrap(), 800);
    browser.until("document.title !== 'start' && document.title !== ''");
    assert_eq!(browser.value("document.title"), json!("true true 206 true 5000000 50"));
    drop(browser);
    let log = server.end();
    assert!(log.contains("HTTP/3 by bbr"), "{log}");
}

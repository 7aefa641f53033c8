//! `cellcc serve --http` and Chromium, as people use them.

use crate::browser::Browser;
use crate::transfer::Server;
use cellcc_test_support::{alone, skip};
use serde_json::json;
use std::fs;
use std::io::BufRead;

/// Fetches a file and a part of it, and puts the protocol of all into its title.
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

/// Takes sixty frames each way, and says in its title whether those of streams were whole and of the last ten seconds, and some of
/// those of datagrams whole.
const FRAMES: &str = "<!doctype html><title>start</title><script>
const late = (bytes) => performance.timeOrigin + performance.now() - Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0)) / 1000;
const session = async (query) => {
  const session = new WebTransport(`https://${location.host}/frames?bytes=5000&per_second=100${query}`);
  await session.ready;
  return session;
};
const byStreams = async () => {
  const one = await session('');
  const frames = [];
  for await (const stream of one.incomingUnidirectionalStreams) {
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    frames.push({late: late(bytes), bytes: bytes.length - 8});
    if (frames.length === 60) break;
  }
  one.close();
  return frames.every(({late, bytes}) => late > -5 && late < 10000 && bytes === 5000);
};
const byDatagrams = async () => {
  const one = await session('&by=datagrams');
  one.datagrams.incomingHighWaterMark = 1000;
  const frames = new Map();
  for await (const bytes of one.datagrams.readable) {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const made = view.getBigUint64(0);
    const frame = frames.get(made) ?? {pieces: 0, of: view.getUint16(10), bytes: 0};
    frame.pieces += 1;
    frame.bytes += bytes.length - 12;
    frames.set(made, frame);
    if (frames.size === 60) break;
  }
  one.close();
  const whole = [...frames.values()].filter(({pieces, of, bytes}) => pieces === of && bytes === 5000);
  return whole.length > 0;
};
const title = async () => `${await byStreams()} ${await byDatagrams()}`;
addEventListener('load', () => title().then((text) => document.title = text, (error) => document.title = error));
</script>";

/// Chromium with the page of a server, by the command that the server prints; None where it is not installed.
pub(crate) fn opened(server: &mut Server) -> Option<Browser> {
    let mut lines = (&mut server.stdout).lines().map(Result::unwrap);
    let line = lines.find(|line| line.starts_with("try: chromium ")).unwrap();
    let mut words = line.split_whitespace().map(str::to_owned);
    let flags = words.clone().filter(|word| word.starts_with("--") && !word.contains("user-data-dir"));
    let Some(mut browser) = Browser::with(&flags.collect::<Vec<_>>()) else {
        skip("chromium is not installed (apt-get install chromium)");
        return None;
    };
    browser.open(&words.next_back().unwrap(), 800);
    browser.until("document.title !== 'start' && document.title !== ''");
    Some(browser)
}

#[test]
fn a_page_in_chromium_receives_frames_by_webtransport_on_streams_and_in_datagrams() {
    let _alone = alone();
    let mut server = Server::start(&["--http", ".", "--scheme", "tide"]);
    fs::write(server.folder.path().join("index.html"), FRAMES).unwrap();
    let Some(mut browser) = opened(&mut server) else { return };
    assert_eq!(browser.value("document.title"), json!("true true"));
    drop(browser);
    server.end();
}

#[test]
fn the_command_that_a_server_prints_opens_its_page_in_chromium_by_http_3() {
    let _alone = alone();
    let mut server = Server::start(&["--http", ".", "--scheme", "bbr"]);
    let content: Vec<u8> = (0..5_000_000_u64).map(|index| ((index * index) >> 7) as u8).collect();
    let write = |name: &str, content: &[u8]| fs::write(server.folder.path().join(name), content).unwrap();
    write("index.html", PAGE.as_bytes());
    write("picture.svg", b"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"50\" height=\"40\"/>");
    write("film.bin", &content);
    let Some(mut browser) = opened(&mut server) else { return };
    assert_eq!(browser.value("document.title"), json!("true true 206 true 5000000 50"));
    drop(browser);
    let log = server.end();
    assert!(log.contains("HTTP/3 by bbr"), "{log}");
}

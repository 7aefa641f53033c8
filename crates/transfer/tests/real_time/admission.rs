//! Clients that begin connections and fall silent.

use crate::flood::Silent;
use cellcc_experiment::Source;
use cellcc_test_support::needs_punctuality;
use cellcc_transfer::{
    ClientSettings, Direction, Identity, Limits, Payload, Request, Server, ServerSettings, Trust, VERSION,
    transfer,
};
use cellcc_units::{Bytes, Span};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};

/// A server whose log can be read, until the sender is dropped.
fn serve() -> (SocketAddr, mpsc::Receiver<String>, oneshot::Sender<()>) {
    let (log, lines) = mpsc::channel();
    let settings = ServerSettings {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        scheme: cellcc_schemes::registry().parse("cubic").unwrap(),
        allowed: Vec::new(),
        root: None,
        takes_files: false,
        http: None,
        hidden: false,
        identity: Identity::made().unwrap(),
        client_authorities: None,
        limits: Limits::default(),
        qlog: None,
        advice: None,
        log: Box::new(move |line| drop(log.send(line.to_owned()))),
    };
    let server = Server::bind(settings).unwrap();
    let address = server.address().unwrap();
    let (end, ended) = oneshot::channel();
    tokio::spawn(server.run(async { drop(ended.await) }));
    (address, lines, end)
}

/// Downloads 10 kB, over two connections.
pub(crate) async fn download(server: SocketAddr) {
    let settings = ClientSettings {
        server,
        server_name: "localhost".into(),
        trust: Trust::Anyone,
        identity: None,
        request: Request {
            version: VERSION,
            direction: Direction::Get,
            payload: Payload::Made { source: Source::Sized(Bytes::new(10_000)), time: None },
            scheme: None,
            connections: 1,
            streams: 1,
            interval: Span::from_secs(1),
        },
        file: None,
        qlog: None,
        advice: None,
    };
    let (_stop, stopped) = watch::channel(false);
    transfer(&settings, stopped, &mut |_| {}).await.unwrap();
}

/// Runs a test of a server that has ten seconds for a handshake, which a slow machine exceeds.
#[track_caller]
fn in_time(test: impl AsyncFn()) {
    needs_punctuality(|| Runtime::new().unwrap().block_on(test()));
}

/// Each first packet began a handshake, which cost 85 kB for thirteen seconds.
async fn first_packets() {
    let (server, lines, _end) = serve();
    let is_retry =
        move |_| Silent::new(server, Ipv4Addr::LOCALHOST).unwrap().send_initial_and_answer_retry().unwrap();
    let answers = tokio::task::spawn_blocking(move || (0..80).map(is_retry).collect::<Vec<bool>>());
    let answers = answers.await.unwrap();
    assert_eq!(answers.iter().position(|is_retry| *is_retry), Some(64), "{answers:?}");
    assert!(answers[64..].iter().all(|is_retry| *is_retry), "{answers:?}");
    let line = lines.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(line.contains("1 had to prove their address"), "{line}");
}

async fn downloads_in_a_flood() {
    let (server, _lines, _end) = serve();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let flood = tokio::task::spawn_blocking(move || {
        let silent = Silent::new(server, Ipv4Addr::LOCALHOST).unwrap();
        (0..).find(|_| {
            silent.send_initial().unwrap();
            over.load(Ordering::Relaxed)
        })
    });
    for _ in 0..3 {
        download(server).await;
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(flood.await.unwrap() > Some(0));
}

mod punctual {
    use super::*;

    #[test]
    fn clients_must_prove_their_address_while_many_fall_silent() {
        in_time(first_packets);
    }

    #[test]
    fn clients_get_in_during_a_flood() {
        in_time(downloads_in_a_flood);
    }
}

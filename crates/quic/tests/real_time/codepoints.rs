//! Prague over sockets that map ECN codepoints, on paths that change codepoints as networks do.

use crate::support::{HANG_TIMEOUT, SERVER_NAME, configs};
use cellcc_quic::ecn::L4s;
use cellcc_quic::ecn_socket::Codepoints;
use cellcc_quic::{Congestion, attach_mapping_receiver, attach_receiver};
use cellcc_test_support::needs_punctuality;
use noq::udp::{EcnCodepoint, RecvMeta, Transmit};
use noq::{AsyncUdpSocket, Connection, Endpoint, EndpointConfig, Runtime, TokioRuntime, TransportConfig};
use std::future::poll_fn;
use std::io::IoSliceMut;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

type Path = fn(u64, Option<EcnCodepoint>) -> Option<EcnCodepoint>;

const ECT1: Option<EcnCodepoint> = Some(EcnCodepoint::Ect1);

/// Datagrams from the server by the codepoints in their IP headers when they leave it: Not-ECT, ECT(1), ECT(0), CE.
type OnTheWire = Arc<[AtomicU64; 4]>;

/// Passes datagrams on between client and server; `path` gives those to the client their codepoint, by number.
fn relay(server: SocketAddr, path: Path) -> (SocketAddr, OnTheWire) {
    let on_the_wire = OnTheWire::default();
    let client = Arc::new(OnceLock::new());
    let front = socket();
    let address = front.local_addr().unwrap();
    let wrap = |socket: UdpSocket| TokioRuntime.wrap_udp_socket(socket).unwrap();
    let (front, back) = (wrap(front), wrap(socket()));
    let (to_client, to_server) = (front.create_sender(), back.create_sender());
    let known = Arc::clone(&client);
    tokio::spawn(pass(front, to_server, move |_, from, ecn| {
        known.get_or_init(|| from);
        (server, ecn)
    }));
    let counts = Arc::clone(&on_the_wire);
    tokio::spawn(pass(back, to_client, move |number, _, ecn| {
        counts[ecn.map_or(0, |ecn| ecn as usize)].fetch_add(1, Ordering::Relaxed);
        (*client.get().expect("the client spoke first"), path(number, ecn))
    }));
    (address, on_the_wire)
}

async fn pass(
    mut from: Box<dyn AsyncUdpSocket>,
    mut to: std::pin::Pin<Box<dyn noq::UdpSender>>,
    act: impl Fn(u64, SocketAddr, Option<EcnCodepoint>) -> (SocketAddr, Option<EcnCodepoint>),
) {
    let mut buffer = vec![0; 1 << 16];
    let mut number = 0;
    loop {
        let mut meta = [RecvMeta::default()];
        let received =
            poll_fn(|context| from.poll_recv(context, &mut [IoSliceMut::new(&mut buffer)], &mut meta));
        if received.await.is_err() {
            return;
        }
        let [meta] = meta;
        for contents in buffer[..meta.len].chunks(meta.stride.max(1)) {
            number += 1;
            let (destination, ecn) = act(number, meta.addr, meta.ecn);
            let transmit = Transmit { destination, ecn, contents, segment_size: None, src_ip: None };
            let _ = poll_fn(|context| to.as_mut().poll_send(&transmit, context)).await;
        }
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

/// The state of Prague's sender.
#[derive(Debug)]
struct Seen {
    l4s: L4s,
    /// Packets by the codepoint that they carried.
    not_ect: u64,
    ect1: u64,
    ect0: u64,
    alpha: f64,
}

/// Sends with Prague until things stand so.
async fn prague_over(path: Path, client_maps: bool, is_so: impl Fn(&Seen) -> bool) -> Seen {
    let scheme = cellcc_schemes::registry().parse("prague").unwrap();
    let congestion = Congestion::over_mapping_sockets(scheme).unwrap();
    let mut transport = TransportConfig::default();
    congestion.install(&mut transport);
    let (server_config, client_config) = configs(transport, TransportConfig::default());
    let (servers, clients) = (Codepoints::default(), Codepoints::default());
    let endpoint = |codepoints: &Codepoints, config| {
        let runtime = codepoints.runtime(Arc::new(TokioRuntime));
        Endpoint::new(EndpointConfig::default(), config, socket(), runtime).unwrap()
    };
    let (server, client) = (endpoint(&servers, Some(server_config)), endpoint(&clients, None));
    let (address, on_the_wire) = relay(server.local_addr().unwrap(), path);
    let connecting = client.connect_with(client_config, address, SERVER_NAME).unwrap();
    let (accepted, connected) = tokio::join!(async { server.accept().await.unwrap().await }, connecting);
    let (accepted, connected) = (accepted.unwrap(), connected.unwrap());
    let attached = congestion.attach_mapping(&accepted, &servers).expect("installed");
    let registry = cellcc_schemes::registry();
    let _receiver = match client_maps {
        true => attach_mapping_receiver(&connected, registry, &clients),
        false => attach_receiver(&connected, registry),
    };
    let seen = || {
        let mut observed = cellcc_quic::Observed::default();
        attached.scheme().observe(&mut observed);
        let alpha = observed.values.iter().find(|(name, _)| name == "alpha").expect("alpha is shown").1;
        let [not_ect, ect1, ect0] = [0, 1, 2].map(|codepoint| on_the_wire[codepoint].load(Ordering::Relaxed));
        Seen { l4s: attached.l4s(), not_ect, ect1, ect0, alpha }
    };
    let waiting = async {
        while !is_so(&seen()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = transfer(&accepted, &connected) => panic!("the connection is lost: {:?}", accepted.close_reason()),
        waited = tokio::time::timeout(HANG_TIMEOUT, waiting) => assert!(waited.is_ok(), "{:?}", seen()),
    }
    seen()
}

/// At most a packet per millisecond, tokio's timer resolution, for longer than any test waits.
async fn transfer(from: &Connection, to: &Connection) {
    let mut out = from.open_uni().await.unwrap();
    let send = async {
        while out.write_all(&[7; 1000]).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let receive = async {
        let mut stream = to.accept_uni().await.unwrap();
        while let Ok(Some(_)) = stream.read_chunk(1 << 16).await {}
    };
    tokio::join!(send, receive);
}

/// The sender gives a peer or a path up after a second without an answer, which a machine that stalls also causes.
#[track_caller]
fn in_real_time(test: impl AsyncFn()) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    needs_punctuality(|| runtime.block_on(test()));
}

mod punctual {
    use super::*;

    #[test]
    fn packets_carry_ect1_on_the_wire_and_nothing_is_made_of_a_path_that_keeps_it() {
        in_real_time(async || {
            let is_shown = |seen: &Seen| seen.ect1 > 500 && seen.ect1 > 10 * (seen.ect0 + seen.not_ect);
            let seen = prague_over(|_, ecn| ecn, true, |seen| seen.l4s.is_missing() || is_shown(seen)).await;
            assert_eq!(seen.l4s, L4s::On);
            assert_eq!(seen.alpha, 1.0, "no mark, no move");
        });
    }

    #[test]
    fn the_scheme_hears_how_many_packets_are_marked() {
        let marks_a_tenth: Path =
            |number, ecn| if ecn == ECT1 && number % 10 == 0 { Some(EcnCodepoint::Ce) } else { ecn };
        in_real_time(async || {
            // From one alpha falls towards a tenth, by a sixteenth of the way in each 25 ms: in 1500 ms to 0.12.
            let is_shown = |seen: &Seen| seen.ect1 > 1500;
            let seen = prague_over(marks_a_tenth, true, |seen| seen.l4s.is_missing() || is_shown(seen)).await;
            assert_eq!(seen.l4s, L4s::On);
            assert!((0.07..0.2).contains(&seen.alpha), "{seen:?}");
        });
    }

    #[test]
    fn a_path_that_erases_or_rewrites_ect1_and_a_peer_that_maps_nothing_end_ecn() {
        // noq finds in the handshake that codepoints are erased.
        let erases: Path = |_, _| None;
        let rewrites: Path = |_, ecn| ecn.map(|_| EcnCodepoint::Ect0);
        let keeps: Path = |_, ecn| ecn;
        let cases =
            [(erases, true, L4s::Bleached), (rewrites, true, L4s::Remarked), (keeps, false, L4s::Unanswered)];
        for (path, client_maps, expected) in cases {
            in_real_time(async || {
                // Packets without ECT(1) outnumber those with it in the end, since nothing carries it any more.
                let is_shown =
                    |seen: &Seen| seen.l4s.is_missing() && seen.not_ect > 500 && seen.not_ect > 2 * seen.ect1;
                assert_eq!(prague_over(path, client_maps, is_shown).await.l4s, expected);
            });
        }
    }
}

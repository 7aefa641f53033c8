//! Echoes over real sockets on loopback.

use crate::sources::report;
use crate::support::{ALICE, HANG_TIMEOUT, ListenerEvent, Listening, in_an_hour, name};
use cellcc_assist::AdviceRecord;
use cellcc_netassist::daemon::{CellConfig, Config, Daemon, LiveFlowsFrom, Plmn};
use cellcc_netassist::probe::{EchoHost, Prober};
use cellcc_netassist::source::gnb::{GnbAddress, GnbUdp};
use cellcc_netassist::source::{FASTEST_CELL, SourceConfig};
use cellcc_netassist::{Authority, RadioName, ServiceClock, User};
use cellcc_netassist_client::{Role, ServiceAddress};
use cellcc_units::Span;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

const EVERY: Span = Span::from_millis(5);
const LOCAL: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(HANG_TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("{what}"));
}

async fn probe(host: SocketAddr) -> Prober {
    let prober = Prober::open(host, EVERY, ServiceClock::start()).await.unwrap();
    tokio::spawn(prober.clone().run());
    prober
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_answers_is_near_and_one_that_is_away_is_not_known() {
    let host = EchoHost::bind(LOCAL.into()).await.unwrap();
    let address = host.address().unwrap();
    let prober = probe(address).await;
    until("nothing left", || prober.counts().sent > 3).await;
    assert_eq!(prober.minimum(), None, "nobody answers yet");
    let answering = tokio::spawn(host.run());
    until("nothing came back", || prober.counts().answered > 3).await;
    assert!(prober.minimum().unwrap() < Span::from_secs(2), "{:?}", prober.minimum());
    answering.abort();
    assert_eq!(prober.counts().forged, 0);
}

/// The path passes echoes on, some only later, some never, each answer twice, with forged ones between them.
#[tokio::test(flavor = "multi_thread")]
async fn the_minimum_is_that_of_the_path_whatever_else_arrives() {
    const LEAST: Duration = Duration::from_millis(10);
    let host = EchoHost::bind(LOCAL.into()).await.unwrap();
    let host_address = host.address().unwrap();
    tokio::spawn(host.run());
    let path = UdpSocket::bind(LOCAL).await.unwrap();
    let prober = probe(path.local_addr().unwrap()).await;
    tokio::spawn(async move {
        let behind = UdpSocket::bind(LOCAL).await.unwrap();
        behind.connect(host_address).await.unwrap();
        let mut buffer = [0; 100];
        for number in 0_u32.. {
            let (length, from) = path.recv_from(&mut buffer).await.unwrap();
            if number % 4 == 1 {
                continue;
            }
            // Jitter, and the least of it now and then.
            sleep(LEAST + Duration::from_millis((number % 4 * 3).into())).await;
            behind.send(&buffer[..length]).await.unwrap();
            let length = behind.recv(&mut buffer).await.unwrap();
            path.send_to(&buffer[..length], from).await.unwrap();
            // A repeated answer; and one without a request, which would make the path too short.
            path.send_to(&buffer[..length], from).await.unwrap();
            path.send_to(b"cellcc!1 guessed nonce..", from).await.unwrap();
            // Datagrams of the meantime have waited in the socket, and not on the path.
            while path.try_recv_from(&mut buffer).is_ok() {}
        }
    });
    until("too few came back", || prober.counts().answered > 20).await;
    // On a busy machine the shortest path shows late: a timer of tokio is late by a millisecond, and each of four tasks wakes once.
    let minimum = || prober.minimum().unwrap().as_millis_f64();
    until("the shortest path does not show", || minimum() < 15.0).await;
    until("two a round are no answers", || prober.counts().forged >= 40).await;
    assert!(minimum() >= 10.0, "{} ms", minimum());
    until("what is lost is counted", || prober.counts().lost > 0).await;
}

/// A daemon on loopback with one cell, whose host may answer echoes or not.
#[tokio::test(flavor = "multi_thread")]
async fn users_of_a_cell_have_the_round_trip_to_its_host_and_none_while_it_is_away() {
    let free = || std::net::UdpSocket::bind(LOCAL).unwrap().local_addr().unwrap();
    let (gnb, echo) = (free(), free());
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::kept_in(folder.path()).unwrap();
    let radio = vec![RadioName { pci: 1, rnti: 17921 }];
    let user = User { name: "alice".into(), addresses: vec![ALICE], radio, supi: None };
    let config = Config {
        listen: LOCAL.into(),
        credentials: authority.issue(&name(Role::Service, "edge"), folder.path()).unwrap(),
        http: None,
        https: None,
        core: None,
        plmn: Plmn { mcc: "001".into(), mnc: "01".into() },
        audit_log: folder.path().join("audit.jsonl"),
        live_flows: LiveFlowsFrom::None,
        users: vec![user],
        sources: vec![SourceConfig::GnbUdp(GnbUdp(GnbAddress {
            cell_rate: FASTEST_CELL,
            address: gnb,
            network_rtt: Some(Span::from_secs(1)),
            downlink_slots_per_second: 1400,
            record: None,
        }))],
        cells: vec![CellConfig { pci: 1, echo, interval: EVERY }],
        nats: None,
    };
    let daemon = Daemon::open(&config, None, |_| {}).await.unwrap();
    let service = daemon.server().address().unwrap();
    tokio::spawn(daemon.run(std::future::pending()));
    let operator = authority.sign(&name(Role::Operator, "desk"), in_an_hour()).unwrap();
    let mut desk = Listening::start(ServiceAddress::Quic(service), operator);
    desk.client.want_all();
    let station = UdpSocket::bind(LOCAL).await.unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            station.send_to(report(50 * number).as_bytes(), gnb).await.unwrap();
            sleep(Duration::from_millis(10)).await;
        }
    });
    let mut reported = async |is_so: fn(&AdviceRecord) -> bool| {
        let record = |heard| match heard {
            ListenerEvent::Record(ALICE, record) if is_so(&record) => Some(record),
            _ => None,
        };
        desk.hears_that(record).await
    };
    let unknown = reported(|_| true).await;
    assert_eq!(unknown.min_rtt, None);
    let host = EchoHost::bind(echo).await.unwrap();
    tokio::spawn(host.run());
    // Measured, and not as configured.
    let is_measured = |record: &AdviceRecord| {
        record.min_rtt.is_some_and(|parts| !parts.network.is_zero() && parts.network < Span::from_secs(1))
    };
    let known = reported(is_measured).await.min_rtt.expect("known");
    assert_eq!(known.downlink, Span::from_millis(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_are_marked_for_expedited_forwarding_both_ways() {
    let raw = match Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)) {
        Ok(raw) => raw,
        Err(error) => return cellcc_test_support::skip(format!("no raw socket: {error}; run it as root")),
    };
    raw.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
    let host = EchoHost::bind(LOCAL.into()).await.unwrap();
    let port = host.address().unwrap().port();
    tokio::spawn(host.run());
    let prober = probe(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await;
    // The fields of RFC 791 and RFC 768.
    let seen = tokio::task::spawn_blocking(move || {
        let (mut seen, mut buffer) = ([None; 2], [0; 2048]);
        while seen.contains(&None) {
            let length = (&raw).read(&mut buffer).unwrap();
            let (ip, udp) = buffer[..length].split_at(20);
            let ports = [0, 2].map(|at| u16::from_be_bytes([udp[at], udp[at + 1]]));
            if let Some(way) = ports.iter().position(|one| *one == port) {
                seen[way] = Some(ip[1] >> 2);
            }
        }
        seen
    });
    assert_eq!(seen.await.unwrap(), [Some(46), Some(46)], "DSCP EF");
    assert!(prober.counts().sent > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_echo_host_answers_no_answers_and_nothing_else() {
    let host = EchoHost::bind(LOCAL.into()).await.unwrap();
    let address = host.address().unwrap();
    tokio::spawn(host.run());
    let socket = UdpSocket::bind(LOCAL).await.unwrap();
    let mut buffer = [0; 100];
    for text in
        [&b"cellcc!1 sixteen bytes.."[..], b"cellcc?1 too short", b"cellcc?1 far too long for an echo", b""]
    {
        socket.send_to(text, address).await.unwrap();
    }
    socket.send_to(b"cellcc?1 sixteen bytes..", address).await.unwrap();
    let (length, _) = timeout(HANG_TIMEOUT, socket.recv_from(&mut buffer)).await.unwrap().unwrap();
    assert_eq!(&buffer[..length], b"cellcc!1 sixteen bytes..", "the first answer is to the one request");
}

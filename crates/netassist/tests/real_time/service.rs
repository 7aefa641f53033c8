//! The service for clients with rights.

use crate::support::{ALICE, BOB, Edge, ListenerEvent, Listening, name};
use cellcc_netassist::{Event, Ground};
use cellcc_netassist_client::statement::CONSENT;
use cellcc_netassist_client::{Role, ServiceAddress};
use cellcc_units::Span;
use noq::ConnectionError;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::net::UdpSocket;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_hears_of_the_user_that_it_has_a_flow_with() {
    let edge = Edge::start();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    server.is_connected().await;
    assert_eq!(server.hears().await, ListenerEvent::Granted(ALICE));
    edge.measure("alice", 12.0);
    let ListenerEvent::Record(user, first) = server.hears().await else { panic!("no record") };
    assert_eq!((user, first.downlink.as_mbit_per_sec(), first.sequence), (ALICE, 12.0, 1));
    edge.measure("bob", 9.0);
    edge.measure("alice", 24.0);
    assert_eq!(
        server.hears_that(ListenerEvent::record).await.downlink.as_mbit_per_sec(),
        24.0,
        "nothing of Bob"
    );
}

/// Claims NAT-21 and NAT-52 are judged by these sizes, to which UDP and IPv4 add 28 bytes a datagram.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_costs_its_64_bytes_and_what_its_datagram_of_quic_adds() {
    const PERIOD: Span = Span::from_millis(50);
    let edge = Edge::start();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    server.is_granted(ALICE).await;
    for (records, wire) in [(1, 93), (17, 1117)] {
        let mut costs = Vec::new();
        for _ in 0..41 {
            let before = edge.server.sent_bytes();
            let samples: Vec<_> = (0..records).map(|_| edge.sample(PERIOD, "alice", 12.0)).collect();
            edge.server.samples(&samples);
            for _ in 0..records {
                server.hears_that(ListenerEvent::record).await;
            }
            costs.push((edge.server.sent_bytes() - before).get());
        }
        // The median: some datagrams also carry an acknowledgement or a probe of the path's MTU.
        costs.sort_unstable();
        assert_eq!(costs[costs.len() / 2], wire, "{records} records: {costs:?}");
    }
}

// It used to write all its requests before it read an answer: neither side went on once both windows were full.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_more_users_than_fit_a_window_gets_all_its_answers() {
    const COUNT: u32 = 4000;
    let edge = Edge::start();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    for index in 0..COUNT {
        server.client.want(Ipv4Addr::from_bits(0x0a2e_0000 + index).into(), 1, None);
    }
    for _ in 0..COUNT {
        server.hears_that(|heard| matches!(heard, ListenerEvent::Denied(..)).then_some(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_wanted_no_more_is_given_up_without_a_word() {
    let edge = Edge::start();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    server.is_granted(ALICE).await;
    server.client.want(ALICE, 0, None);
    edge.until("it has ended", |server| server.sizes().1 == 0).await;
    server.client.want(ALICE, 1, None);
    assert_eq!(server.hears().await, ListenerEvent::Granted(ALICE), "nothing in between");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_consent_opens_what_no_flow_does() {
    let edge = Edge::start();
    let bob = edge.credentials(Role::User, "bob");
    let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 3600;
    let consent = CONSENT.sign(&bob, &name(Role::Server, "video-1"), until).unwrap();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(BOB, 1, Some(consent));
    server.is_granted(BOB).await;
    edge.measure("bob", 9.0);
    assert_eq!(server.hears_that(ListenerEvent::record).await.downlink.as_mbit_per_sec(), 9.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_tells_how_many_flows_it_has() {
    let edge = Edge::start();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    server.is_granted(ALICE).await;
    let mut device = edge.client(edge.credentials(Role::User, "alice"));
    device.client.tell_flows(4);
    device.is_connected().await;
    // It is reported over another connection: measure until it has arrived.
    loop {
        edge.measure("alice", 12.0);
        if server.hears_that(ListenerEvent::record).await.flows == 4 {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_hears_of_all_users() {
    let edge = Edge::start();
    let mut operator = edge.client(edge.credentials(Role::Operator, "desk"));
    operator.client.want_all();
    operator.is_connected().await;
    let granted = [operator.hears().await, operator.hears().await];
    assert_eq!(granted, [ListenerEvent::Granted(ALICE), ListenerEvent::Granted(BOB)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_is_in_the_audit_log() {
    let mut edge = Edge::start();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    server.is_granted(ALICE).await;
    drop(server);
    let mut events = Vec::new();
    while !matches!(events.last(), Some(Event::Disconnected { .. })) {
        let entry = edge.audit.recv().await.unwrap();
        assert_eq!(entry.client, name(Role::Server, "video-1"));
        events.push(entry.event);
    }
    let subscribed = Event::Subscribed { user: "alice".into(), because: Ground::LiveFlow };
    assert_eq!(events, [Event::Connected, subscribed, Event::Disconnected { refused: 0 }]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_why_the_service_is_gone_and_goes_on_trying() {
    let edge = Edge::start();
    let mut server = edge.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    server.is_granted(ALICE).await;
    // Closing the endpoint ends all connections, as a service that dies does sooner or later.
    edge.server.shut_down().await;
    let reason = server.hears_that(ListenerEvent::lost).await;
    assert!(reason.contains("the service has shut down"), "{reason}");
    // It goes on trying.
    server.hears_that(ListenerEvent::lost).await;
}

/// A way to a service that can lead to another one, as the address of a service that was killed and started again does.
struct Way {
    address: SocketAddr,
    service: Arc<Mutex<SocketAddr>>,
}

impl Way {
    async fn to(service: SocketAddr) -> Self {
        let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (address, service) = (front.local_addr().unwrap(), Arc::new(Mutex::new(service)));
        let leads_to = Arc::clone(&service);
        // Ends with the runtime.
        tokio::spawn(async move {
            let (mut from_client, mut from_service) = (vec![0; 65_536], vec![0; 65_536]);
            let mut client = None;
            loop {
                let to = *leads_to.lock().unwrap();
                tokio::select! {
                    Ok((length, from)) = front.recv_from(&mut from_client) => {
                        client = Some(from);
                        let _ = back.send_to(&from_client[..length], to).await;
                    }
                    Ok((length, from)) = back.recv_from(&mut from_service) => {
                        // Nothing comes from a service that was killed.
                        if let Some(client) = client.filter(|_| from == to) {
                            let _ = front.send_to(&from_service[..length], client).await;
                        }
                    }
                }
            }
        });
        Self { address, service }
    }
}

/// Clients used to wait for the idle time-out, ten seconds, because their connection was unknown.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_back_soon_after_the_service_was_killed_and_started_again() {
    let first = Edge::start();
    let credentials = first.credentials(Role::Service, "edge");
    let (authority, killed) =
        (Arc::clone(&first.authority), Edge::with(Arc::clone(&first.authority), &credentials));
    let way = Way::to(killed.address).await;
    let server = killed.credentials(Role::Server, "video-1");
    let mut client = Listening::start(ServiceAddress::Quic(way.address), server);
    client.is_connected().await;
    let again = Edge::with(authority, &credentials);
    *way.service.lock().unwrap() = again.address;
    let reason = client.hears_that(ListenerEvent::lost).await;
    assert_eq!(reason, ConnectionError::Reset.to_string(), "and not a time-out");
    client.hears_that(|heard| (heard == ListenerEvent::Connected).then_some(())).await;
}

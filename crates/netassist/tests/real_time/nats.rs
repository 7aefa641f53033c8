//! A service through a broker for clients with rights.

use crate::broker::{Broker, is_there};
use crate::support::{ALICE, BOB, Edge, HANG_TIMEOUT, ListenerEvent, Listening};
use cellcc_assist::{AdviceRecord, Arrivals};
use cellcc_netassist::{Authority, Server};
use cellcc_netassist_client::Role;
use cellcc_test_support::nats_server::{example, free_port};
use cellcc_test_support::needs_punctuality;
use cellcc_units::Span;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, Runtime};

/// A service whose broker lets `video-1` receive reports on Alice, and a client of this name that does; `None` where no
/// nats-server is installed.
async fn edge_and_server() -> Option<(Edge, Broker, Listening)> {
    if !is_there() {
        return None;
    }
    let edge = Edge::start();
    let broker = Broker::start(&edge.authority, &edge.permissions(&[("video-1", &["alice"])]));
    edge.publish_through(&broker.url(), &["video-1"]);
    let mut server = broker.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    server.is_connected().await;
    edge.until("connected", Server::has_broker).await;
    Some((edge, broker, server))
}

/// Measures until the broker, which takes subscriptions in its own time, passes a record on.
async fn hears_of(edge: &Edge, user: &str, server: &mut Listening) -> AdviceRecord {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < HANG_TIMEOUT, "nothing of {user} was heard");
        edge.measure(user, 12.0);
        tokio::time::sleep(Duration::from_millis(5)).await;
        if let Some(record) = server.so_far().into_iter().find_map(ListenerEvent::record) {
            return record;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_hears_of_its_user_through_a_broker() {
    let Some((edge, _broker, mut server)) = edge_and_server().await else { return };
    server.is_granted(ALICE).await;
    let heard = hears_of(&edge, "alice", &mut server).await;
    assert_eq!((heard.downlink.as_mbit_per_sec(), heard.flows), (12.0, 1));
    edge.measure("bob", 9.0);
    edge.measure("alice", 24.0);
    let next = server.hears_that(|heard| heard.record().filter(|record| record.sequence > 1)).await;
    assert_ne!(next.downlink.as_mbit_per_sec(), 9.0, "nothing of Bob");
    assert_eq!(edge.server.sizes(), (1, 1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_wanted_no_more_is_given_up() {
    let Some((edge, _broker, mut server)) = edge_and_server().await else { return };
    hears_of(&edge, "alice", &mut server).await;
    server.client.want(ALICE, 0, None);
    edge.until("given up", |server| server.sizes().1 == 0).await;
    server.client.want(ALICE, 2, None);
    server.is_granted(ALICE).await;
    assert_eq!(hears_of(&edge, "alice", &mut server).await.flows, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_hears_of_all_users_and_a_device_tells_its_flows() {
    let Some((edge, broker, mut server)) = edge_and_server().await else { return };
    let mut operator = broker.client(edge.credentials(Role::Operator, "desk"));
    operator.client.want_all();
    operator.is_connected().await;
    let granted = [operator.hears().await, operator.hears().await];
    assert_eq!(granted, [ListenerEvent::Granted(ALICE), ListenerEvent::Granted(BOB)]);
    let device = broker.client(edge.credentials(Role::User, "alice"));
    device.client.tell_flows(4);
    while hears_of(&edge, "alice", &mut server).await.flows != 4 {}
    hears_of(&edge, "bob", &mut operator).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_was_killed_and_is_back_is_found_again_by_both_sides() {
    let Some((edge, mut broker, mut server)) = edge_and_server().await else { return };
    hears_of(&edge, "alice", &mut server).await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let mut tasks_at_first = 0;
    for times in 1..=3 {
        broker.kill();
        server.hears_that(ListenerEvent::lost).await;
        edge.until("lost", |server| !server.has_broker()).await;
        let dropped = edge.server.counts().1.broker_records_dropped;
        edge.measure("alice", 12.0);
        assert_eq!(
            edge.server.counts().1.broker_records_dropped,
            dropped + 1,
            "nothing waits for the broker"
        );
        broker.start_again();
        server.is_granted(ALICE).await;
        edge.until("connected again", Server::has_broker).await;
        let first = hears_of(&edge, "alice", &mut server).await;
        assert!(!first.handover, "the same site");
        let counts = edge.server.counts().1;
        assert_eq!(counts.broker_connections, times + 1);
        assert!(counts.broker_losses >= times, "{counts:?}");
        if times == 1 {
            tasks_at_first = tasks();
        }
    }
    edge.until("no task outlives its connection", |_| tasks() <= tasks_at_first + 2).await;
    // The sessions of lost connections count until they are forgotten; each has its one user.
    assert!(edge.server.sizes().0 <= 4, "{:?}", edge.server.sizes());
}

/// Measures Alice each 50 ms, so often.
async fn measures(edge: &Edge, times: usize) {
    for _ in 0..times {
        edge.measure("alice", 12.0);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Kills the broker for two seconds: the time from its next start to the first report over it. Another server, over QUIC,
/// receives a report on each measurement meanwhile.
async fn heard_again_after() -> Option<Duration> {
    let (edge, mut broker, mut over_nats) = edge_and_server().await?;
    let mut over_quic = edge.client(edge.credentials(Role::Server, "video-2"));
    over_quic.client.want(ALICE, 1, None);
    over_quic.is_granted(ALICE).await;
    hears_of(&edge, "alice", &mut over_nats).await;
    broker.kill();
    measures(&edge, 40).await;
    over_nats.so_far();
    broker.start_again();
    let began = Instant::now();
    while !over_nats.so_far().into_iter().any(|heard| heard.record().is_some()) {
        assert!(began.elapsed() < HANG_TIMEOUT, "nothing was heard");
        measures(&edge, 1).await;
    }
    let time = began.elapsed();
    let mut sequence = 0;
    while u64::from(sequence) < edge.server.counts().0.samples {
        let heard = over_quic.hears().await;
        let ListenerEvent::Record(ALICE, record) = heard else { panic!("{heard:?}") };
        assert!(sequence == 0 || record.sequence == sequence + 1, "{sequence}, {record:?}");
        sequence = record.sequence;
    }
    Some(time)
}

mod punctual {
    use super::*;

    /// It took up to fifteen seconds: each end waits for up to five before an attempt, and the client's next request could be ten
    /// seconds away.
    #[test]
    fn a_broker_that_was_killed_and_is_back_is_heard_within_five_seconds_and_nobody_over_quic_notices() {
        needs_punctuality(|| {
            for _ in 0..3 {
                let Some(time) = Runtime::new().unwrap().block_on(heard_again_after()) else { return };
                assert!(time < Duration::from_secs(5), "{time:?}");
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_moves_to_another_site_is_followed_without_a_word_of_the_server() {
    const PERIOD: Span = Span::from_millis(400);
    if !is_there() {
        return;
    }
    let authority = Arc::new(Authority::new().unwrap());
    let (one, other) = (Edge::of(Arc::clone(&authority), "one"), Edge::of(Arc::clone(&authority), "other"));
    let servers: &[(&str, &[&str])] = &[("video-1", &["alice"])];
    // The table of servers and users is the same at both.
    let permissions = one.permissions(servers);
    let services = other.permissions(servers);
    let service = services.lines().find(|line| line.contains("service/other")).unwrap();
    let permissions = permissions.replacen("users = [", &format!("users = [\n{service}"), 1);
    let broker = Broker::start(&authority, &permissions);
    for edge in [&one, &other] {
        edge.publish_through(&broker.url(), &["video-1"]);
        edge.until("connected", Server::has_broker).await;
    }
    let mut server = broker.client(one.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    let mut arrivals = Arrivals::default();
    let mut last = hears_of(&one, "alice", &mut server).await;
    for _ in 0..20 {
        last = hears_of(&one, "alice", &mut server).await;
        arrivals.accept(last.measured_until, &last).unwrap();
    }
    // This site's source will be late in 1.2 s, when the user has moved. Nothing of it is under way any more.
    one.measure_over(PERIOD, "alice", 12.0);
    server.hears_that(|heard| heard.record().filter(|record| record.period == PERIOD)).await;
    // The other site counts from one, and the next record comes from it.
    other.measure("alice", 24.0);
    let moved = server
        .hears_that(|heard| heard.record().filter(|record| record.downlink.as_mbit_per_sec() == 24.0))
        .await;
    assert!(moved.handover && moved.first && moved.sequence < last.sequence, "{moved:?}");
    arrivals.accept(moved.measured_until, &moved).expect("the first record of the other site is followed");
    // The old site's own records (its source is late) do not end that.
    while one.server.counts().0.stale == 0 {
        other.measure("alice", 25.0);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    other.measure("alice", 26.0);
    let mut mbit = 0.0;
    while mbit != 26.0 {
        let next = server.hears_that(ListenerEvent::record).await;
        mbit = next.downlink.as_mbit_per_sec();
        assert!(mbit > 24.0 && !next.stale && !next.handover, "{next:?}");
        arrivals.accept(next.measured_until, &next).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_at_the_guides_hub_hears_of_users_at_its_leaf() {
    if !is_there() {
        return;
    }
    let edge = Edge::start();
    let permissions = edge.permissions_with(&[("video-1", &["alice"])], &["localhost".to_owned()]);
    let (port, leaf_port, hub_for_leaves) =
        (free_port().unwrap(), free_port().unwrap(), free_port().unwrap());
    let hub = example("# nats.conf")
        .replace("4222", &port.to_string())
        .replace("7422", &hub_for_leaves.to_string());
    let hub = hub.replace("nats.example", "localhost");
    let hub = Broker::of_configuration(&edge.authority, "localhost", &hub, port, &permissions);
    let leaf = example("# leaf.conf").replace("4222", &leaf_port.to_string());
    let leaf = leaf.replace("7422", &hub_for_leaves.to_string());
    let leaf = leaf.replace("nats.example", "localhost").replace("leaf.example", "localhost");
    let leaf = Broker::of_configuration(&edge.authority, "localhost", &leaf, leaf_port, &permissions);
    edge.publish_through(&leaf.url(), &["video-1"]);
    let mut server = hub.client(edge.credentials(Role::Server, "video-1"));
    server.client.want(ALICE, 1, None);
    let heard = hears_of(&edge, "alice", &mut server).await;
    assert_eq!(heard.downlink.as_mbit_per_sec(), 12.0);
    edge.measure("bob", 9.0);
    edge.measure("alice", 24.0);
    let next = server
        .hears_that(|heard| heard.record().filter(|record| record.downlink.as_mbit_per_sec() != 12.0))
        .await;
    assert_eq!(next.downlink.as_mbit_per_sec(), 24.0, "nothing of Bob");
}

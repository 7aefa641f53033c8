//! Refusals of a broker, configured as the guide says, and of a service behind it.

use crate::broker::{Broker, Raw, folder_of, is_there, tls};
use crate::support::{ALICE, BOB, Edge, HANG_TIMEOUT, ListenerEvent, Listening, name};
use cellcc_netassist::{Authority, Server};
use cellcc_netassist_client::Role;
use cellcc_netassist_client::statement::CONSENT;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

/// A service whose broker lets `video-1` and `video-2` receive reports on Alice; `None` where no nats-server is installed.
async fn edge_and_broker() -> Option<(Edge, Broker)> {
    if !is_there() {
        return None;
    }
    let edge = Edge::start();
    let servers: &[(&str, &[&str])] = &[("video-1", &["alice"]), ("video-2", &["alice"])];
    let broker = Broker::start(&edge.authority, &edge.permissions(servers));
    edge.publish_through(&broker.url(), &["video-1", "video-2"]);
    edge.until("connected", Server::has_broker).await;
    Some((edge, broker))
}

async fn is_lost(client: &mut Listening) -> String {
    client
        .hears_that(|heard| match heard {
            ListenerEvent::Lost(reason) => Some(reason),
            ListenerEvent::Granted(_) | ListenerEvent::Record(..) | ListenerEvent::Connected => {
                panic!("{heard:?}")
            }
            _ => None,
        })
        .await
}

/// A request for Alice.
const WISH: &str = r#"{"subscribe":{"user":"10.45.0.2","flows":1}}"#;

/// The client requests Alice, and receives its reports.
async fn is_granted(client: &mut Listening) {
    client.client.want(ALICE, 1, None);
    client.is_granted(ALICE).await;
}

/// A foreign program with the certificate of `video-1`.
async fn raw_server(edge: &Edge, broker: &Broker) -> Raw {
    let folder = folder_of(&edge.authority, &name(Role::Server, "video-1"));
    Raw::connect(&broker.url(), folder.path(), Some(folder.path())).await.expect("it may connect")
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_certificate_there_is_no_connection() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let folder = folder_of(&edge.authority, &name(Role::Server, "video-1"));
    assert!(Raw::connect(&broker.url(), folder.path(), None).await.is_err());
    assert!(
        Raw::connect(&broker.url(), folder.path(), Some(folder.path())).await.is_ok(),
        "with one there is"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_certificate_is_refused_with_a_message() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let expired = SystemTime::now() - Duration::from_secs(60);
    let server = edge.authority.sign(&name(Role::Server, "video-1"), expired).unwrap();
    let mut client = broker.client(server);
    client.client.want(ALICE, 1, None);
    let reason = is_lost(&mut client).await;
    assert!(reason.contains(&broker.url().to_string()) && reason.contains("certificate expired"), "{reason}");
    // The service's own certificate, likewise.
    let other = Edge::of(Arc::clone(&edge.authority), "edge");
    let service = edge.authority.sign(&name(Role::Service, "edge"), expired).unwrap();
    let lines = other.publish_as(&broker.url(), &[], service);
    other.until("counted", |server| server.counts().1.broker_losses >= 1).await;
    let said = lines.lock().unwrap().join("\n");
    assert!(said.contains("certificate expired") && !other.server.has_broker(), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_authoritys_certificate_is_refused() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let ours = folder_of(&edge.authority, &name(Role::Server, "video-1"));
    let stranger = folder_of(&Authority::new().unwrap(), &name(Role::Server, "video-1"));
    assert!(Raw::connect(&broker.url(), ours.path(), Some(stranger.path())).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_the_broker_does_not_know_is_refused_with_what_to_do() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let mut client = broker.client(edge.credentials(Role::Server, "video-9"));
    let reason = is_lost(&mut client).await;
    assert!(
        reason.contains("Authorization Violation") && reason.contains("cellcc assist permissions"),
        "{reason}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_under_another_name_is_not_believed() {
    if !is_there() {
        return;
    }
    let edge = Edge::start();
    let broker = Broker::with_certificate(&edge.authority, "elsewhere.example", &edge.permissions(&[]));
    let mut client = broker.client(edge.credentials(Role::Server, "video-1"));
    let reason = is_lost(&mut client).await;
    assert!(reason.contains("not valid for name"), "{reason}");
    let lines = edge.publish_through(&broker.url(), &[]);
    edge.until("counted", |server| server.counts().1.broker_losses >= 1).await;
    let said = lines.lock().unwrap().join("\n");
    assert!(said.contains("not valid for name"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_to_somebody_elses_user_is_refused_by_the_permissions() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let mut raw = raw_server(&edge, &broker).await;
    let others = [
        edge.records_about("bob"),
        "na.v1.*.*.*".into(),
        "na.v1.>".into(),
        ">".into(),
        "na.answer.v1.>".into(),
    ];
    let mut subscriptions = Vec::new();
    for subject in others {
        subscriptions.push(raw.client.subscribe(subject.clone()).await.unwrap());
        raw.is_reported(&format!("Permissions Violation for Subscription to \"{subject}\"")).await;
    }
    let mut own = raw.client.subscribe(edge.records_about("alice")).await.unwrap();
    raw.client.flush().await.unwrap();
    edge.measure("bob", 9.0);
    edge.measure("alice", 12.0);
    futures_util::StreamExt::next(&mut own).await.expect("its own user's record");
    for mut subscription in subscriptions {
        let nothing = futures_util::FutureExt::now_or_never(futures_util::StreamExt::next(&mut subscription));
        assert!(nothing.flatten().is_none());
    }
}

// The service grants the user's signed consent; the broker's operator has not agreed.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_that_the_broker_refuses_what_the_service_grants() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 3600;
    let consent =
        CONSENT.sign(&edge.credentials(Role::User, "bob"), &name(Role::Server, "video-1"), until).unwrap();
    let mut client = broker.client(edge.credentials(Role::Server, "video-1"));
    client.client.want(BOB, 1, Some(consent));
    let (user, reason) = client
        .hears_that(|heard| match heard {
            ListenerEvent::Denied(user, reason) => Some((user, reason)),
            ListenerEvent::Record(..) => panic!("{heard:?}"),
            _ => None,
        })
        .await;
    assert_eq!(user, Some(BOB));
    assert!(reason.contains("Permissions Violation"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_flow_the_service_does_not_tell_a_users_key() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let mut client = broker.client(edge.credentials(Role::Server, "video-1"));
    client.client.want(BOB, 1, None);
    let reason = client
        .hears_that(|heard| match heard {
            ListenerEvent::Denied(Some(BOB), reason) => Some(reason),
            ListenerEvent::Granted(_) => panic!("{heard:?}"),
            _ => None,
        })
        .await;
    assert!(reason.contains("no live flow"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_service_publishes_records_and_only_under_its_own_name_does_a_client_ask() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let mut server = broker.client(edge.credentials(Role::Server, "video-2"));
    is_granted(&mut server).await;
    let mut raw = raw_server(&edge, &broker).await;
    let forged = edge.records_about("alice").replace('*', "edge-site");
    for subject in [
        forged.as_str(),
        "na.ask.v1.server.video-2",
        "na.ask.v1.operator.desk",
        "na.answer.v1.server.video-2.0",
    ] {
        raw.client.publish(subject.to_owned(), vec![1; 64].into()).await.unwrap();
        raw.is_reported(&format!("Permissions Violation for Publish to \"{subject}\"")).await;
    }
    let reported = server.so_far();
    assert!(
        !reported.iter().any(|heard| matches!(heard, ListenerEvent::Record(..) | ListenerEvent::Unusable)),
        "{reported:?}"
    );
    assert_eq!(edge.server.counts().1.malformed, 0, "nothing of it has reached the service");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_is_counted_and_makes_the_service_publish_nothing() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let raw = raw_server(&edge, &broker).await;
    let ask = "na.ask.v1.server.video-1";
    // No text of ours; and answers that would go where others listen.
    for (answer_to, text) in [
        ("na.answer.v1.server.video-1.7", "{}"),
        ("na.answer.v1.server.video-1.7", "\u{0}"),
        ("na.answer.v1.server.video-2.7", WISH),
        ("na.v1.edge-site.1.00000000000000000000000000000000", WISH),
    ] {
        raw.client.publish_with_reply(ask, answer_to, text.to_owned().into()).await.unwrap();
    }
    edge.until("counted", |server| server.counts().1.malformed == 4).await;
    assert_eq!(edge.server.sizes().0, 0);
    // A gigabyte, less a byte since the broker reads nine digits, never leaves: the broker has said how much it takes, and
    // disconnects those who do not listen.
    let mut stream = connected(&edge, &broker);
    stream.write_all(b"PUB na.ask.v1.server.video-1 999999999\r\n").unwrap();
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    assert!(said.contains("Maximum Payload Violation"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_registrations_are_cut_off_and_another_client_is_served() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let raw = raw_server(&edge, &broker).await;
    let began = Instant::now();
    // Messages without room in the service are dropped unread; of the rest, a client has its share. A broker for which a
    // service is too slow lets it go with all that waits.
    let is_cut_off = || {
        let (core, counts) = edge.server.counts();
        core.refused >= 1000 || counts.broker_requests_dropped > 0 || counts.broker_losses > 0
    };
    let flood = async {
        let mut sent = 0;
        while sent < 100_000 || !is_cut_off() {
            let answer_to = "na.answer.v1.server.video-1.7";
            raw.client.publish_with_reply("na.ask.v1.server.video-1", answer_to, WISH.into()).await.unwrap();
            sent += 1;
        }
        raw.client.flush().await.unwrap();
    };
    timeout(HANG_TIMEOUT, flood).await.expect("cut off");
    let mut other = broker.client(edge.credentials(Role::Server, "video-2"));
    is_granted(&mut other).await;
    let (core, _) = edge.server.counts();
    // 5,000 at once, and two thousand for each second that it took; one for the other.
    let at_most = 5000 + 2 * began.elapsed().as_millis() as u64 + 1;
    assert!((2..=at_most).contains(&core.granted), "{core:?} of {at_most}");
    assert_eq!(edge.server.sizes(), (2, 2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_wants_its_answers_in_a_thousand_places_does_not_take_those_of_others() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let raw = raw_server(&edge, &broker).await;
    let mut answers = raw.client.subscribe("na.answer.v1.server.video-1.*").await.unwrap();
    for place in 0..1000 {
        let answer_to = format!("na.answer.v1.server.video-1.{place}");
        raw.client.publish_with_reply("na.ask.v1.server.video-1", answer_to, WISH.into()).await.unwrap();
    }
    let mut refused = 0;
    for _ in 0..1000 {
        let answer = futures_util::StreamExt::next(&mut answers).await.unwrap();
        refused += usize::from(answer.payload.starts_with(br#"{"refused""#));
    }
    assert_eq!(refused, 1000 - 16);
    is_granted(&mut broker.client(edge.credentials(Role::Server, "video-2"))).await;
}

/// A connection that has the certificate of `video-1`, and reads only when it is asked to.
fn connected(edge: &Edge, broker: &Broker) -> impl Read + Write + use<> {
    let folder = folder_of(&edge.authority, &name(Role::Server, "video-1"));
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, broker.port)).unwrap();
    socket.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
    let mut byte = [0];
    while byte != *b"\n" {
        socket.read_exact(&mut byte).unwrap();
    }
    let config = Arc::new(tls(folder.path(), Some(folder.path())));
    let session = rustls::ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    let mut stream = rustls::StreamOwned::new(session, socket);
    stream.write_all(b"CONNECT {\"verbose\":false,\"tls_required\":true}\r\nPING\r\n").unwrap();
    let mut said = [0; 6];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"PONG\r\n");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_is_disconnected_and_does_not_hold_up_another() {
    let Some((edge, broker)) = edge_and_broker().await else { return };
    let mut server = broker.client(edge.credentials(Role::Server, "video-2"));
    is_granted(&mut server).await;
    let mut slow = connected(&edge, &broker);
    slow.write_all(format!("SUB {} 1\r\nPING\r\n", edge.records_about("alice")).as_bytes()).unwrap();
    let mut said = [0; 6];
    slow.read_exact(&mut said).unwrap();
    // 150 bytes each, so 15 MB: many times the room of its socket and of the broker's 1 MB for it.
    let (mut made, mut heard) = (0_u64, 0_u64);
    while made < 100_000 {
        for _ in 0..1000 {
            edge.measure("alice", 12.0);
        }
        made += 1000;
        let published = edge.server.counts().1;
        assert_eq!(published.broker_records_dropped, 0, "{published:?}");
        // The other one has each record before the next thousand is made.
        while heard < made {
            heard += u64::from(matches!(server.hears().await, ListenerEvent::Record(..)));
        }
    }
    let rest = tokio::task::spawn_blocking(move || {
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = 0_usize;
        while let Ok(count @ 1..) = slow.read(&mut buffer) {
            bytes += count;
        }
        bytes
    });
    let unread = rest.await.unwrap();
    assert!(unread < 15_000_000, "the broker has cut it off: {unread} bytes");
}

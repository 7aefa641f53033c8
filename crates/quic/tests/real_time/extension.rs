//! The two ends of a scheme over real connections: they agree, they work, and nothing that a peer does breaks the data.

use crate::support::relay::Bottleneck;
use crate::support::{self, HANG_TIMEOUT, Pair, until};
use cellcc_quic::extension::{Body, CONTEXT, Message, PeerComponent};
use cellcc_quic::{Attached, Congestion, Observed, attach_receiver};
use cellcc_schemes::{Estimation, RateFeedback, RateSignal};
use cellcc_test_support::alone;
use cellcc_units::{Bytes, Rate};
use noq::{Connection, ConnectionError, TransportConfig};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::timeout;

const LINK: Bottleneck = Bottleneck {
    rate: Rate::from_bytes_per_sec(3_000_000),
    rtt: Duration::from_millis(30),
    queue: Bytes::new(1_000_000),
};
/// More than a first flight, and more than any buffer between the two ends.
const MEGABYTE: u64 = 1_000_000;

/// A server with RBBR, and a client.
async fn rbbr_over(bottleneck: Option<Bottleneck>, client: TransportConfig) -> (Pair, Attached) {
    let congestion = Congestion::named("rbbr").unwrap();
    let mut server = TransportConfig::default();
    congestion.install(&mut server);
    let pair = support::connect_over(bottleneck, server, client).await;
    let attached = congestion.attach(&pair.server).expect("installed");
    (pair, attached)
}

/// Sends from one end to the other until this is so; it is given the bytes that have arrived.
async fn transfer(from: &Connection, to: &Connection, is_enough: impl Fn(u64) -> bool) {
    let mut out = from.open_uni().await.unwrap();
    let send = async { while out.write_all(&[7; 10_000]).await.is_ok() {} };
    let receive = async {
        let mut stream = to.accept_uni().await.unwrap();
        let mut received = 0;
        while !is_enough(received) {
            let chunk = stream.read_chunk(1 << 16).await.unwrap().expect("the sender goes on");
            received += chunk.len() as u64;
        }
    };
    let both = async {
        tokio::select! {
            () = send => panic!("the connection is lost: {:?}", from.close_reason()),
            () = receive => {}
        }
    };
    timeout(HANG_TIMEOUT, both).await.expect("it is enough at some time");
}

fn is_a_megabyte(received: u64) -> bool {
    received >= MEGABYTE
}

fn shown(observed: &Observed, name: &str) -> f64 {
    let value = observed.values.iter().find(|(known, _)| known == name);
    value.unwrap_or_else(|| panic!("{name} is shown: {observed:?}")).1
}

fn inside(attached: &Attached) -> Observed {
    let mut observed = Observed::default();
    attached.scheme().observe(&mut observed);
    observed
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receivers_estimates_reach_the_sender() {
    let (pair, attached) = rbbr_over(Some(LINK), TransportConfig::default()).await;
    let receiver = attach_receiver(&pair.client, cellcc_schemes::registry());
    let counters = || attached.receiver().counters();
    let is_heard = |_| counters().received >= 200 && shown(&inside(&attached), "uses_feedback") == 1.0;
    transfer(&pair.server, &pair.client, is_heard).await;
    assert_eq!(attached.peer_component(), PeerComponent::Found { version: 1 });
    assert_eq!(receiver.scheme_here().as_deref(), Some("rbbr"));
    // An offer that a slow machine repeats has two answers, and the second is stale.
    assert_eq!((counters().implausible, counters().malformed), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn both_directions_have_their_own_components() {
    let _alone = alone();
    let congestion = Congestion::named("rbbr(alpha=0.3)").unwrap();
    let mut client = TransportConfig::default();
    congestion.install(&mut client);
    let (pair, down) = rbbr_over(None, client).await;
    let up = congestion.attach(&pair.client).expect("installed");
    until("both are found", || {
        [&up, &down].iter().all(|end| end.peer_component() == PeerComponent::Found { version: 1 })
    })
    .await;
    assert_eq!(down.receiver().scheme_here().as_deref(), Some("rbbr(alpha=0.3)"));
    assert_eq!(up.receiver().scheme_here().as_deref(), Some("rbbr"));
    tokio::join!(
        transfer(&pair.server, &pair.client, is_a_megabyte),
        transfer(&pair.client, &pair.server, is_a_megabyte)
    );
    assert_eq!((up.receiver().counters().implausible, down.receiver().counters().implausible), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_without_datagram_frames_gets_data_and_the_status_says_so() {
    let mut client = TransportConfig::default();
    client.datagram_receive_buffer_size(None);
    let (pair, attached) = rbbr_over(None, client).await;
    transfer(&pair.server, &pair.client, is_a_megabyte).await;
    until("noq says that there are none", || attached.peer_component() == PeerComponent::NoDatagrams).await;
    assert_eq!(
        attached.peer_component().to_string(),
        "no receiver-side component at the peer: no DATAGRAM frames"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_without_the_extension_gets_data_and_the_status_says_so() {
    let (pair, attached) = rbbr_over(None, TransportConfig::default()).await;
    assert_eq!(attached.peer_component(), PeerComponent::Offered);
    transfer(&pair.server, &pair.client, is_a_megabyte).await;
    until("it is given up", || attached.peer_component() == PeerComponent::Unanswered).await;
    assert_eq!(shown(&inside(&attached), "uses_feedback"), 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_applications_own_datagrams_reach_it() {
    let (pair, _attached) = rbbr_over(None, TransportConfig::default()).await;
    let receiver = attach_receiver(&pair.client, cellcc_schemes::registry());
    for number in 0..3u8 {
        pair.server.send_datagram(vec![0, number].into()).unwrap();
    }
    for number in 0..3u8 {
        let datagram = timeout(HANG_TIMEOUT, receiver.read_datagram()).await.unwrap();
        assert_eq!(datagram.as_deref(), Some([0, number].as_slice()));
    }
    pair.server.close(0u8.into(), b"");
    assert_eq!(timeout(HANG_TIMEOUT, receiver.read_datagram()).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_everybody_let_go_of_ends_although_it_is_served() {
    let (pair, attached) = rbbr_over(None, TransportConfig::default()).await;
    let receiver = attach_receiver(&pair.client, cellcc_schemes::registry());
    until("it is found", || receiver.scheme_here().is_some()).await;
    let Pair { server, client, _endpoints } = pair;
    drop(server);
    let end = timeout(HANG_TIMEOUT, client.closed()).await.expect("it ends");
    assert!(matches!(end, ConnectionError::ApplicationClosed(_)), "closed, and not timed out: {end}");
    assert_eq!(attached.receiver().read_datagram().await, None);
}

/// A receiver that agrees to everything, and sends `lie`'s version of the truth.
async fn liar(connection: Connection, lie: impl Fn(&mut RateFeedback)) {
    let mut sequence = 0;
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    loop {
        tokio::select! {
            datagram = connection.read_datagram() => {
                let Ok(datagram) = datagram else { return };
                if let Ok(Message { flow, body: Body::Offer { .. } }) = Message::decode(&datagram) {
                    let _ = connection.send_datagram(Message { flow, body: Body::Answer(Ok(1)) }.encode().into());
                }
            }
            _ = ticks.tick() => {
                sequence += 1;
                let mut feedback = RateFeedback {
                    sequence,
                    rate: Some(LINK.rate),
                    interval: cellcc_units::Span::from_millis(10),
                    received: Bytes::new(connection.stats().udp_rx.bytes),
                    frozen: false,
                    burst: Bytes::ZERO,
                };
                lie(&mut feedback);
                let message = Message { flow: 0, body: Body::Feedback(feedback.encode()) };
                let _ = connection.send_datagram(message.encode().into());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_claims_four_times_the_bytes_gets_plain_bbr() {
    let (pair, attached) = rbbr_over(Some(LINK), TransportConfig::default()).await;
    let liar = liar(pair.client.clone(), |feedback| feedback.received = feedback.received * 4);
    let counters = || attached.receiver().counters();
    tokio::select! {
        () = liar => unreachable!("the connection lives"),
        () = transfer(&pair.server, &pair.client, |_| counters().implausible > 300) => {}
    }
    assert_eq!(shown(&inside(&attached), "uses_feedback"), 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_replays_from_a_hostile_peer_are_counted_and_harm_nothing() {
    let _alone = alone();
    let (pair, attached) = rbbr_over(None, TransportConfig::default()).await;
    let hostile = async {
        let signal = Body::Signal(RateSignal { estimation: Estimation::Run, epoch: 7 }.encode());
        let replayed = Message { flow: 5, body: signal }.encode();
        let mut state = 1u32;
        for round in 0u32.. {
            // Numerical Recipes' generator: any will do.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut garbage: Vec<u8> = state.to_be_bytes().repeat(1 + (state % 200) as usize);
            garbage[0] = CONTEXT;
            let _ = pair.client.send_datagram(garbage.into());
            let _ = pair.client.send_datagram(replayed.clone().into());
            let offer = Body::Offer { versions: vec![1], scheme: "rbbr".into() };
            let _ = pair.client.send_datagram(Message { flow: round, body: offer }.encode().into());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let are_counted = || {
        let counters = attached.receiver().counters();
        counters.malformed + counters.unknown_kinds > 100 && counters.unexpected > 1
    };
    let goes_on = |received| is_a_megabyte(received) && are_counted();
    tokio::select! {
        () = hostile => unreachable!("it does not end"),
        () = transfer(&pair.server, &pair.client, goes_on) => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_at_the_servers_socket_harms_no_transfer() {
    const LENGTHS: u32 = 300;
    let _alone = alone();
    let (pair, attached) = rbbr_over(None, TransportConfig::default()).await;
    let address = pair._endpoints.0.local_addr().unwrap();
    let sent = AtomicU32::new(0);
    let garbage = async {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for round in 0u32.. {
            let bytes = round.wrapping_mul(2_654_435_761).to_be_bytes();
            let _ = socket.send_to(&bytes.repeat(1 + (round % LENGTHS) as usize), address).await;
            sent.store(round, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let goes_on = |received| is_a_megabyte(received) && sent.load(Ordering::Relaxed) >= LENGTHS;
    tokio::select! {
        () = garbage => unreachable!("it does not end"),
        () = transfer(&pair.server, &pair.client, goes_on) => {}
    }
    assert_eq!(attached.receiver().counters().malformed, 0);
}

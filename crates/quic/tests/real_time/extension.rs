//! The two ends of a scheme over real connections: they agree, they work, and nothing that a peer does breaks the data.

use crate::support;
use crate::support::Pair;
use crate::support::relay::Bottleneck;
use cellcc_quic::extension::{Body, CONTEXT, Message, PeerComponent};
use cellcc_quic::{Attached, Congestion, Observed, attach_receiver};
use cellcc_schemes::{Estimation, RateFeedback, RateSignal};
use cellcc_test_support::needs_punctuality;
use cellcc_units::{Bytes, Rate};
use noq::{Connection, TransportConfig};
use std::time::{Duration, Instant};

const LINK: Bottleneck = Bottleneck {
    rate: Rate::from_bytes_per_sec(3_000_000),
    rtt: Duration::from_millis(30),
    queue: Bytes::new(1_000_000),
};
const ENOUGH: Duration = Duration::from_secs(10);

/// A server with RBBR, and a client.
async fn rbbr_over(bottleneck: Option<Bottleneck>, client: TransportConfig) -> (Pair, Attached) {
    let congestion = Congestion::named("rbbr").unwrap();
    let mut server = TransportConfig::default();
    congestion.install(&mut server);
    let pair = support::connect_over(bottleneck, server, client).await;
    let attached = congestion.attach(&pair.server).expect("installed");
    (pair, attached)
}

/// Sends for so long, from one end to the other; gives what arrived.
async fn transfer(from: &Connection, to: &Connection, time: Duration) -> u64 {
    let mut out = from.open_uni().await.unwrap();
    let end = Instant::now() + time;
    let send = async {
        while Instant::now() < end {
            let _ = tokio::time::timeout_at(end.into(), out.write_all(&[7; 10_000])).await;
        }
    };
    let receive = async {
        let mut stream = to.accept_uni().await.unwrap();
        let mut received = 0;
        while let Ok(Ok(Some(chunk))) = tokio::time::timeout_at(end.into(), stream.read_chunk(1 << 16)).await
        {
            received += chunk.len() as u64;
        }
        received
    };
    tokio::join!(send, receive).1
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

/// Runs what is a test in real time.
fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(test);
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(ENOUGH, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "within {ENOUGH:?}: {what}");
}

#[test]
fn the_receivers_estimate_of_the_links_rate_reaches_the_sender() {
    needs_punctuality(|| {
        run(async {
            let (pair, attached) = rbbr_over(Some(LINK), TransportConfig::default()).await;
            let receiver = attach_receiver(&pair.client, cellcc_schemes::registry());
            let mut estimates = Vec::new();
            let looks = async {
                // BBR is out of Startup by then.
                tokio::time::sleep(Duration::from_secs(1)).await;
                loop {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    let mut observed = Observed::default();
                    receiver.observe_component(&mut observed);
                    estimates.push(shown(&observed, "x_hat_mbit_s"));
                }
            };
            tokio::select! {
                () = looks => {}
                _ = transfer(&pair.server, &pair.client, Duration::from_secs(3)) => {}
            }
            assert_eq!(attached.peer_component(), PeerComponent::Found { version: 1 });
            assert_eq!(receiver.scheme_here().as_deref(), Some("rbbr"));
            estimates.sort_by(f64::total_cmp);
            let (median, link) = (estimates[estimates.len() / 2], LINK.rate.as_mbit_per_sec());
            assert!((median / link - 1.0).abs() < 0.1, "{median} on a link of {link}");
            assert_eq!(shown(&inside(&attached), "uses_feedback"), 1.0);
            // Every 10 ms.
            let feedback = attached.receiver().counters();
            assert!((200..=300).contains(&feedback.received), "{feedback:?}");
            assert_eq!((feedback.implausible, feedback.stale, feedback.malformed), (0, 0, 0));
        })
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn both_directions_have_their_own_components() {
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
    let both = tokio::join!(
        transfer(&pair.server, &pair.client, Duration::from_millis(300)),
        transfer(&pair.client, &pair.server, Duration::from_millis(300))
    );
    assert!(both.0 > 1_000_000 && both.1 > 1_000_000, "{both:?}");
    assert_eq!((up.receiver().counters().implausible, down.receiver().counters().implausible), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_without_datagram_frames_gets_data_and_the_status_says_so() {
    let mut client = TransportConfig::default();
    client.datagram_receive_buffer_size(None);
    let (pair, attached) = rbbr_over(None, client).await;
    assert!(transfer(&pair.server, &pair.client, Duration::from_millis(300)).await > 1_000_000);
    assert_eq!(attached.peer_component(), PeerComponent::NoDatagrams);
    assert_eq!(
        attached.peer_component().to_string(),
        "no receiver-side component at the peer: no DATAGRAM frames"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_without_the_extension_gets_data_and_the_status_says_so() {
    let (pair, attached) = rbbr_over(None, TransportConfig::default()).await;
    assert!(transfer(&pair.server, &pair.client, Duration::from_millis(300)).await > 1_000_000);
    assert_eq!(attached.peer_component(), PeerComponent::Offered);
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
        let datagram = tokio::time::timeout(ENOUGH, receiver.read_datagram()).await.unwrap();
        assert_eq!(datagram.as_deref(), Some([0, number].as_slice()));
    }
    pair.server.close(0u8.into(), b"");
    assert_eq!(tokio::time::timeout(ENOUGH, receiver.read_datagram()).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_everybody_let_go_of_ends_although_it_is_served() {
    let (pair, attached) = rbbr_over(None, TransportConfig::default()).await;
    let receiver = attach_receiver(&pair.client, cellcc_schemes::registry());
    until("it is found", || receiver.scheme_here().is_some()).await;
    let Pair { server, client, _endpoints } = pair;
    drop(server);
    let closed = tokio::time::timeout(Duration::from_secs(2), client.closed()).await;
    assert!(closed.is_ok(), "the idle time-out is 30 s");
    assert_eq!(attached.receiver().read_datagram().await, None);
}

/// A receiver that agrees to everything, and says what `lie` makes of what is true.
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

/// What arrives in 4 s, in Mbit/s, the smoothed RTT at their end in ms, and the sender's end.
async fn greedy(lie: impl Fn(&mut RateFeedback) + Send + 'static) -> (f64, f64, Attached, Pair) {
    let (pair, attached) = rbbr_over(Some(LINK), TransportConfig::default()).await;
    let client = pair.client.clone();
    let liar = async move { liar(client, lie).await };
    let time = Duration::from_secs(4);
    let received = tokio::select! {
        () = liar => unreachable!("the connection lives"),
        received = transfer(&pair.server, &pair.client, time) => received,
    };
    let rtt = attached.scheme().snapshot().smoothed_rtt.expect("samples");
    let mbit = received as f64 * 8.0 / 1e6 / time.as_secs_f64();
    (mbit, rtt.as_millis_f64(), attached, pair)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_claims_four_times_the_bytes_gets_plain_bbr() {
    let (_, _, attached, _pair) = greedy(|feedback| feedback.received = feedback.received * 4).await;
    assert_eq!(shown(&inside(&attached), "uses_feedback"), 0.0);
    assert!(attached.receiver().counters().implausible > 300, "{:?}", attached.receiver().counters());
}

/// The sender believes up to 1.25 times its own largest delivery rate (parameter `bound`). A sample of that spans an RTT of
/// 30 ms, and the relay's timer of 1 ms moves either end: 30/28 of the link's rate at most.
const MOST_BELIEVED: f64 = 1.25 * 30.0 / 28.0;

#[test]
fn a_receiver_that_claims_four_times_the_rate_gains_the_bound_and_no_throughput() {
    needs_punctuality(|| {
        run(async {
            let (pair, _plain) = rbbr_over(Some(LINK), TransportConfig::default()).await;
            let time = Duration::from_secs(4);
            let honest =
                transfer(&pair.server, &pair.client, time).await as f64 * 8.0 / 1e6 / time.as_secs_f64();
            let (mbit, rtt, attached, _pair) =
                greedy(|feedback| feedback.rate = feedback.rate.map(|rate| rate.mul_f64(4.0))).await;
            assert_eq!(shown(&inside(&attached), "uses_feedback"), 1.0);
            let estimate = shown(&inside(&attached), "btl_bw_mbit_s") / LINK.rate.as_mbit_per_sec();
            let min_rtt = shown(&inside(&attached), "min_rtt_ms");
            assert!(estimate < MOST_BELIEVED, "{estimate} times the link's rate");
            assert!(mbit < honest * 1.05, "{mbit} against {honest} without feedback");
            // BBR's window is two bandwidth-delay products (cwnd_gain) and three send quanta, here two packets each.
            let most = 2.0 * MOST_BELIEVED * min_rtt + 6.0 * 1.2 / 3.0;
            assert!(rtt < most, "{rtt} ms, and the window lasts for {most} ms");
        })
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_replays_from_a_hostile_peer_are_counted_and_harm_nothing() {
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
    let received = tokio::select! {
        () = hostile => unreachable!("it does not end"),
        received = transfer(&pair.server, &pair.client, Duration::from_secs(1)) => received,
    };
    assert!(received > 1_000_000, "{received}");
    let counters = attached.receiver().counters();
    assert!(counters.malformed + counters.unknown_kinds > 100 && counters.unexpected > 1, "{counters:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_at_the_servers_socket_harms_no_transfer() {
    let (pair, attached) = rbbr_over(None, TransportConfig::default()).await;
    let address = pair._endpoints.0.local_addr().unwrap();
    let garbage = async {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for round in 0u32.. {
            let bytes = round.wrapping_mul(2_654_435_761).to_be_bytes();
            let _ = socket.send_to(&bytes.repeat(1 + (round % 300) as usize), address).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let received = tokio::select! {
        () = garbage => unreachable!("it does not end"),
        received = transfer(&pair.server, &pair.client, Duration::from_secs(1)) => received,
    };
    assert!(received > 1_000_000, "{received}");
    assert_eq!(attached.receiver().counters().malformed, 0);
}

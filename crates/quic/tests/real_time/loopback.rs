//! Every scheme carries data between two noq endpoints over loopback.

use crate::support::{self, HANG_TIMEOUT};
use cellcc_quic::Congestion;
use cellcc_test_support::{alone, needs_punctuality};
use noq::TransportConfig;
use std::time::{Duration, Instant};

const TRANSFER_BYTES: usize = 2_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn every_scheme_carries_data() {
    let _alone = alone();
    for info in cellcc_schemes::registry().schemes() {
        // noq counts no marks, hides packet numbers, and sends signals by themselves.
        if info.needs.ecn_counts || info.needs.arrivals || info.needs.packet_signals {
            continue;
        }
        let congestion = Congestion::named(&info.name).unwrap();
        let mut transport = TransportConfig::default();
        congestion.install(&mut transport);
        let pair = support::connect(transport, TransportConfig::default()).await;
        let attached = congestion.attach(&pair.server).expect("installed");
        let received = tokio::time::timeout(HANG_TIMEOUT, transfer(&pair)).await;
        assert_eq!(received.ok(), Some(TRANSFER_BYTES), "{}", info.name);
        let snapshot = attached.scheme().snapshot();
        assert!(snapshot.packets.acknowledged > 1000, "{}: {snapshot:?}", info.name);
        assert!(snapshot.smoothed_rtt.is_some(), "{}: {snapshot:?}", info.name);
    }
}

/// The duration of a transfer at 16 Mbit/s whose flow is served for the time `served`.
async fn paced_for(served: Duration) -> Duration {
    let congestion = Congestion::named("fixed-rate(rate=16Mbit/s)").unwrap();
    let mut transport = TransportConfig::default();
    congestion.install(&mut transport);
    let pair = support::connect(transport, TransportConfig::default()).await;
    let attached = (!served.is_zero()).then(|| congestion.attach(&pair.server).expect("installed"));
    let began = Instant::now();
    let serve = async {
        tokio::time::sleep(served).await;
        drop(attached);
    };
    let received = async { tokio::time::timeout(HANG_TIMEOUT, transfer(&pair)).await };
    let (received, ()) = tokio::join!(received, serve);
    assert_eq!(received.ok(), Some(TRANSFER_BYTES), "served for {served:?}");
    began.elapsed()
}

async fn transfer(pair: &support::Pair) -> usize {
    let mut out = pair.server.open_uni().await.unwrap();
    let send = async {
        out.write_all(&vec![7; TRANSFER_BYTES]).await.unwrap();
        out.finish().unwrap();
    };
    let receive = async {
        let mut stream = pair.client.accept_uni().await.unwrap();
        stream.read_to_end(TRANSFER_BYTES).await.unwrap().len()
    };
    tokio::join!(send, receive).1
}

#[tokio::test]
async fn a_connection_without_the_scheme_is_not_served() {
    let pair = support::connect(TransportConfig::default(), TransportConfig::default()).await;
    assert!(Congestion::named("cubic").unwrap().attach(&pair.server).is_none());
}

mod punctual {
    use super::*;

    #[test]
    fn a_flow_keeps_its_rate_whether_it_is_served_or_no_longer_or_never() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        needs_punctuality(|| {
            for served_ms in [900, 300, 0] {
                let took = runtime.block_on(paced_for(Duration::from_millis(served_ms))).as_secs_f64();
                // A second, and the headers.
                assert!((0.95..1.25).contains(&took), "served for {served_ms} ms: {took} s");
            }
        });
    }
}

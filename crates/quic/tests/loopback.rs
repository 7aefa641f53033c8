//! Every scheme carries data between two noq endpoints over loopback.

#![allow(clippy::disallowed_methods, reason = "tests in real time")]

mod support;

use cellcc_calm::in_real_time;
use cellcc_control::Registry;
use cellcc_quic::Congestion;
use noq::TransportConfig;
use std::time::Duration;

const TRANSFER_BYTES: usize = 2_000_000;

#[test]
fn every_scheme_carries_data() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    in_real_time(|| {
        runtime.block_on(async {
            for info in Registry::default().schemes() {
                let congestion = Congestion::named(info.name).unwrap();
                let mut transport = TransportConfig::default();
                congestion.install(&mut transport);
                let pair = support::connect(transport, TransportConfig::default()).await;
                let attached = congestion.attach(&pair.server).expect("installed");
                let received = tokio::time::timeout(Duration::from_secs(20), transfer(&pair)).await;
                assert_eq!(received.ok(), Some(TRANSFER_BYTES), "{}", info.name);
                let snapshot = attached.scheme().snapshot();
                assert!(snapshot.packets.acknowledged > 1000, "{}: {snapshot:?}", info.name);
                assert!(snapshot.smoothed_rtt.is_some(), "{}: {snapshot:?}", info.name);
            }
        })
    });
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

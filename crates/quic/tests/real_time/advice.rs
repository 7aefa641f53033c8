//! A network's advice reaches the scheme of a real connection.

use crate::support::{self, until};
use cellcc_assist::{FeedbackFile, FeedbackPath};
use cellcc_quic::Congestion;
use cellcc_quic::advice::{Replay, follow};
use cellcc_units::{Rate, Span};
use noq::TransportConfig;
use std::time::Instant;

#[tokio::test]
async fn a_scheme_paces_at_the_rate_that_is_reported() {
    let congestion = Congestion::named("natcp").unwrap();
    let mut transport = TransportConfig::default();
    congestion.install(&mut transport);
    let pair = support::connect(transport, TransportConfig::default()).await;
    let attached = congestion.attach(&pair.server).expect("installed");
    let reported = Rate::from_mbit_per_sec(8.0);
    let path = FeedbackPath { network: Span::from_millis(20), delay: Span::from_millis(1) };
    // Seconds, Mbit/s, and the microseconds of a packet.
    let lines: String = (0..400).map(|line| format!("{:.2} 8.0 1500\n", f64::from(line) * 0.05)).collect();
    let file = FeedbackFile::parse("constant", &lines, path).unwrap();
    let source = Replay::new(file, Instant::now());
    let following = follow(&pair.server, &attached.scheme(), source);

    let follows = || attached.scheme().snapshot().pacing_rate() == Some(reported);
    until("advice comes", follows).await;
    drop(following);
    until("the scheme no longer trusts the last report", || !follows()).await;
    assert_eq!(pair.client.close_reason(), None);
}

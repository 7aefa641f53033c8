//! Slow starts that end before a loss, run by their schemes.

use crate::testing::Path;
use cellcc_units::{Rate, Span};

const RTT: Span = Span::from_millis(100);

#[test]
fn slow_start_ends_at_a_queue_without_a_loss() {
    // 100 packets per RTT, and a queue without end.
    let narrow = Rate::from_mbit_per_sec(12.0);
    for (law, test) in [("newreno", "hystart=on"), ("cubic", "hystart=on"), ("cubic", "slow-start=search")] {
        let mut watched = Path::new(&format!("{law}({test})"), narrow, RTT);
        watched.run_for(Span::from_secs(5));
        // HyStart++ learns of the rise at some 300 packets, and five rounds of a quarter's growth are a factor of three. SEARCH
        // misses a quarter of the packets two RTTs after the link is full.
        let ssthresh = watched.shows("ssthresh").expect("slow start is over");
        assert!((300.0..1100.0).contains(&ssthresh), "{law}({test}): {ssthresh}");
        let mut plain = Path::new(law, narrow, RTT);
        plain.run_for(Span::from_secs(5));
        assert_eq!(plain.shows("ssthresh"), None, "{law}: nothing but a loss stops it");
        assert!(plain.window() > 4000.0, "{law}: a packet more for every packet that arrives");
    }
}

#[test]
fn the_growth_falls_to_a_quarter_when_the_rtt_rises_and_resumes_when_it_falls_again() {
    let mut path = Path::new("newreno(hystart=on)", Rate::from_mbit_per_sec(12_000.0), RTT);
    // The middle of the third round: the window has doubled twice and doubles again.
    path.run_for(Span::from_millis(250));
    assert_eq!(path.window(), 40.0);
    path.set_rtt(RTT + Span::from_millis(20));
    path.run_for(RTT);
    assert_eq!(path.window(), 80.0, "sent before the rise");
    path.run_for(Span::from_millis(120));
    let conservative = path.window();
    assert!((100.0..130.0).contains(&conservative), "eight samples at full growth, the rest at a quarter");
    path.set_rtt(RTT);
    path.run_for(Span::from_millis(240));
    let resumed = path.window();
    path.run_for(RTT);
    assert!(path.window() > 1.9 * resumed, "{resumed}, then {}", path.window());
    assert_eq!(path.shows("ssthresh"), None);
}

#[test]
fn five_rounds_of_conservative_growth_end_slow_start() {
    let mut path = Path::new("newreno(hystart=on)", Rate::from_mbit_per_sec(12_000.0), RTT);
    path.run_for(Span::from_millis(250));
    path.set_rtt(RTT + Span::from_millis(20));
    let raised = Span::from_millis(120);
    path.run_for(RTT + raised * 4);
    assert_eq!(path.shows("ssthresh"), None, "still conservative");
    path.run_for(raised * 2);
    assert!(path.shows("ssthresh").is_some());
}

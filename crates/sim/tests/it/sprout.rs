//! Sprout on constant links, and on the recordings of its paper.

use crate::common::compare;
use cellcc_experiment::{Metrics, Record};
use cellcc_units::{Ratio, Span};
use std::io::{Write, stderr};
use std::path::Path;

fn over(scheme: &str, link: &str) -> Record {
    let records = compare(&[scheme], link, |file| {
        file.duration = Span::from_secs(60);
        file.path.rtt = Span::from_millis(40);
        file.path.queue = "unlimited".parse().expect("a queue");
    });
    records.into_iter().nth(1).expect("the limit and the scheme")
}

fn p95_ms(metrics: &Metrics) -> f64 {
    metrics.queueing_delay_p95_ms.expect("packets")
}

#[test]
fn a_steady_link_is_filled_and_what_waits_leaves_in_time() {
    for link in ["rate=6Mbit/s", "rate=10Mbit/s"] {
        let total = over("sprout", link).total;
        assert!(total.utilisation > 0.95 && p95_ms(&total) < 100.0, "{link}: {total:?}");
    }
}

#[test]
fn the_grid_ends_at_the_highest_rate_and_can_be_made_longer() {
    let (usual, longer) =
        (over("sprout", "rate=500Mbit/s").total, over("sprout(max_rate=1Gbit/s)", "rate=500Mbit/s").total);
    // 12 Mbit/s and the effect of rounding up; the authors' program is known for 18.
    assert!(usual.throughput_mbit_s < 18.0, "{}", usual.throughput_mbit_s);
    assert!(longer.utilisation > 0.95 && p95_ms(&longer) < 100.0, "{longer:?}");
}

#[test]
fn the_two_profiles_differ_only_where_a_tick_has_no_forecast_of_its_own() {
    let delivered = |scheme: &str, lost: f64| {
        let records = compare(&[scheme], "lte-drive", |file| {
            file.duration = Span::from_secs(60);
            file.path.rtt = Span::from_millis(40);
            file.path.queue = "unlimited".parse().expect("a queue");
            file.path.reverse.loss = Ratio::new(lost);
        });
        records[1].total.throughput_mbit_s
    };
    assert_eq!(delivered("sprout", 0.0), delivered("sprout(profile=code)", 0.0));
    assert!(delivered("sprout", 0.3) < delivered("sprout(profile=code)", 0.3));
}

#[test]
fn the_moving_average_uses_more_of_a_cellular_link_and_makes_packets_wait_longer() {
    let (cautious, average) =
        (over("sprout", "lte-drive").total, over("sprout(forecast=ewma)", "lte-drive").total);
    assert!(
        average.utilisation > cautious.utilisation + 0.1,
        "{} {}",
        average.utilisation,
        cautious.utilisation
    );
    assert!(
        p95_ms(&average) > p95_ms(&cautious) && p95_ms(&cautious) < 100.0,
        "{} {}",
        p95_ms(&average),
        p95_ms(&cautious)
    );
}

/// Mahimahi's LTE recordings: those of its paper, and later ones.
const RECORDINGS: [&str; 12] = [
    "Verizon-LTE-driving.rebuilt.down",
    "Verizon-LTE-driving.rebuilt.up",
    "Verizon-LTE-short.down",
    "Verizon-LTE-short.up",
    "ATT-LTE-driving.down",
    "ATT-LTE-driving.up",
    "ATT-LTE-driving-2016.down",
    "ATT-LTE-driving-2016.up",
    "TMobile-LTE-driving.down",
    "TMobile-LTE-driving.rebuilt.up",
    "TMobile-LTE-short.down",
    "TMobile-LTE-short.up",
];
/// On these a packet that no other waits before does so for longer than 100 ms in 5 of 100 cases, in outages.
const WITH_OUTAGES: [&str; 3] = ["ATT-LTE-driving.up", "ATT-LTE-driving-2016.up", "TMobile-LTE-driving.down"];

/// The real link; `None` where there are no real traces, which is said.
fn recording(name: &str) -> Option<String> {
    let Some(root) = std::env::var_os("CELLCC_TRACES") else {
        writeln!(stderr(), "left out: CELLCC_TRACES names no folder of real traces").expect("stderr");
        return None;
    };
    let link = Path::new(&root).join("lte-mahimahi").join(name);
    Some(link.to_str().expect("a path in UTF-8").to_owned())
}

#[test]
fn on_the_recordings_of_its_paper_without_outages_95_in_100_packets_wait_less_than_100_ms() {
    for name in RECORDINGS.into_iter().filter(|name| !WITH_OUTAGES.contains(name)) {
        let Some(link) = recording(name) else { return };
        let p95 = p95_ms(&over("sprout", &link).total);
        assert!(p95 < 100.0, "{name}: {p95} ms");
    }
}

/// 760 ms: the authors' sources with heartbeats of full size, as they are here, on the same recording of 0.9 Mbit/s.
#[test]
fn where_heartbeats_are_a_quarter_of_the_link_packets_wait_no_longer_than_with_the_authors_sources() {
    let Some(link) = recording("ATT-LTE-driving.up") else { return };
    let p95 = p95_ms(&over("sprout", &link).total);
    assert!(p95 < 760.0, "{p95} ms");
}

/// Paper, section 5.3: the benefit of the caution.
#[test]
fn through_outages_packets_wait_less_than_with_the_moving_average() {
    let Some(link) = recording("TMobile-LTE-driving.down") else { return };
    let [cautious, average] =
        ["sprout", "sprout(forecast=ewma)"].map(|scheme| p95_ms(&over(scheme, &link).total));
    assert!(cautious < average, "{cautious} and {average} ms");
}

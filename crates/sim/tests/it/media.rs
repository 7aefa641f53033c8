//! Frames of schemes for media, and of one that knows nothing of frames.

use crate::common::compare;
use cellcc_experiment::{Metrics, Record, Support};
use cellcc_units::Span;

fn over(mix: &str, link: &str, seconds: u64) -> Record {
    let records = compare(&[mix], link, |file| {
        file.duration = Span::from_secs(seconds);
        file.path.rtt = Span::from_millis(50);
        file.path.queue = "200pkt".parse().expect("a queue");
    });
    records.into_iter().nth(1).expect("the limit and the scheme")
}

fn series<'a>(record: &'a Record, name: &str) -> &'a [f32] {
    let column = record.series.columns.iter().find(|column| column.name == name);
    &column.expect("a series of this name").values
}

fn video(scheme: &str, link: &str) -> Metrics {
    over(&format!("{scheme}:video(150kbit/s..50Mbit/s,100ms)"), link, 60).total
}

/// The probe at six times the start finds its rate after two reports, and each of four further ones takes about 100 ms.
#[test]
fn gcc_finds_a_link_of_20_mbits_by_probes_within_three_seconds_and_its_queue_stays_short() {
    let record = over("gcc:video(150kbit/s..50Mbit/s,100ms)", "rate=20Mbit/s", 30);
    let target = series(&record, "flow0.target_mbit_s");
    let reached = target.iter().position(|rate| *rate > 0.85 * 20.0).expect("reached");
    assert!(reached < 30, "{reached} bins of 100 ms");
    let total = record.total;
    assert!(total.queueing_delay_mean_ms < Some(20.0) && total.utilisation > 0.7, "{total:?}");
}

/// Its probes are at 600 kbit/s, twice the highest rate of the encoder.
#[test]
fn padding_fills_a_probe_where_the_encoder_has_too_little_and_is_no_frame() {
    let run = |scheme: &str| {
        over(&format!("{scheme}:video(150kbit/s..300kbit/s,100ms)"), "rate=10Mbit/s", 30).total
    };
    let (probing, quiet) = (run("gcc"), run("gcc(probes=off)"));
    assert!(probing.utilisation > quiet.utilisation, "{probing:?}");
    assert_eq!(probing.frames, quiet.frames);
    for total in [probing, quiet] {
        let seen = (total.freezes, total.frames_discarded, total.retransmitted_packets);
        assert_eq!(seen, (Some(0), Some(0), 0), "{total:?}");
    }
}

/// Without probes the rate grows by 8 % a second: 13.5 s from 300 to 850 kbit/s.
#[test]
fn gcc_without_probes_reaches_085_of_a_steady_link_within_20_seconds_and_drains_after_an_overuse() {
    let record = over("gcc(probes=off):video(150kbit/s..50Mbit/s,100ms)", "rate=1Mbit/s", 60);
    let target = series(&record, "flow0.target_mbit_s");
    let reached = target.iter().position(|rate| *rate > 0.85).expect("reached");
    assert!((130..200).contains(&reached), "{reached} bins of 100 ms");
    let least = target[reached..].iter().copied().fold(f32::MAX, f32::min);
    assert!(least > 0.85 * 0.85, "0.85 of what arrives, which is what the link carries: {least}");
    let queue = series(&record, "flow0.queueing_delay_ms");
    let over_use = series(&record, "flow0.over_use");
    assert!(over_use.contains(&1.0), "the link is found");
    for bin in (0..over_use.len() - 10).filter(|bin| over_use[*bin] == 1.0) {
        let drained = queue[bin..bin + 10].iter().any(|delay| *delay < 20.0);
        assert!(drained, "at {bin}: {:?}", &queue[bin..bin + 10]);
    }
}

#[test]
fn scream_fills_a_steady_link_below_half_of_its_delay_target() {
    for (scheme, utilisation) in [("scream", 0.95), ("scream(preset=ericsson)", 0.9)] {
        let total = video(scheme, "rate=10Mbit/s");
        assert!(total.utilisation > utilisation, "{scheme}: {total:?}");
        assert!(total.queueing_delay_p95_ms.unwrap() < 30.0, "{scheme}: {total:?}");
    }
}

#[test]
fn a_stream_keeps_to_its_bounds_and_is_seen_without_a_freeze() {
    for scheme in ["gcc", "scream", "tide"] {
        let total = over(&format!("{scheme}:video(150kbit/s..2Mbit/s,100ms)"), "rate=10Mbit/s", 30).total;
        assert!((0.15..=2.0).contains(&total.media_rate_mbit_s.unwrap()), "{scheme}: {total:?}");
        assert_eq!((total.freezes, total.frames_discarded), (Some(0), Some(0)), "{scheme}: {total:?}");
        let (median, p95) = (total.frame_delay_p50_ms.unwrap(), total.frame_delay_p95_ms.unwrap());
        assert!(25.0 <= median && median <= p95 && p95 < 100.0, "{scheme}: {total:?}");
    }
}

#[test]
fn a_link_slower_than_the_least_rate_freezes_the_stream_and_frames_are_given_up() {
    let total = over("scream:video(4Mbit/s..5Mbit/s,100ms)", "rate=1Mbit/s", 30).total;
    assert!(total.frames_discarded > Some(300) && total.freezes > Some(10), "{total:?}");
    assert!(total.freeze_ratio > Some(0.3) && total.deadline_miss_ratio > Some(0.5), "{total:?}");
}

#[test]
fn a_scheme_that_gives_no_media_rate_is_followed_by_what_it_lets_leave() {
    let total = video("tide", "rate=10Mbit/s");
    assert!(total.utilisation > 0.9 && total.deadline_miss_ratio < Some(0.01), "{total:?}");
}

#[test]
fn an_application_that_follows_no_media_rate_does_not_make_gcc_flood_the_link() {
    let total = over("gcc", "rate=10Mbit/s", 60).total;
    assert!(total.queueing_delay_p95_ms.unwrap() < 100.0, "{total:?}");
    assert_eq!((total.frames, total.media_rate_mbit_s), (None, None));
}

#[test]
fn drivers_whose_frames_have_one_size_refuse_an_adaptive_source_by_name() {
    let scenario = over("cubic:video(1Mbit/s..2Mbit/s,100ms)", "rate=10Mbit/s", 1).scenario;
    assert!(Support::SIM.check(&scenario).is_ok());
    for driver in [Support::QUIC_VIRTUAL, Support::QUIC, Support::KERNEL] {
        let error = driver.check(&scenario).unwrap_err().to_string();
        assert!(error.contains("video(1Mbit/s..2Mbit/s,100ms)") && error.contains(driver.driver), "{error}");
    }
}

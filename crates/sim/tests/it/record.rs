//! Properties of every run: it repeats itself, and nothing beats the limit.

use crate::common::compare;
use cellcc_experiment::{CellSetup, LossDetection, PlanFile, Record};
use cellcc_test_support::schemes_without;
use cellcc_units::{Ratio, Span};
use proptest::prelude::*;

fn short(file: &mut PlanFile) {
    file.duration = Span::from_secs(10);
}

fn row(record: &Record) -> String {
    let m = &record.total;
    let ms = |value: Option<f64>| value.map_or("-".into(), |ms| format!("{ms:.1}"));
    format!(
        "{:<28} {:>6.3} {:>9.2} {:>8} {:>8} {:>8} {:>8}",
        record.scenario.scheme,
        m.utilisation,
        m.throughput_mbit_s,
        ms(m.queueing_delay_mean_ms),
        ms(m.queueing_delay_p95_ms),
        ms(m.rtt_mean_ms),
        m.lost_packets
    )
}

#[test]
fn every_scheme_on_every_synthetic_link() {
    let mut table = String::new();
    let schemes = schemes_without(&[]);
    let schemes: Vec<_> = schemes.iter().map(String::as_str).collect();
    for link in ["5g-mmwave-walk", "lte-drive", "lte-static", "3g"] {
        table += &format!(
            "{link:<28} {:>6} {:>9} {:>8} {:>8} {:>8} {:>8}\n",
            "use", "Mbit/s", "q ms", "q95 ms", "RTT ms", "lost"
        );
        compare(&schemes, link, short).iter().for_each(|record| table += &(row(record) + "\n"));
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let once = compare(&["reminis+bbr@2s", "cubic"], "lte-drive", short);
    let again = compare(&["reminis+bbr@2s", "cubic"], "lte-drive", short);
    assert_eq!(serde_json::to_string(&once).unwrap(), serde_json::to_string(&again).unwrap());
    assert!(once.iter().zip(&again).all(|(a, b)| a.series.to_csv() == b.series.to_csv()));
}

#[test]
fn a_target_that_cannot_be_met_is_raised_and_the_record_says_so() {
    let records = compare(&["reminis(dtt=15ms)"], "rate=50Mbit/s", short);
    assert!(records[1].notes.iter().any(|note| note.contains("raised")), "{:?}", records[1].notes);
    assert!(records[1].total.utilisation > 0.5);
}

#[test]
fn users_of_a_cell_have_queues_of_their_own() {
    let records = compare(&["cubic+vegas#1"], "rate=50Mbit/s", |file| {
        short(file);
        file.cell = Some(CellSetup { scheduler: "round-robin".into(), users: vec!["rate=50Mbit/s".into()] });
    });
    let [cubic, vegas] = &records[1].flows[..] else { panic!("two flows") };
    assert!((cubic.metrics.throughput_mbit_s / vegas.metrics.throughput_mbit_s - 1.0).abs() < 0.1);
    assert!(vegas.metrics.queueing_delay_p95_ms < cubic.metrics.queueing_delay_p95_ms.map(|ms| ms / 2.0));
}

#[test]
fn acknowledgements_may_be_lost_but_clock_the_sender() {
    let throughput = |change: fn(&mut PlanFile)| {
        let records = compare(&["fixed-window(window=500pkt)"], "rate=50Mbit/s", |file| {
            short(file);
            change(file);
        });
        records[1].total.throughput_mbit_s
    };
    let clean = throughput(|_| ());
    assert!(throughput(|file| file.path.reverse.loss = Ratio::new(0.3)) > 0.95 * clean);
    // One ACK of 52 bytes releases 1500: 0.5 Mbit/s of them are 14.4 Mbit/s of data, and the first window comes free.
    let slow = throughput(|file| file.path.reverse.trace = "rate=0.5Mbit/s".into());
    assert!((14.4..15.2).contains(&slow), "{slow}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the conditions: nothing panics, and no scheme carries more or waits less than the limit.
    #[test]
    fn no_scheme_beats_the_limit(
        scheme in prop::sample::select(schemes_without(&[])),
        link in prop::sample::select(&["lte-drive", "3g", "rate=3Mbit/s", "step=1Mbit/s@1s,0bit/s@2s,40Mbit/s@1s"][..]),
        queue in prop::sample::select(&[
            "1pkt", "20pkt", "200kB", "50ms", "unlimited", "drophead(20pkt)", "codel(limit=200kB)", "pie",
        ][..]),
        jitter_ms in prop::sample::select(&[0, 0, 10][..]),
        jitter_reorders in any::<bool>(),
        (grain_ms, radio) in (0_u64..3, any::<bool>()),
        rtt_ms in 1_u64..300,
        loss in prop::sample::select(&[0.0, 0.01, 0.3][..]),
        ack_loss in prop::sample::select(&[0.0, 0.5][..]),
        ack_every in 1_u32..3,
        recovery in prop::sample::select(&[LossDetection::Quic, LossDetection::Rack][..]),
        seed in 1_u64..1000,
    ) {
        let records = compare(&[&scheme], link, |file| {
            file.duration = Span::from_secs(8);
            file.seeds = seed.to_string().parse().unwrap();
            file.path.rtt = Span::from_millis(rtt_ms);
            file.path.queue = queue.parse().unwrap();
            file.path.loss = Ratio::new(loss);
            file.path.jitter = Span::from_millis(jitter_ms);
            file.path.jitter_reorders = jitter_reorders;
            file.path.grain = Span::from_millis(grain_ms);
            file.path.reverse.loss = Ratio::new(ack_loss);
            if radio {
                file.path.harq = "fdd".parse().ok();
                file.path.access = "request=20ms, wake=15ms".parse().ok();
                file.path.reverse.harq = "fdd-up".parse().ok();
                file.path.reverse.access = file.path.access;
            }
            file.endpoint.ack_every = ack_every;
            file.endpoint.recovery = recovery;
        });
        let [limit, record] = &records[..] else { panic!("the limit and the scheme") };
        let (best, total) = (&limit.total, &record.total);
        prop_assert!(total.utilisation <= best.utilisation + 1e-9, "{} > {}", total.utilisation, best.utilisation);
        prop_assert!(total.lost_packets <= total.sent_packets && total.retransmitted_packets <= total.sent_packets);
        prop_assert!(total.rtt_mean_ms.is_none_or(|ms| ms >= rtt_ms as f64 - 1e-6), "{:?}", total.rtt_mean_ms);
    }
}

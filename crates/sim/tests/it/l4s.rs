//! Prague over DualPI2, alone and next to CUBIC.

use crate::common::compare;
use cellcc_experiment::Record;
use cellcc_units::Span;

fn through_dualpi2(schemes: &str, mbit: u64, rtt_ms: u64) -> Record {
    let records = compare(&[schemes], &format!("rate={mbit}Mbit/s"), |file| {
        file.duration = Span::from_secs(60);
        file.warm_up = Span::from_secs(20);
        file.path.rtt = Span::from_millis(rtt_ms);
        file.path.queue = "dualpi2".parse().expect("a queue");
    });
    records.into_iter().nth(1).expect("the limit and the scheme")
}

#[test]
fn prague_alone_has_a_queue_of_about_a_millisecond_and_loses_nothing() {
    let mut table = format!("{:>6} {:>6} {:>6} {:>7} {:>7}\n", "Mbit/s", "ms", "use", "q50 ms", "q99 ms");
    for (mbit, rtt_ms) in [4, 20, 50, 200].into_iter().flat_map(|mbit| [5, 20, 100].map(|rtt| (mbit, rtt))) {
        let total = through_dualpi2("prague", mbit, rtt_ms).total;
        let (p50, p99) = (total.queueing_delay_p50_ms.unwrap(), total.queueing_delay_p99_ms.unwrap());
        table += &format!("{mbit:>6} {rtt_ms:>6} {:>6.3} {p50:>7.2} {p99:>7.2}\n", total.utilisation);
        assert_eq!(total.lost_packets, 0, "{mbit} Mbit/s, {rtt_ms} ms");
        // What waited for more than a millisecond is marked, unless it found one packet at most before it; with that packet's and its own
        // time on the link, and those that leave in the RTT until the mark answers.
        let packet_ms = 1500.0 * 8.0 / 1e3 / mbit as f64;
        assert!(p99 <= 1.1 + 4.0 * packet_ms, "{mbit} Mbit/s, {rtt_ms} ms: {p99}");
        assert!(total.utilisation > if rtt_ms < 100 { 0.98 } else { 0.8 }, "{mbit} Mbit/s, {rtt_ms} ms");
    }
    insta::assert_snapshot!(table);
}

#[test]
fn prague_and_cubic_share_a_link_behind_dualpi2() {
    let mut table = format!("{:>6} {:>7} {:>10} {:>10}\n", "ms", "prague", "q prague", "q cubic");
    for rtt_ms in [5, 10, 20, 40, 80, 100] {
        let record = through_dualpi2("prague+cubic", 50, rtt_ms);
        let [prague, cubic] = [0, 1].map(|flow| &record.flows[flow].metrics);
        let share = prague.throughput_mbit_s / (prague.throughput_mbit_s + cubic.throughput_mbit_s);
        let queue = |flow: &cellcc_experiment::Metrics| flow.queueing_delay_mean_ms.expect("packets");
        table += &format!("{rtt_ms:>6} {share:>7.2} {:>10.2} {:>10.2}\n", queue(prague), queue(cubic));
        // RFC 9332 aims at equal rates; within a factor of two is the bound.
        assert!((1.0 / 3.0..=2.0 / 3.0).contains(&share), "{rtt_ms} ms: {share}");
        // At 100 ms CUBIC's sawtooth leaves its queue empty for part of the time.
        let least = if rtt_ms < 100 { 10.0 } else { 5.0 };
        assert!((least..=20.0).contains(&queue(cubic)), "{rtt_ms} ms: {}", queue(cubic));
    }
    insta::assert_snapshot!(table);
}

//! On links simple enough for a formula, each simple scheme behaves as its textbook says.

use crate::common::{compare, run};
use cellcc_experiment::{LossDetection, Path, Record};
use cellcc_units::{Bytes, QueueLimit, Ratio, Span};

/// A full packet of the default endpoint.
const PACKET_BYTES: f64 = 1500.0;

fn path(rtt_ms: u64, queue: QueueLimit) -> Path {
    Path { rtt: Span::from_millis(rtt_ms), queue: queue.into(), ..Path::default() }
}

fn column<'a>(record: &'a Record, name: &str) -> &'a [f32] {
    record.series.column(name).unwrap_or_else(|| panic!("no column {name}"))
}

/// Times, in bins, at which the window is cut: by a tenth or more from one bin to the next.
fn cuts(window: &[f32]) -> Vec<usize> {
    (1..window.len()).filter(|&bin| window[bin] < 0.9 * window[bin - 1]).collect()
}

#[test]
fn each_period_of_cubics_sawtooth_is_the_one_its_equation_gives() {
    // A buffer of one BDP: the window is cut at about 1670 packets, a few more or less; after a few less, fast
    // convergence aims lower and the next period is twice as long.
    let records = compare(&["cubic"], "rate=100Mbit/s", |file| {
        file.duration = Span::from_secs(120);
        file.path = path(100, QueueLimit::Packets(833));
        file.endpoint.series_bin = Span::from_millis(10);
    });
    let window = column(&records[1], "flow0.window_packets");
    let cuts: Vec<_> = cuts(window).into_iter().filter(|&bin| bin > 1000).collect();
    assert!(cuts.len() >= 8, "{cuts:?}");
    let peak = |cut: usize| f64::from(window[cut - 1]);
    for cut in cuts.windows(3) {
        // RFC 9438, section 4.7, then equations 2 and 1 solved for the time at which the window is at its next peak.
        let w_max = if peak(cut[1]) < peak(cut[0]) { peak(cut[1]) * 0.85 } else { peak(cut[1]) };
        let k = libm::cbrt((w_max - 0.7 * peak(cut[1])) / 0.4);
        let expected = k + libm::cbrt((peak(cut[2]) - w_max) / 0.4);
        let period = (cut[2] - cut[1]) as f64 / 100.0;
        assert!((period / expected - 1.0).abs() < 0.05, "{period} s, expected {expected:.2} s");
    }
}

#[test]
fn newreno_follows_the_square_root_law_under_random_loss() {
    // Mathis et al. 1997: rate = packet / RTT * sqrt(3 / (2 p)), one ACK per packet.
    for (loss, rtt_ms) in [(0.001, 50), (0.0003, 100), (0.004, 20)] {
        let path = Path { loss: Ratio::new(loss), ..path(rtt_ms, QueueLimit::Unlimited) };
        let record = run("newreno", "rate=100Mbit/s", "600s", path);
        let law_mbit_s = PACKET_BYTES * 8.0 / (rtt_ms as f64 * 1e3) * (1.5 / loss).sqrt();
        let ratio = record.total.throughput_mbit_s / law_mbit_s;
        assert!((0.85..=1.15).contains(&ratio), "loss {loss}, RTT {rtt_ms} ms: {ratio:.3} of the law");
    }
}

#[test]
fn linuxs_cubic_leaves_slow_start_where_linux_does() {
    // Loss in % and completion in s of 10 MiB with Linux 6.18 through the emulator: medians of ten runs
    // (docs/evidence/kernel/slow-start.md).
    for (rtt_ms, thousandths, loss, completion) in [
        (40, 500, 0.15, 1.95),
        (40, 1000, 0.25, 1.95),
        (40, 2000, 0.36, 1.95),
        (80, 500, 0.22, 2.24),
        (80, 1000, 0.48, 2.24),
        (80, 2000, 0.0, 2.24),
    ] {
        let records = compare(&["cubic:sized(10.48576MB)"], "rate=50Mbit/s", |file| {
            file.duration = Span::from_secs(6);
            file.path = path(rtt_ms, QueueLimit::Bdp(thousandths));
            file.like_linux = true;
        });
        let total = &records[1].total;
        let (lost, completed) = (total.loss_ratio * 100.0, total.completion_time_s.unwrap());
        assert!(
            (lost - loss).abs() < 0.1,
            "{rtt_ms} ms, {thousandths} thousandths of a BDP: {lost} % lost, in Linux {loss} %"
        );
        assert!(
            (completed / completion - 1.0).abs() < 0.05,
            "{rtt_ms} ms, {thousandths} thousandths of a BDP: {completed} s"
        );
    }
}

#[test]
fn bbr_carries_under_random_loss_what_linux_carries() {
    // Mbit/s of Linux 6.18's BBR through the emulator on this path (docs/fidelity/emulator.md).
    for (loss, linux_mbit_s) in [(0.001, 94.3), (0.01, 92.5), (0.02, 91.4), (0.05, 89.1)] {
        let path = Path { loss: Ratio::new(loss), ..path(100, QueueLimit::Packets(1000)) };
        let record = run("bbr", "rate=100Mbit/s", "60s", path);
        let ratio = record.total.throughput_mbit_s / linux_mbit_s;
        assert!((0.94..=1.06).contains(&ratio), "loss {loss}: {ratio:.3} of Linux' throughput");
    }
}

#[test]
fn bbr_cruises_with_one_bandwidth_delay_product_in_flight() {
    let record = run("bbr", "rate=100Mbit/s", "30s", path(100, QueueLimit::Packets(3200)));
    let (throughput, rtt) = (column(&record, "flow0.throughput_mbit_s"), column(&record, "flow0.rtt_ms"));
    let gain = column(&record, "flow0.pacing_gain");
    // Cruising for three bins (three RTTs) and more: the queue of the probe before has drained.
    let cruising: Vec<usize> = (50..gain.len())
        .filter(|&bin| gain[bin - 3..=bin].iter().all(|&g| g == 1.0) && !rtt[bin].is_nan())
        .collect();
    assert!(cruising.len() > 50, "{}", cruising.len());
    let inflight = cruising.iter().map(|&bin| f64::from(throughput[bin] * rtt[bin]) / (100.0 * 100.0));
    let mean = inflight.sum::<f64>() / cruising.len() as f64;
    assert!((mean - 1.0).abs() < 0.05, "{mean:.3} BDP");
}

#[test]
fn vegas_keeps_two_to_four_packets_in_the_queue() {
    let record = run("vegas", "rate=12Mbit/s", "120s", path(100, QueueLimit::Unlimited));
    let queueing = &column(&record, "flow0.queueing_delay_ms")[900..];
    // A packet takes 1 ms: the delay in ms, less its own service, is the number of packets ahead.
    let mean = queueing.iter().map(|&ms| f64::from(ms)).sum::<f64>() / queueing.len() as f64;
    assert!((2.0..=4.0).contains(&mean), "{mean:.2} ms");
}

#[test]
fn westwood_keeps_a_link_full_on_a_buffer_that_is_too_small_for_reno() {
    // 100 packets in flight and 20 in the queue: Reno's half of 120 fills 60 % of the link, Westwood's estimate all of it. Not so
    // after the first loss, whose estimate still has the small samples of slow start: it leaves 12 packets, which grow to 100
    // at one per RTT. These ten seconds are left out.
    let utilisation = |scheme| {
        let record = run(scheme, "rate=12Mbit/s", "120s", path(100, QueueLimit::Packets(20)));
        let throughput = &column(&record, "flow0.throughput_mbit_s")[100..];
        throughput.iter().map(|&rate| f64::from(rate)).sum::<f64>() / (throughput.len() as f64 * 12.0)
    };
    let (reno, westwood) = (utilisation("newreno"), utilisation("westwood"));
    // Reno: 40 rounds of 60 to 100 packets, then 20 with a full link.
    assert!((reno - 0.87).abs() < 0.03, "{reno:.3}");
    assert!(westwood > 0.97, "{westwood:.3}");
}

#[test]
fn flows_of_copa_share_a_queue_of_one_over_delta_packets_each() {
    for flows in [1, 2, 4] {
        let scheme = format!("{flows}*copa(delta=0.5)");
        let record = run(&scheme, "rate=12Mbit/s", "60s", path(40, QueueLimit::Unlimited));
        // A packet takes 1 ms, its own service included. Paper, section 3: from nothing to 2.5 of 1/delta packets for each
        // flow, 1.25 on average.
        let queue = record.total.queueing_delay_mean_ms.expect("packets") - 1.0;
        let share = queue / (2.0 * f64::from(flows));
        assert!((1.0..=1.5).contains(&share), "{flows} flows: {queue:.2} packets");
        assert!(record.total.utilisation > 0.97, "{flows} flows: {:.3}", record.total.utilisation);
        if flows > 1 {
            assert!(record.jain_index.unwrap() > 0.95, "{flows} flows: {:?}", record.jain_index);
        }
    }
}

#[test]
fn flows_of_copa_know_each_other_and_compete_with_cubic() {
    // By the paper's threshold alone both would compete with each other here: 400 and 200 ms of queue after 40 s.
    for (flows, rate, most_ms) in [(2, 12, 6.5), (8, 48, 6.5)] {
        let scheme = format!("{flows}*copa");
        let record = run(&scheme, &format!("rate={rate}Mbit/s"), "40s", path(40, QueueLimit::Unlimited));
        let queue = record.total.queueing_delay_mean_ms.expect("packets");
        assert!(queue < most_ms, "{scheme} at {rate} Mbit/s: {queue:.2} ms");
    }
    let share = |scheme| {
        let record = run(scheme, "rate=12Mbit/s", "60s", path(40, QueueLimit::Packets(40)));
        record.flows[0].metrics.throughput_mbit_s / 12.0
    };
    assert!(share("copa+cubic") > 0.4, "{:.2}", share("copa+cubic"));
    assert!(share("copa(mode=default)+cubic") < 0.2, "{:.2}", share("copa(mode=default)+cubic"));
}

#[test]
fn c2tcps_tuner_brings_the_mean_rtt_of_a_full_link_to_its_target() {
    for target_ms in [60.0, 80.0, 120.0] {
        let scheme = format!("c2tcp(target={target_ms}ms)");
        let record = run(&scheme, "rate=12Mbit/s", "120s", path(40, QueueLimit::Unlimited));
        let rtt = record.total.rtt_mean_ms.expect("samples");
        assert!((rtt / target_ms - 1.0).abs() < 0.1, "{rtt:.1} ms for {target_ms}");
        assert!(record.total.utilisation > 0.95, "{:.3} at {target_ms} ms", record.total.utilisation);
    }
}

#[test]
fn two_flows_of_vivace_at_a_hundred_megabits_converge() {
    // The second flow joins a first that has all of the link.
    for scheme in ["vivace+vivace@10s", "vivace(utility=loss)+vivace(utility=loss)@10s"] {
        let record = run(scheme, "rate=100Mbit/s", "60s", path(30, QueueLimit::Packets(250)));
        let late = |flow: &str| {
            let throughput = &column(&record, flow)[400..];
            throughput.iter().map(|&rate| f64::from(rate)).sum::<f64>() / throughput.len() as f64
        };
        let (first, second) = (late("flow0.throughput_mbit_s"), late("flow1.throughput_mbit_s"));
        let (sum, squares) = (first + second, first * first + second * second);
        let jain = sum * sum / (2.0 * squares);
        assert!(jain > 0.95, "{scheme}: {first:.1} and {second:.1} Mbit/s, {jain:.3}");
        assert!(first + second > 90.0, "{scheme}: {first:.1} and {second:.1} Mbit/s");
    }
}

#[test]
fn one_flow_of_vivace_is_near_the_rate_of_its_link() {
    for rate_mbit_s in [1.0, 12.0, 100.0] {
        let link = format!("rate={rate_mbit_s}Mbit/s");
        let record = run("vivace", &link, "60s", path(30, QueueLimit::Unlimited));
        let throughput = &column(&record, "flow0.throughput_mbit_s")[300..];
        let mean = throughput.iter().map(|&rate| f64::from(rate)).sum::<f64>() / throughput.len() as f64;
        assert!(mean > 0.9 * rate_mbit_s, "{mean:.2} of {rate_mbit_s} Mbit/s");
    }
}

#[test]
fn a_fixed_window_of_one_bandwidth_delay_product_fills_the_link_without_a_queue() {
    // 20 Mbit/s, 30 ms: 50 packets, and one that is being served.
    let record = run("fixed-window(window=51pkt)", "rate=20Mbit/s", "30s", path(30, QueueLimit::Unlimited));
    assert!(record.total.utilisation > 0.998, "{}", record.total.utilisation);
    assert!(record.total.rtt_p95_ms.unwrap() < 31.0, "{:?}", record.total.rtt_p95_ms);
}

#[test]
fn a_fixed_rate_is_the_rate_on_the_wire() {
    for mbit in [1, 37, 900] {
        let record = run(
            &format!("fixed-rate(rate={mbit}Mbit/s)"),
            "rate=1Gbit/s",
            "10s",
            path(20, QueueLimit::Unlimited),
        );
        let ratio = record.total.throughput_mbit_s / f64::from(mbit);
        assert!((ratio - 1.0).abs() < 0.01, "{mbit} Mbit/s: {ratio:.4}");
    }
}

#[test]
fn a_sized_transfer_completes_in_the_time_its_bytes_take() {
    let record = run(
        "fixed-window(window=1000pkt):sized(12.5MB)",
        "rate=100Mbit/s",
        "10s",
        path(20, QueueLimit::Unlimited),
    );
    // 8633 packets at 0.12 ms, and one RTT.
    let expected = Bytes::new(12_500_000).get().div_ceil(1448) as f64 * 0.000_12 + 0.02;
    let completed = record.total.completion_time_s.unwrap();
    assert!((completed / expected - 1.0).abs() < 0.002, "{completed} s, expected {expected} s");
}

#[test]
fn a_sized_transfer_completes_though_data_is_lost_more_than_once() {
    // 30 % of 346 packets are lost, and 30 % of their retransmissions.
    for recovery in [LossDetection::Quic, LossDetection::Rack] {
        let records = compare(&["bbr:sized(500kB)"], "rate=20Mbit/s", |file| {
            file.duration = Span::from_secs(60);
            file.path = Path { loss: Ratio::new(0.3), ..path(40, QueueLimit::Packets(200)) };
            file.endpoint.recovery = recovery;
        });
        assert!(records[1].total.completion_time_s.is_some(), "{recovery:?}");
    }
}

#[test]
fn frames_miss_their_deadline_when_the_link_is_slower_than_they_are() {
    let missed = |link: &str| {
        let record = run(
            "fixed-window(window=2000pkt):frames(20Mbit/s,40ms)",
            link,
            "20s",
            path(20, QueueLimit::Packets(100)),
        );
        record.total.deadline_miss_ratio.unwrap()
    };
    assert_eq!(missed("rate=100Mbit/s"), 0.0);
    assert!(missed("rate=10Mbit/s") > 0.9);
}

#[test]
fn two_flows_of_one_scheme_share_a_link_fairly() {
    let record = run("2*newreno", "rate=20Mbit/s", "120s", path(20, QueueLimit::Packets(33)));
    assert!(record.jain_index.unwrap() > 0.9, "{:?}", record.jain_index);
    assert!(record.total.utilisation > 0.95);
}

//! Thinned acknowledgements: the effect of each policy of the receiver on each scheme; and TCP's loss detection (RACK-TLP)
//! against QUIC's, on paths that distinguish them.

use crate::common::compare;
use cellcc_experiment::{LossDetection, PlanFile, Record};
use cellcc_test_support::schemes_without;
use cellcc_units::{QueueLimit, Span};

/// Receivers: acknowledgements, receive offload, and the loss detection that belongs to them.
const RECEIVERS: [(&str, Option<&str>, LossDetection); 5] = [
    ("every-packet", None, LossDetection::Quic),
    ("quic", None, LossDetection::Quic),
    ("quic(threshold=10, max-ack-delay=100ms)", None, LossDetection::Quic),
    ("delayed", None, LossDetection::Rack),
    ("delayed", Some("gro(flush=2ms)"), LossDetection::Rack),
];

fn runs(schemes: &[&str], link: &str, change: impl FnOnce(&mut PlanFile)) -> Vec<Record> {
    let records = compare(schemes, link, |file| {
        file.duration = Span::from_secs(15);
        file.path.rtt = Span::from_millis(40);
        file.path.queue = QueueLimit::Packets(400).into();
        change(file);
    });
    records.into_iter().skip(1).collect()
}

fn acks_per_packet(record: &Record) -> f64 {
    record.total.sent_acks.expect("the simulator counts them") as f64 / record.total.sent_packets as f64
}

#[test]
fn jitter_in_order_leaves_every_preset_of_tide_most_of_the_link() {
    // The window once became smaller in each RTT, down to the extra packets: `interactive` reached a utilisation of 0.25.
    for acks in ["every-packet", "quic(threshold=15, max-ack-delay=25ms)"] {
        let schemes = ["tide(preset=interactive)", "tide", "tide(preset=bulk)"];
        for record in runs(&schemes, "rate=50Mbit/s", |file| {
            file.path.jitter = Span::from_millis(10);
            file.endpoint.acks = acks.parse().ok();
        }) {
            let used = record.total.throughput_mbit_s / 50.0;
            assert!(used > 0.8, "{used} with {acks}: {}", record.scenario.scheme);
        }
    }
}

#[test]
fn every_scheme_with_every_receiver() {
    let schemes = schemes_without(&[]);
    let schemes: Vec<_> = schemes.iter().map(String::as_str).collect();
    let mut table = String::new();
    for link in ["rate=50Mbit/s", "lte-drive"] {
        table += &format!("{link}: Mbit/s, p95 of the RTT in ms, acknowledgements per packet\n{:<28}", "");
        for (acks, offload, _) in RECEIVERS {
            let name = acks.split('(').next().unwrap_or(acks);
            let detail = if acks.contains('(') { "(10)" } else { offload.map_or("", |_| ", gro") };
            table += &format!("{:>21}", format!("{name}{detail}"));
        }
        let columns = RECEIVERS.map(|(acks, offload, recovery)| {
            runs(&schemes, link, |file| {
                file.endpoint.acks = acks.parse().ok();
                file.endpoint.offload = offload.map(|text| text.parse().expect("an offload"));
                file.endpoint.recovery = recovery;
            })
        });
        for (index, scheme) in schemes.iter().enumerate() {
            table += &format!("\n{scheme:<28}");
            for column in &columns {
                let total = &column[index].total;
                let p95 = total.rtt_p95_ms.expect("samples");
                table += &format!(
                    " {:>7.2} {p95:>6.1} {:.3}",
                    total.throughput_mbit_s,
                    acks_per_packet(&column[index])
                );
            }
        }
        table += "\n\n";
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_defaults_are_a_policy_that_can_be_written() {
    let count = |ack_every, max_ack_delay| {
        runs(&["cubic"], "lte-drive", |file| {
            (file.endpoint.ack_every, file.endpoint.max_ack_delay) = (ack_every, max_ack_delay);
        })
    };
    let policy = |text: &str| {
        runs(&["cubic"], "lte-drive", |file| file.endpoint.acks = Some(text.parse().expect("a policy")))
    };
    let usual = Span::from_millis(25);
    assert_eq!(count(1, usual)[0].total, policy("every-packet")[0].total);
    assert_eq!(count(2, usual)[0].total, policy("quic")[0].total);
    let slow = Span::from_millis(100);
    assert_eq!(count(11, slow)[0].total, policy("quic(threshold=10, max-ack-delay=100ms)")[0].total);
}

#[test]
fn an_ack_filter_lets_a_flow_fill_a_link_whose_uplink_is_full_of_acknowledgements() {
    // 50 kbit/s carry 120 acknowledgements a second, 20 Mbit/s 1667 packets.
    let through = |queue: &str| {
        let records = runs(&["bbr"], "rate=20Mbit/s", |file| {
            file.path.reverse.trace = "rate=50kbit/s".into();
            file.path.reverse.queue = queue.parse().expect("a queue");
        });
        records[0].total.utilisation
    };
    let (full, filtered) = (through("100pkt"), through("droptail(100pkt, ack-filter)"));
    assert!(full < 0.15 && filtered > 0.7, "{full} and {filtered}");
}

#[test]
fn a_tail_loss_probe_waits_for_a_delayed_acknowledgement_of_a_packet_alone_only() {
    // The bug: with TCP's delayed acknowledgements of up to 200 ms, the time-out always came before the probe.
    let completion = |acks: &str| {
        let records = runs(&["cubic:sized(43kB)"], "rate=20Mbit/s", |file| {
            file.path.extra_loss = "0%@45ms,100%@15ms,0%@10s".into();
            file.endpoint.recovery = LossDetection::Rack;
            file.endpoint.acks = acks.parse().ok();
        });
        records[0].total.completion_time_s.expect("it ends")
    };
    let (delayed, every) = (completion("delayed"), completion("every-packet"));
    assert!(delayed < every + 0.05, "{delayed} s and {every} s");
}

/// A flow of CUBIC over 40 ms and a queue of 200 packets.
fn cubic(trace: &str, recovery: LossDetection, change: impl FnOnce(&mut PlanFile)) -> Record {
    let records = compare(&["cubic"], trace, |file| {
        file.duration = Span::from_secs(30);
        file.path.rtt = Span::from_millis(40);
        file.path.queue = QueueLimit::Packets(200).into();
        file.endpoint.recovery = recovery;
        change(file);
    });
    records.into_iter().nth(1).expect("the limit and the scheme")
}

#[test]
fn tcp_learns_a_paths_reordering_and_quic_takes_it_for_loss() {
    let share = |recovery| {
        let record = cubic("rate=20Mbit/s", recovery, |file| {
            file.path.jitter = Span::from_millis(30);
            file.path.jitter_reorders = true;
        });
        record.total.utilisation
    };
    let (quic, rack) = (share(LossDetection::Quic), share(LossDetection::Rack));
    assert!(quic < 0.5 && rack > 0.9, "{quic} and {rack}");
}

#[test]
fn a_timeout_in_an_outage_is_undone_when_what_was_queued_arrives() {
    let outage = "step=20Mbit/s@10s,0bit/s@5s,20Mbit/s@15s";
    let record = cubic(outage, LossDetection::Rack, |_| ());
    let column = record.series.column("flow0.throughput_mbit_s").expect("a column");
    let after: f64 = column[152..162].iter().map(|&value| f64::from(value)).sum::<f64>() / 10.0;
    assert!(after > 19.0, "{after} Mbit/s in the second from 200 ms after the outage");
    // The queue was never lost: few of its packets are sent twice.
    assert!(record.total.retransmitted_packets < record.total.lost_packets + 20);
}

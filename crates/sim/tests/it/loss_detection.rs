//! TCP's loss detection (RACK-TLP) next to QUIC's, on paths that distinguish them.

use crate::common::compare;
use cellcc_experiment::{LossDetection, PlanFile, Record};
use cellcc_units::{QueueLimit, Span};

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

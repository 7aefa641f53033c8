//! A scheme that allows everything does not fill memory.

use cellcc_control::{Ack, Controller, Limits, Loss, SchemeInfo};
use cellcc_experiment::{Driver, Plan, PlanFile, Record};
use cellcc_sim::SimDriver;
use cellcc_units::{Bytes, Span};

/// Allows everything.
struct Unbounded;

impl Controller for Unbounded {
    fn on_ack(&mut self, _ack: &Ack<'_>) {}
    fn on_loss(&mut self, _loss: &Loss<'_>) {}
    fn limits(&self) -> Limits {
        Limits::window_only(Bytes::MAX)
    }
}

fn run(scheme: &str) -> Record {
    let mut registry = cellcc_schemes::registry();
    registry.register(SchemeInfo::new("unbounded", "allows everything", "none", |_, _| Box::new(Unbounded)));
    let driver = SimDriver::new(registry);
    let mut file = PlanFile {
        schemes: vec![scheme.into()],
        traces: vec!["rate=100Mbit/s".into()],
        duration: Span::from_secs(1),
        ..PlanFile::default()
    };
    file.path.queue = "unlimited".parse().expect("a queue");
    let plan = Plan::new(&file, &driver, "test").expect("the test's plan is sound");
    driver.run(&plan.runs[1].scenario).expect("the run succeeds")
}

/// The sender sent for ever in the first moment; 23 GB were taken.
#[test]
fn a_scheme_without_a_bound_has_a_million_packets_in_flight_and_a_note() {
    let record = run("unbounded");
    assert_eq!(
        record.notes,
        ["a flow had 1048576 packets in flight, the most in the simulator; its scheme allowed more"]
    );
    // Each packet that arrives lets another leave: the link is full.
    let throughput = record.total.throughput_mbit_s;
    assert!((98.0..=100.0).contains(&throughput), "{throughput} Mbit/s");
}

/// Receivers that conceal losses: schemes that only loss stops had a million packets in flight, and runs of 8 s had no end in 240.
#[test]
fn where_losses_are_concealed_a_flow_has_no_more_in_flight_than_a_receive_window() {
    let driver = SimDriver::new(cellcc_schemes::registry());
    for queue in ["fq-codel", "codel(limit=100pkt)", "33pkt"] {
        let mut file = PlanFile {
            schemes: vec!["cubic".into()],
            traces: vec!["rate=12Mbit/s".into()],
            duration: Span::from_secs(8),
            ..PlanFile::default()
        };
        (file.path.queue, file.endpoint.conceals_loss) = (queue.parse().expect("a queue"), true);
        let plan = Plan::new(&file, &driver, "test").expect("the test's plan is sound");
        let record = driver.run(&plan.runs[1].scenario).expect("the run succeeds");
        assert!(
            record.notes[0].starts_with("a flow had 4194 packets in flight"),
            "{queue}: {:?}",
            record.notes
        );
        let sent = record.total.sent_packets;
        assert!(
            sent < 4_194 * 8_000 / 20 * 2,
            "{queue}: {sent} packets, more than two windows in each round trip"
        );
    }
}

#[test]
fn a_scheme_within_the_bound_has_no_note() {
    assert_eq!(run("fixed-rate(rate=1Gbit/s)").notes, [""; 0]);
}

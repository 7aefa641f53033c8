//! The recorder over emulated links, in virtual time.

use super::{compare_traces, opportunity_times};
use crate::arrivals::Arrivals;
use crate::recording::{Recording, Sources, Times};
use crate::window::{QueueDelay, Saturator};
use crate::wire::Arrival;
use crate::wire::Report;
use cellcc_link::{Capacity, Jitter, Link, LinkConfig, Packet, Poll, ShareOverTime, synthetic, trace};
use cellcc_units::{Bytes, Ratio, Span, Time};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

mod loopback;

const PACKET: Bytes = Bytes::new(1500);

#[derive(Debug, Clone)]
struct Data {
    number: u64,
    sent: Time,
}

impl Packet for Data {
    fn size(&self) -> Bytes {
        PACKET
    }
}

#[derive(Debug, Clone)]
struct Feedback(Report);

impl Packet for Feedback {
    fn size(&self) -> Bytes {
        Bytes::new(300)
    }
}

/// A path in virtual time, with a recorder at both of its ends.
struct RecordedPath {
    forward: Link<Data>,
    backward: Link<Feedback>,
    sender: Saturator,
    receiver: Arrivals,
    /// How far the receiver's clock is ahead.
    clock_offset: Span,
    loses_every_tenth_report: bool,
    reports: u64,
}

fn link<P: Packet>(capacity: Arc<Capacity>, queue: &str, delay: &str, loss: f64) -> Link<P> {
    let config = LinkConfig {
        capacity,
        queue: queue.parse().unwrap(),
        delay: delay.parse().unwrap(),
        jitter: Jitter::NONE,
        loss: ShareOverTime::constant(Ratio::new(loss)),
        ..LinkConfig::transparent()
    };
    Link::new(config, 7)
}

fn constant(rate: &str) -> Arc<Capacity> {
    Arc::new(Capacity::constant(rate.parse().unwrap()).unwrap())
}

impl RecordedPath {
    fn new(capacity: &Arc<Capacity>, queue: &str) -> Self {
        Self {
            forward: link(capacity.clone(), queue, "10ms", 0.0),
            backward: link(constant("1Gbit/s"), "unlimited", "10ms", 0.0),
            sender: Saturator::new(QueueDelay::DEFAULT, Time::ZERO),
            receiver: Arrivals::default(),
            clock_offset: Span::from_secs(1_000_000),
            loses_every_tenth_report: false,
            reports: 0,
        }
    }

    fn run(&mut self, length: Span) {
        let mut now = Time::ZERO;
        while now < Time::ZERO + length {
            while let Poll::Ready(delivery) = self.forward.poll(now) {
                let Data { number, sent } = delivery.packet;
                self.receiver.push(Arrival {
                    number,
                    sent,
                    arrived: delivery.arrived_at + self.clock_offset,
                });
            }
            while let Some(report) = self.receiver.next_report(now) {
                self.reports += 1;
                if !(self.loses_every_tenth_report && self.reports.is_multiple_of(10)) {
                    let _ = self.backward.enqueue(now, Feedback(report));
                }
            }
            while let Poll::Ready(delivery) = self.backward.poll(now) {
                self.sender.on_report(now, &delivery.packet.0.arrivals);
            }
            while let Some(number) = self.sender.next_packet(now) {
                let _ = self.forward.enqueue(now, Data { number, sent: now });
            }
            let wakes = [self.forward.next_wake(), self.backward.next_wake(), self.receiver.next_wake()];
            now = wakes.into_iter().fold(self.sender.next_wake(), Time::min).max(now + Span::from_nanos(1));
        }
    }

    fn recording(&self, length: Span) -> Recording {
        Recording::new(Sources {
            log: self.receiver.log(),
            enough: QueueDelay::DEFAULT.lower(),
            packet: PACKET,
            length,
            rtts: &Times::default(),
            overflows: 0,
        })
        .unwrap()
    }
}

/// Records for `length` and compares a trace file of it with the original, both ways exactly.
fn recorded(capacity: &Arc<Capacity>, queue: &str, length: Span) -> Recording {
    let mut path = RecordedPath::new(capacity, queue);
    path.run(length);
    path.recording(length)
}

/// To the nanosecond, and as the file has it.
fn assert_agrees(name: &str, capacity: &Capacity, recording: &Recording, length: Span) {
    let original = opportunity_times(capacity, length + Span::from_secs(1));
    let exact = compare_traces(&original, recording.times()).unwrap();
    assert!(exact.holds(), "{name}: {exact:?}");
    let mut text = Vec::new();
    recording.write_mahimahi(&mut text).unwrap();
    let read = trace::parse("recorded.mahi", &text).unwrap().capacity;
    let times = opportunity_times(&read, read.period().unwrap());
    let rounded = compare_traces(&original, &times).unwrap();
    assert!(rounded.holds(), "{name}, as a file: {rounded:?}");
}

#[test]
fn a_constant_rate_is_recorded_as_it_is_from_slow_to_fast() {
    for (rate, secs) in
        [("0.1Mbit/s", 60), ("1Mbit/s", 30), ("12Mbit/s", 20), ("300Mbit/s", 8), ("2Gbit/s", 4)]
    {
        let (capacity, length) = (constant(rate), Span::from_secs(secs));
        let recording = recorded(&capacity, "unlimited", length);
        assert_agrees(rate, &capacity, &recording, length);
        let summary = recording.summary();
        assert_eq!((summary.unsaturated_share, summary.lost_packets), (0.0, 0), "{rate}: {summary:?}");
        let median = summary.queueing_ms.p50;
        assert!((250.0..1000.0).contains(&median) && summary.warm_up_s < 2.0, "{rate}: {summary:?}");
    }
}

#[test]
fn a_synthetic_link_is_recorded_as_it_is() {
    let steps = synthetic::generate("lte-static", 1, Span::from_secs(60)).unwrap();
    let capacity = Arc::new(Capacity::from_steps(steps).unwrap());
    let recording = recorded(&capacity, "unlimited", Span::from_secs(60));
    assert_eq!(recording.summary().unsaturated_share, 0.0, "{:?}", recording.summary());
    assert_agrees("lte-static", &capacity, &recording, Span::from_secs(60));
}

#[test]
fn a_real_trace_is_recorded_as_it_is() {
    let Some(root) = std::env::var_os("CELLCC_TRACES") else {
        writeln!(std::io::stderr(), "left out: CELLCC_TRACES names no folder of real traces").unwrap();
        return;
    };
    for (name, secs) in
        [("lte-mahimahi/Verizon-LTE-short.down", 60), ("lte-mahimahi/TMobile-UMTS-driving.down", 60)]
    {
        let capacity = trace::read(&Path::new(&root).join(name)).unwrap().capacity;
        let recording = recorded(&capacity, "unlimited", Span::from_secs(secs));
        assert_eq!(recording.summary().unsaturated_share, 0.0, "{name}: {:?}", recording.summary());
        assert_agrees(name, &capacity, &recording, Span::from_secs(secs));
    }
}

#[test]
fn a_short_queue_is_kept_full_without_a_flood() {
    let capacity = constant("12Mbit/s");
    let mut path = RecordedPath::new(&capacity, "50pkt");
    path.run(Span::from_secs(20));
    let recording = path.recording(Span::from_secs(20));
    assert_agrees("50 packets", &capacity, &recording, Span::from_secs(20));
    let summary = recording.summary();
    assert_eq!(summary.unsaturated_share, 0.0);
    assert!(summary.lost_share > 0.0 && summary.lost_share < 0.5, "{summary:?}");
}

#[test]
fn lost_packets_and_lost_reports_cost_no_capacity() {
    let capacity = constant("12Mbit/s");
    let mut path = RecordedPath::new(&capacity, "unlimited");
    path.forward = link(capacity.clone(), "unlimited", "10ms", 0.02);
    path.loses_every_tenth_report = true;
    path.run(Span::from_secs(30));
    let recording = path.recording(Span::from_secs(30));
    let summary = recording.summary();
    assert!(summary.lost_share > 0.01 && summary.lost_share < 0.03, "{summary:?}");
    // It begins at the first loss, before the queue has built: from there on it shows the link.
    assert!(summary.unsaturated_share < 0.02, "{summary:?}");
}

#[test]
fn an_outage_is_recorded_and_survived() {
    let steps = [("12Mbit/s", 5), ("0Mbit/s", 8), ("6Mbit/s", 5)]
        .map(|(rate, secs)| (Span::from_secs(secs), rate.parse().unwrap()));
    let capacity = Arc::new(Capacity::from_steps(steps.to_vec()).unwrap());
    let recording = recorded(&capacity, "unlimited", Span::from_secs(36));
    assert_eq!(recording.summary().unsaturated_share, 0.0, "{:?}", recording.summary());
    assert_agrees("outage", &capacity, &recording, Span::from_secs(36));
}

#[test]
fn a_sender_that_leaves_the_queue_empty_is_found_out() {
    // The rate rises three-hundredfold at once: no window prepared for it.
    let steps = [("1Mbit/s", 10), ("300Mbit/s", 1)]
        .map(|(rate, secs)| (Span::from_secs(secs), rate.parse().unwrap()));
    let capacity = Arc::new(Capacity::from_steps(steps.to_vec()).unwrap());
    let recording = recorded(&capacity, "unlimited", Span::from_secs(22));
    let summary = recording.summary();
    assert!(summary.unsaturated_share > 0.0 && summary.longest_unsaturated_s > 0.005, "{summary:?}");
    let original = opportunity_times(&capacity, Span::from_secs(23));
    assert!(!compare_traces(&original, recording.times()).unwrap().holds());
}

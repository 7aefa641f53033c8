//! The two ends of a scheme: the receiver's feedback reaches the sender, and a receiver that lies gains little.

use super::{driver, run};
use cellcc_control::{Arrival, Feedback, Observer, ReceiverComponent, Signal, Verdict};
use cellcc_experiment::{PlanFile, Record};
use cellcc_quic_drivers::VirtualDriver;
use cellcc_schemes::RateFeedback;
use cellcc_units::{Span, Time};
use std::sync::Arc;

const LINK_MBIT: f64 = 24.0;
/// A packet of 1500 bytes on the link.
const PACKET_MS: f64 = 0.5;
/// The sender believes up to so many times its own largest delivery rate (parameter `bound`).
const BOUND: f64 = 1.25;

type Lie = fn(&mut RateFeedback);

/// RBBR's receiver, except for its messages.
struct Liar {
    honest: Box<dyn ReceiverComponent>,
    lie: Lie,
}

impl ReceiverComponent for Liar {
    fn on_packet(&mut self, arrival: &Arrival) {
        self.honest.on_packet(arrival);
    }

    fn on_signal(&mut self, signal: &Signal) -> Verdict {
        self.honest.on_signal(signal)
    }

    fn next_timer(&self) -> Option<Time> {
        self.honest.next_timer()
    }

    fn on_timer(&mut self, now: Time) {
        self.honest.on_timer(now);
    }

    fn has_urgent_feedback(&self, now: Time) -> bool {
        self.honest.has_urgent_feedback(now)
    }

    fn feedback(&mut self, now: Time) -> Option<Feedback> {
        let mut feedback = RateFeedback::decode(&self.honest.feedback(now)?)?;
        (self.lie)(&mut feedback);
        Some(feedback.encode())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.honest.observe(observer);
    }
}

/// The driver whose RBBR has a receiver that lies so.
fn lied_to(lie: Lie) -> VirtualDriver {
    let mut registry = cellcc_schemes::registry();
    let rbbr = registry.schemes().iter().find(|info| info.name == "rbbr").expect("a scheme of ours");
    let mut rbbr = (**rbbr).clone();
    let honest = rbbr.needs.receiver.take().expect("RBBR has one");
    rbbr.needs.receiver = Some(Arc::new(move |arguments, context| {
        Some(Box::new(Liar { honest: honest(arguments, context)?, lie }))
    }));
    registry.register(rbbr);
    VirtualDriver::new(registry)
}

/// The scheme over 24 Mbit/s and 30 ms, with a queue of eleven bandwidth-delay products.
fn over_the_link(driver: &VirtualDriver, scheme: &str) -> Record {
    let path = |file: &mut PlanFile| {
        file.path.rtt = Span::from_millis(30);
        file.path.queue = "667pkt".parse().expect("a queue");
    };
    run(driver, &[scheme], &format!("rate={LINK_MBIT}Mbit/s"), path).remove(0)
}

/// A value of the flow, from the second second on: BBR is out of Startup by then.
fn shown<'a>(record: &'a Record, name: &str) -> &'a [f32] {
    let column = record.series.column(&format!("flow0.{name}")).expect("a column");
    &column[column.len() / 5..]
}

#[test]
fn the_receivers_estimate_of_the_links_rate_reaches_the_sender() {
    let record = over_the_link(&driver(), "rbbr");
    for estimate in shown(&record, "x_hat_mbit_s") {
        assert!((f64::from(*estimate) / LINK_MBIT - 1.0).abs() < 0.1, "{estimate} Mbit/s");
    }
    assert!(shown(&record, "uses_feedback").iter().all(|uses| *uses == 1.0));
}

#[test]
fn a_receiver_that_claims_four_times_the_rate_gains_the_bound_and_no_throughput() {
    let plain = over_the_link(&driver(), "bbr").total.throughput_mbit_s;
    let record = over_the_link(
        &lied_to(|feedback| feedback.rate = feedback.rate.map(|rate| rate.mul_f64(4.0))),
        "rbbr",
    );
    assert!(shown(&record, "uses_feedback").iter().all(|uses| *uses == 1.0));
    let largest = |name| shown(&record, name).iter().copied().fold(0.0, f32::max);
    let estimate = f64::from(largest("btl_bw_mbit_s")) / LINK_MBIT;
    assert!((1.2..BOUND * 1.01).contains(&estimate), "{estimate} times the link's rate");
    let rate = record.total.throughput_mbit_s;
    assert!(rate < plain * 1.05, "{rate} Mbit/s, and BBR has {plain}");
    // BBR's window is two bandwidth-delay products (cwnd_gain) and three send quanta, here two packets each, in an even number of
    // packets; and two more while it probes.
    let pairs = (2.0 * BOUND * f64::from(largest("min_rtt_ms")) / PACKET_MS + 6.0) / 2.0;
    let (rtt, most) = (f64::from(largest("rtt_ms")), (pairs.ceil() * 2.0 + 2.0) * PACKET_MS);
    assert!(rtt < most, "{rtt} ms, and the window lasts for {most} ms");
}

#[test]
fn a_receiver_that_claims_four_times_the_bytes_gets_plain_bbr() {
    let record = over_the_link(&lied_to(|feedback| feedback.received = feedback.received * 4), "rbbr");
    assert!(shown(&record, "uses_feedback").iter().all(|uses| *uses == 0.0));
}

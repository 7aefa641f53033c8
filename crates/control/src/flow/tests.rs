use super::*;
use crate::contract::Loss;
use std::sync::{Arc, Mutex};

const PACKET: Bytes = Bytes::new(1500);
const RTT: Span = Span::from_millis(20);

/// The events of a controller.
#[derive(Default)]
struct CallLog {
    rates: Vec<RateSample>,
    echoes: Vec<Option<EcnEcho>>,
    lost: Vec<Bytes>,
    sizes: Vec<Bytes>,
    events: Vec<Event>,
}

#[derive(Default)]
struct Listener(Arc<Mutex<CallLog>>);

impl Controller for Listener {
    fn on_sent(&mut self, sent: &Sent) -> crate::Tag {
        self.0.lock().expect("one thread").sizes.push(sent.packet_size);
        0
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let mut reported = self.0.lock().expect("one thread");
        reported.rates.extend(ack.rate);
        reported.echoes.push(ack.ecn);
        reported.sizes.push(ack.packet_size);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        let mut reported = self.0.lock().expect("one thread");
        reported.lost.push(loss.lost);
        reported.sizes.push(loss.packet_size);
    }

    fn on_event(&mut self, _now: Time, event: Event) {
        self.0.lock().expect("one thread").events.push(event);
    }

    fn limits(&self) -> Limits {
        Limits::window_only(Bytes::MAX)
    }
}

/// A flow, its controller's events, and the time at which its first packets leave.
fn flow() -> (Flow, Arc<Mutex<CallLog>>, Time) {
    let listener = Listener::default();
    let reported = Arc::clone(&listener.0);
    (Flow::new(Box::new(listener), PACKET), reported, Time::ZERO + Span::from_millis(1))
}

fn ce(packets: u64) -> Option<EcnEcho> {
    Some(EcnEcho { ce: PACKET * packets, ..EcnEcho::default() })
}

#[test]
fn a_rate_sample_counts_what_was_lost_and_marked_since_its_packet_left() {
    let (mut flow, reported, start) = flow();
    let first: Vec<_> = (0..4).map(|_| flow.on_sent(start, PACKET)).collect();
    flow.on_loss(start + RTT, &first[..2]);
    flow.on_ack(start + RTT, &first[2..3], Some(RTT), ce(1));
    let second = flow.on_sent(start + RTT, PACKET);
    assert_eq!((second.lost, second.marked), (PACKET * 2, PACKET));
    flow.on_loss(start + RTT * 2, &first[3..]);
    flow.on_ack(start + RTT * 2, &[second], Some(RTT), Some(EcnEcho::default()));
    let reported = reported.lock().expect("one thread");
    let samples: Vec<_> = reported.rates.iter().map(|rate| (rate.lost, rate.marked)).collect();
    assert_eq!(samples, [(PACKET * 2, PACKET), (PACKET, Bytes::ZERO)]);
    assert_eq!(reported.lost, [PACKET * 2, PACKET * 3], "all losses of the flow");
    assert_eq!(reported.echoes, [ce(1), Some(EcnEcho::default())]);
}

#[test]
fn the_first_mark_of_a_round_begins_an_episode() {
    let (mut flow, reported, start) = flow();
    let packets: Vec<_> = (0..3).map(|_| flow.on_sent(start, PACKET)).collect();
    flow.on_ack(start + RTT, &packets[..1], Some(RTT), ce(0));
    assert_eq!(reported.lock().expect("one thread").events, []);
    for packet in &packets[1..] {
        flow.on_ack(start + RTT, &[*packet], Some(RTT), ce(1));
    }
    assert_eq!(reported.lock().expect("one thread").events, [Event::CongestionMarked]);
}

#[test]
fn an_acknowledgement_without_packets_is_no_event() {
    let (mut flow, reported, start) = flow();
    flow.on_ack(start, &[], Some(RTT), ce(1));
    flow.on_persistent_congestion(start, &[]);
    assert!(reported.lock().expect("one thread").sizes.is_empty());
}

#[test]
fn every_event_of_packets_tells_their_present_size() {
    let (mut flow, reported, start) = flow();
    let packets: Vec<_> = (0..2).map(|_| flow.on_sent(start, PACKET)).collect();
    flow.set_packet_size(PACKET * 2);
    flow.on_loss(start + RTT, &packets[..1]);
    flow.on_ack(start + RTT, &packets[1..], Some(RTT), None);
    flow.on_sent(start + RTT, PACKET);
    let sizes = &reported.lock().expect("one thread").sizes;
    assert_eq!(*sizes, [PACKET, PACKET, PACKET * 2, PACKET * 2, PACKET * 2]);
}

/// Leaves [`Controller::on_sent`] as it is.
struct Deaf;

impl Controller for Deaf {
    fn hears_departures(&self) -> bool {
        false
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_loss(&mut self, _loss: &Loss<'_>) {}

    fn limits(&self) -> Limits {
        Limits::window_only(Bytes::MAX)
    }
}

/// Environments step from decision to decision.
#[test]
fn a_departure_is_a_decision_whether_the_scheme_hears_of_it_or_not() {
    for controller in [Box::new(Deaf) as Box<dyn Controller>, Box::new(Listener::default())] {
        let mut flow = Flow::new(controller, PACKET);
        let packet = flow.on_sent(Time::ZERO, PACKET);
        flow.on_ack(Time::ZERO + RTT, &[packet], Some(RTT), None);
        assert_eq!((packet.tag, flow.decisions()), (0, 2));
    }
}

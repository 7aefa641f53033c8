use super::*;
use cellcc_control::{ArrivalReporter, ReportSchedule};

fn receiver(ack_every: u32) -> Receiver {
    Receiver::new(&Endpoint { ack_every, ..Endpoint::default() }, Span::from_millis(40), None)
}

fn arrives(receiver: &mut Receiver, number: u64, nanos: u64) -> Option<Acknowledgement> {
    let packet =
        DataPacket { number, segment: number, bytes: Bytes::new(1500), ecn: Ecn::NotEct, signal: None };
    let now = Time::from_nanos(nanos);
    receiver.on_packet(now, now, &packet)
}

fn newly_acknowledged(receiver: &mut Receiver, ack: Acknowledgement) -> Vec<u64> {
    receiver.newly_acknowledged(ack).map(|packet| packet.number).collect()
}

#[test]
fn a_report_of_arrivals_leaves_when_it_is_due_and_counts_on_the_way_back() {
    let interval = Span::from_millis(50);
    let schedule = ReportSchedule { packets: 2, interval, repeats: 0, unit: Span::from_micros(250) };
    let component = Some(Box::new(ArrivalReporter::new(schedule)) as Box<dyn ReceiverComponent>);
    let mut receiver = Receiver::new(&Endpoint::default(), interval, component);
    arrives(&mut receiver, 0, 1_000_000);
    assert_eq!(receiver.feedback(Time::from_nanos(1_000_000)), None);
    assert_eq!(receiver.next_wake(), Time::ZERO + interval);
    arrives(&mut receiver, 2, 2_000_000);
    let (number, bytes) = receiver.feedback(Time::from_nanos(2_000_000)).expect("two packets");
    assert_eq!(bytes, Bytes::new(20 + 8), "three packets of 2 bytes, in whole words");
    let Some(Message::Arrivals(report)) = receiver.take_feedback(number) else { panic!("a report") };
    assert_eq!(report.arrived().map(|(number, _)| number).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn every_second_packet_is_acknowledged_and_a_single_one_after_the_delay() {
    let mut receiver = receiver(2);
    assert_eq!(arrives(&mut receiver, 0, 0), None);
    assert_eq!(receiver.next_wake(), Time::ZERO + Span::from_millis(25));
    assert!(arrives(&mut receiver, 1, 5).is_some());
    assert_eq!(receiver.next_wake(), Time::NEVER);
}

#[test]
fn a_gap_is_reported_at_once() {
    let mut receiver = receiver(2);
    assert!(arrives(&mut receiver, 3, 0).is_some());
}

#[test]
fn the_next_acknowledgement_makes_a_lost_one_good() {
    let mut receiver = receiver(1);
    let _lost = arrives(&mut receiver, 0, 0);
    let second = arrives(&mut receiver, 2, 0).unwrap();
    assert_eq!(newly_acknowledged(&mut receiver, second), [0, 2]);
    assert_eq!(receiver.newly_acknowledged(second).count(), 0);
}

#[test]
fn data_that_a_receiver_of_tcp_discards_are_answered_and_not_acknowledged() {
    let endpoint = Endpoint { acks: "delayed".parse().ok(), ..Endpoint::default() };
    let mut receiver = Receiver::new(&endpoint, Span::from_millis(40), None);
    let mut arrives = |sent_ms, number, segment| {
        let (bytes, ecn) = (Bytes::new(1500), Ecn::NotEct);
        let packet = DataPacket { number, segment, bytes, ecn, signal: None };
        receiver.on_packet(
            Time::ZERO + Span::from_millis(100),
            Time::ZERO + Span::from_millis(sent_ms),
            &packet,
        )
    };
    // Packet 0 is lost. Packet 9 brings its data and overtakes packet 8.
    let acks = [arrives(1, 1, 1), arrives(9, 9, 0), arrives(7, 8, 2), arrives(10, 10, 3)];
    let acknowledged = acks.map(|ack| newly_acknowledged(&mut receiver, ack.expect("at once")));
    assert_eq!(acknowledged, [vec![1], vec![9], vec![], vec![10]]);
}

#[test]
fn a_receiver_that_lies_acknowledges_what_was_lost_and_nothing_twice() {
    let endpoint = Endpoint { conceals_loss: true, ..Endpoint::default() };
    let mut receiver = Receiver::new(&endpoint, Span::ZERO, None);
    let acknowledged = [0, 3, 2, 4].map(|number| {
        let ack = arrives(&mut receiver, number, number).expect("at once");
        newly_acknowledged(&mut receiver, ack)
    });
    assert_eq!(acknowledged, [vec![0], vec![1, 2, 3], vec![], vec![4]]);
}

/// Releases a packet every 10 ms.
#[derive(Default)]
struct Regulating {
    free_at: Time,
}

impl ReceiverComponent for Regulating {
    fn on_packet(&mut self, _arrival: &Arrival) {}

    fn release_at(&self, _now: Time, _bytes: Bytes) -> Time {
        self.free_at
    }

    fn on_released(&mut self, now: Time, _bytes: Bytes) {
        self.free_at = now + Span::from_millis(10);
    }
}

#[test]
fn acknowledgements_that_a_scheme_regulates_leave_one_by_one() {
    let mut receiver = Receiver::new(&Endpoint::default(), Span::ZERO, Some(Box::new(Regulating::default())));
    let first = arrives(&mut receiver, 0, 0).expect("the first leaves at once");
    assert_eq!(arrives(&mut receiver, 1, 5), None);
    assert_eq!(arrives(&mut receiver, 2, 6), None);
    let release = receiver.next_wake();
    assert_eq!(release, Time::ZERO + Span::from_millis(10));
    let second = receiver.on_wake(release).expect("due");
    assert_eq!(newly_acknowledged(&mut receiver, first), [0]);
    assert_eq!(newly_acknowledged(&mut receiver, second), [1]);
    assert_eq!(receiver.next_wake(), Time::ZERO + Span::from_millis(20));
}

#[test]
fn a_burst_that_offload_hands_over_as_one_is_acknowledged_as_one() {
    let offload = "gro(flush=1ms, max=6kB)".parse().ok();
    let endpoint = Endpoint { offload, ..Endpoint::default() };
    let mut receiver = Receiver::new(&endpoint, Span::ZERO, None);
    (0..3).for_each(|number| assert_eq!(arrives(&mut receiver, number, number), None));
    let flush = receiver.next_wake();
    assert_eq!(flush, Time::ZERO + Span::from_millis(1));
    let ack = receiver.on_wake(flush).expect("the burst's");
    assert_eq!((ack.delay, newly_acknowledged(&mut receiver, ack)), (Span::ZERO, vec![0, 1, 2]));
    assert_eq!(receiver.next_wake(), Time::NEVER);
    // Four packets are 6 kB: the fifth begins another burst.
    (3..7).for_each(|number| assert_eq!(arrives(&mut receiver, number, 2_000_000), None));
    let ack = arrives(&mut receiver, 7, 2_000_000).expect("the first four packets'");
    assert_eq!(newly_acknowledged(&mut receiver, ack), [3, 4, 5, 6]);
}

#[test]
fn tcp_does_not_say_how_long_an_acknowledgement_waited_and_quic_does() {
    for (text, reported) in [("delayed(quick-acks=0)", 0), ("quic", 25)] {
        let endpoint = Endpoint { acks: text.parse().ok(), ..Endpoint::default() };
        let mut receiver = Receiver::new(&endpoint, Span::from_millis(40), None);
        assert_eq!(arrives(&mut receiver, 0, 0), None);
        let ack = receiver.on_wake(receiver.next_wake()).expect("due");
        assert_eq!(ack.delay, Span::from_millis(reported), "{text}");
    }
}

use super::*;
use proptest::prelude::*;

const RTT: Span = Span::from_millis(100);

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn schedule(text: &str) -> AckSchedule {
    AckSchedule::new(text.parse().unwrap_or_else(|error| panic!("{error}")), RTT)
}

/// The acknowledgements due after each of these packets, at 1 ms from each other; a due one leaves. Numbers are segments.
fn dues(schedule: &mut AckSchedule, from_ms: u64, numbers: impl IntoIterator<Item = u64>) -> Vec<Due> {
    let decide = |(index, number): (usize, u64)| {
        let now = at(from_ms + index as u64);
        let due = schedule.on_packet(now, now, number, number).expect("in time");
        if due == Due::Now {
            schedule.on_acknowledged();
        }
        due
    };
    numbers.into_iter().enumerate().map(decide).collect()
}

/// Which of the packets are acknowledged at once.
fn at_once(schedule: &mut AckSchedule, from_ms: u64, numbers: impl IntoIterator<Item = u64>) -> Vec<bool> {
    dues(schedule, from_ms, numbers).into_iter().map(|due| due == Due::Now).collect()
}

/// A receiver of TCP after its quick ACKs, at 16 ms.
fn settled() -> AckSchedule {
    let mut linux = schedule("delayed");
    assert_eq!(at_once(&mut linux, 0, 0..16), [true; 16], "quick ACKs at the start");
    linux
}

#[test]
fn tcp_acknowledges_every_second_segment_after_the_quick_acks() {
    assert_eq!(at_once(&mut settled(), 16, 16..22), [false, true, false, true, false, true]);
}

#[test]
fn a_segment_alone_waits_for_forty_milliseconds_and_longer_after_each_timer_that_ran_out() {
    let mut linux = settled();
    assert_eq!(dues(&mut linux, 100, [16]), [Due::By(at(140))]);
    let mut wait = |now: u64, segment: u64| {
        linux.on_timer();
        linux.on_acknowledged();
        dues(&mut linux, now, [segment])
    };
    assert_eq!(wait(185, 17), [Due::By(at(265))], "twice as long");
    // Then the RTT is the limit.
    assert_eq!(wait(385, 18), [Due::By(at(485))]);
}

#[test]
fn a_gap_is_reported_thrice_at_once_then_once_in_a_millisecond_and_at_once_when_it_is_filled() {
    let mut linux = settled();
    let dues = dues(&mut linux, 20, [17, 18, 19, 20, 16]);
    let compressed = Due::By(at(23) + Span::from_millis(1));
    assert_eq!(dues, [Due::Now, Due::Now, Due::Now, compressed, Due::Now]);
}

#[test]
fn a_segment_that_comes_twice_brings_the_quick_acks_back() {
    let mut linux = settled();
    assert_eq!(at_once(&mut linux, 20, [16, 3]), [false, true]);
    assert_eq!(at_once(&mut linux, 22, 17..34)[14..], [true, false, true]);
}

#[test]
fn after_a_pause_longer_than_the_time_out_acknowledgements_are_quick_again() {
    let mut linux = settled();
    assert_eq!(at_once(&mut linux, 1000, [16, 17, 18]), [true; 3]);
}

/// Segment 16 is lost. Its retransmission arrives after segments 17 and 18, and has overtaken 19 and 20.
#[test]
fn tcp_discards_new_data_that_a_retransmission_has_overtaken_by_more_than_a_tick() {
    let mut linux = settled();
    let mut arrives = |sent_ms: u64, segment: u64| {
        let due = linux.on_packet(at(100), at(sent_ms), segment, segment);
        linux.on_acknowledged();
        due
    };
    assert!([(17, 17), (18, 18)].iter().all(|(sent, segment)| arrives(*sent, *segment).is_some()));
    assert_eq!(arrives(90, 16), Some(Due::Now), "the retransmission");
    assert_eq!(arrives(88, 20), None, "two ticks older");
    assert!(arrives(89, 19).is_some(), "one tick older");
    assert_eq!(arrives(88, 18), Some(Due::Now), "it has come before");
    assert!(arrives(91, 20).is_some(), "newer");
}

#[test]
fn a_retransmission_beyond_the_first_gap_makes_nothing_old() {
    let mut linux = settled();
    let mut arrives = |sent_ms: u64, segment: u64| linux.on_packet(at(100), at(sent_ms), segment, segment);
    assert!(
        [(17, 17), (90, 18), (20, 20)].into_iter().all(|(sent, segment)| arrives(sent, segment).is_some())
    );
}

#[test]
fn quic_acknowledges_every_second_packet_and_one_out_of_order_at_once() {
    let mut quic = schedule("quic");
    assert_eq!(at_once(&mut quic, 0, [0, 1, 2]), [false, true, false]);
    assert_eq!(at_once(&mut quic, 3, [4, 5, 3]), [true, false, true]);
    assert_eq!(dues(&mut quic, 10, [6]), [Due::By(at(35))]);
}

#[test]
fn a_sender_can_ask_for_fewer_acknowledgements() {
    let mut quic = schedule("quic(threshold=3, max-ack-delay=100ms)");
    assert_eq!(at_once(&mut quic, 0, 0..8), [false, false, false, true, false, false, false, true]);
    assert_eq!(dues(&mut quic, 10, [8]), [Due::By(at(110))]);
}

#[test]
fn a_reordering_threshold_holds_the_report_of_a_gap_back() {
    // The draft's example, section 6.2.1, with a threshold of 3; packets 4 and 7 are missing.
    let mut quic = schedule("quic(threshold=100, reordering=3)");
    let numbers = [0, 1, 3, 5, 6, 8, 9, 10];
    let reported = at_once(&mut quic, 0, numbers);
    // 2 is missing: 5 is three beyond it. Then 4, by 8; then 7, by 10.
    assert_eq!(reported, [false, false, false, true, false, true, false, true]);
    let mut never = schedule("quic(threshold=100, reordering=0)");
    assert_eq!(at_once(&mut never, 0, [0, 2, 9, 5]), [false; 4]);
}

/// One packet arrives after the other, in any order, some twice; the acknowledgements' timer runs between them. Gives, for each
/// packet, when it came and when an acknowledgement reported it, and the numbers of packets that acknowledgements reported in turn.
fn deliver(text: &str, packets: &[(u64, u64)]) -> (Vec<(Time, Time)>, Vec<u64>) {
    let mut schedule = schedule(text);
    let (mut now, mut due, mut reported) = (Time::ZERO, Time::NEVER, Vec::new());
    let (mut waits, mut totals): (Vec<Time>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut tell = |now: Time, waits: &mut Vec<Time>, schedule: &mut AckSchedule| {
        schedule.on_acknowledged();
        reported.extend(waits.drain(..).map(|since| (since, now)));
        totals.push(reported.len() as u64);
    };
    for &(gap_ms, segment) in packets {
        let arrives = now + Span::from_millis(gap_ms);
        if due <= arrives {
            schedule.on_timer();
            tell(due, &mut waits, &mut schedule);
            due = Time::NEVER;
        }
        now = arrives;
        waits.push(now);
        match schedule.on_packet(now, now, segment, segment).expect("in time") {
            Due::Now => {
                tell(now, &mut waits, &mut schedule);
                due = Time::NEVER;
            }
            Due::By(time) => due = due.min(time),
        }
    }
    if due < Time::NEVER {
        tell(due, &mut waits, &mut schedule);
    }
    assert!(waits.is_empty(), "the last packets are acknowledged, too");
    (reported, totals)
}

proptest! {
    #[test]
    fn every_packet_is_acknowledged_within_the_delay_and_no_acknowledgement_takes_another_back(
        packets in prop::collection::vec((0_u64..400, 0_u64..60), 1..200),
        in_order in any::<bool>(),
        text in prop::sample::select(vec![
            "every-packet", "delayed", "delayed(min=10ms, max=50ms, quick-acks=0)", "quic",
            "quic(threshold=10, max-ack-delay=25ms)", "quic(threshold=1000, reordering=5)", "quic(reordering=0)",
        ]),
    ) {
        let packets: Vec<(u64, u64)> = match in_order {
            true => packets.iter().zip(0..).map(|(&(gap, _), segment)| (gap, segment)).collect(),
            false => packets,
        };
        let policy: AckPolicy = text.parse().expect("a policy");
        let (reported, totals) = deliver(text, &packets);
        prop_assert_eq!(reported.len(), packets.len());
        for (came, acknowledged) in reported {
            prop_assert!(acknowledged.since(came) <= policy.max_delay(), "{}", acknowledged.since(came));
        }
        prop_assert!(totals.is_sorted_by(|before, after| before < after), "each tells of something new");
    }

    #[test]
    fn tcp_never_leaves_two_segments_in_order_without_an_acknowledgement(count in 1_u64..100, gap_ms in 0_u64..50) {
        let mut linux = settled();
        let mut waiting = 0;
        for segment in 16..16 + count {
            let now = at(16 + gap_ms * segment);
            let due = linux.on_packet(now, now, segment, segment).expect("in time");
            waiting += 1;
            if due == Due::Now {
                linux.on_acknowledged();
                waiting = 0;
            }
            prop_assert!(waiting < 2);
        }
    }
}

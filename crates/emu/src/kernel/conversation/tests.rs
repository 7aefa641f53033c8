use super::*;
use crate::kernel::packet::{parse, tests::built};
use crate::realtime::fixtures::{self, at};
use cellcc_experiment::Delivery;
use cellcc_units::{Bytes, Span};

/// The kernel's first number is random; this one wraps after 2000 bytes.
const BEGIN: u32 = u32::MAX - 2000 + 1;

/// A flow of ten seconds, before its first packet.
pub(crate) fn unseen(source: &str) -> Conversation {
    let setup = fixtures::flow(source);
    Conversation::new(&fixtures::scenario("kernel", &setup), &setup)
}

fn conversation(source: &str) -> Conversation {
    let mut conversation = unseen(source);
    conversation.on(at(0), &Seen::Opened { data_from: BEGIN });
    conversation
}

/// Segment `number` of 1000 bytes.
fn sent(conversation: &mut Conversation, millis: u64, number: u32) {
    let sequence = BEGIN.wrapping_add(number * 1000);
    conversation.on(at(millis), &Seen::Sent { sequence, payload: 1000 });
}

fn delivered(conversation: &mut Conversation, millis: u64, number: u32) {
    let delivery = Delivery {
        bytes: Bytes::new(1052),
        sent_at: at(millis - 20),
        queued_at: at(millis - 20),
        departed_at: at(millis - 10),
        arrived_at: at(millis),
    };
    let sequence = BEGIN.wrapping_add(number * 1000);
    conversation.on(at(millis), &Seen::Delivered { sequence, payload: 1000, delivery });
}

/// An acknowledgement of everything before segment `next`, with segments that were received beyond it.
fn acknowledged(conversation: &mut Conversation, millis: u64, next: u32, beyond: &[(u32, u32)]) {
    let edge = |number: u32| BEGIN.wrapping_add(number * 1000);
    let blocks: Vec<_> = beyond.iter().map(|&(left, right)| (edge(left), edge(right))).collect();
    let headers = parse(&built((1, 2), 0, edge(next), 0x10, &blocks)).unwrap();
    let seen = Seen::Acknowledged { next: headers.acknowledgement.unwrap(), sacks: headers.sacks };
    conversation.on(at(millis), &seen);
}

/// Number of RTT samples, and their mean and largest in ms.
fn rtts(conversation: &Conversation) -> (u64, f64, f64) {
    let rtt = conversation.meter.rtt();
    let summary = rtt.summary();
    (rtt.count(), summary.map_or(0.0, |it| it.mean_ms), summary.map_or(0.0, |it| it.max_ms.round()))
}

#[test]
fn an_acknowledgement_gives_the_time_of_the_newest_segment_for_all_that_it_covers() {
    let mut flow = conversation("bulk");
    sent(&mut flow, 0, 0);
    sent(&mut flow, 5, 1);
    acknowledged(&mut flow, 25, 2, &[]);
    assert_eq!(rtts(&flow), (2, 20.0, 20.0));
    acknowledged(&mut flow, 30, 2, &[]);
    assert_eq!(rtts(&flow).0, 2, "a second acknowledgement of the same says nothing");
}

#[test]
fn sequence_numbers_wrap() {
    let mut flow = conversation("bulk");
    for number in 0..5 {
        sent(&mut flow, u64::from(number), number);
    }
    acknowledged(&mut flow, 30, 1, &[]);
    acknowledged(&mut flow, 34, 5, &[]);
    assert_eq!(rtts(&flow), (5, 30.0, 30.0));
    let metrics = flow.meter.metrics(Bytes::ZERO, Span::ZERO);
    assert_eq!((metrics.sent_packets, metrics.retransmitted_packets), (5, 0));
}

#[test]
fn a_retransmission_is_counted_and_gives_no_sample() {
    let mut flow = conversation("bulk");
    sent(&mut flow, 0, 0);
    sent(&mut flow, 50, 0);
    acknowledged(&mut flow, 70, 1, &[]);
    assert_eq!(rtts(&flow).0, 0);
    assert_eq!(flow.meter.metrics(Bytes::ZERO, Span::ZERO).retransmitted_packets, 1);
}

#[test]
fn a_segment_counts_when_it_is_sacked_and_not_again_when_the_gap_before_it_closes() {
    let mut flow = conversation("bulk");
    (0..3).for_each(|number| sent(&mut flow, 0, number));
    flow.on(at(0), &Seen::Lost);
    acknowledged(&mut flow, 20, 0, &[(1, 2)]);
    acknowledged(&mut flow, 30, 0, &[(1, 3)]);
    sent(&mut flow, 40, 0);
    acknowledged(&mut flow, 90, 3, &[]);
    assert_eq!(rtts(&flow), (2, 25.0, 30.0));
    let metrics = flow.meter.metrics(Bytes::ZERO, Span::ZERO);
    assert_eq!((metrics.sent_packets, metrics.lost_packets, metrics.retransmitted_packets), (4, 1, 1));
}

#[test]
fn what_arrives_is_measured_at_the_link() {
    let mut flow = conversation("bulk");
    sent(&mut flow, 0, 0);
    delivered(&mut flow, 20, 0);
    let metrics = flow.meter.metrics(Bytes::new(1052), Span::from_secs(1));
    assert_eq!((metrics.utilisation, metrics.queueing_delay_mean_ms), (1.0, Some(10.0)));
    assert_eq!(metrics.one_way_delay_mean_ms, Some(20.0));
}

#[test]
fn a_sized_flow_is_complete_when_its_last_byte_is_acknowledged() {
    let mut flow = conversation("sized(3000B)");
    (0..3).for_each(|number| sent(&mut flow, 0, number));
    acknowledged(&mut flow, 20, 2, &[]);
    assert_eq!(flow.completed_at(), None);
    acknowledged(&mut flow, 30, 3, &[]);
    acknowledged(&mut flow, 40, 3, &[]);
    assert_eq!((flow.completed_at(), flow.active()), (Some(at(30)), (at(0), at(30))));
}

#[test]
fn a_frame_is_whole_when_tcp_can_hand_it_over() {
    // 60 frames of 1000 bytes a second; the first two are sent, and the second arrives before the first.
    let mut flow = conversation("frames(480kbit/s,40ms)");
    sent(&mut flow, 0, 0);
    sent(&mut flow, 17, 1);
    delivered(&mut flow, 37, 1);
    delivered(&mut flow, 50, 0);
    let (frames, missed) = flow.frames().unwrap();
    let in_time = ((1.0 - missed) * frames as f64).round();
    assert_eq!(
        in_time, 1.0,
        "the first came 50 ms after its creation, the second with it, 33 ms after its own"
    );
}

#[test]
fn what_happens_after_the_end_is_no_part_of_the_flow() {
    let mut flow = conversation("bulk");
    sent(&mut flow, 9_990, 0);
    sent(&mut flow, 10_001, 1);
    acknowledged(&mut flow, 10_010, 1, &[]);
    assert_eq!((rtts(&flow).0, flow.meter.metrics(Bytes::ZERO, Span::ZERO).sent_packets), (0, 1));
    delivered(&mut flow, 10_005, 0);
    delivered(&mut flow, 10_025, 1);
    assert_eq!(flow.meter.delivered(), Bytes::new(1052), "only what left the link before the end counts");
}

use super::*;
use crate::CoDel;
use cellcc_units::{QueueLimit, Span};

/// A packet of a flow, with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OfFlow {
    flow: u64,
    number: u64,
    size: u64,
}

impl Packet for OfFlow {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn flow(&self) -> u64 {
        self.flow
    }
}

const QUANTUM: FqCoDel = FqCoDel { quantum: Bytes::new(1500), ..FqCoDel::DEFAULT };

fn packet(flow: u64, number: u64) -> OfFlow {
    OfFlow { flow, number, size: 1500 }
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Queues `count` packets of each flow at time zero.
fn filled(settings: FqCoDel, flows: &[(u64, u64)]) -> FlowQueues<OfFlow> {
    let mut queues = FlowQueues::new(settings);
    for &(flow, count) in flows {
        (0..count).for_each(|number| queues.push(Time::ZERO, packet(flow, number), Bytes::ZERO).unwrap());
    }
    queues
}

/// The flows of the next packets.
fn served(queues: &mut FlowQueues<OfFlow>, count: usize) -> Vec<u64> {
    (0..count).map_while(|_| queues.next(Time::ZERO)).map(|next| next.packet.flow).collect()
}

#[test]
fn flows_take_turns_of_a_quantum() {
    let mut queues = filled(QUANTUM, &[(1, 4), (2, 4), (3, 2)]);
    assert_eq!(served(&mut queues, 20), [1, 2, 3, 1, 2, 3, 1, 2, 1, 2]);
    assert_eq!((queues.len(), queues.bytes(), queues.oldest()), (0, Bytes::ZERO, None));
}

#[test]
fn a_quantum_counts_bytes_and_what_is_sent_beyond_it_is_taken_off_the_next_turn() {
    let mut queues = FlowQueues::new(QUANTUM);
    for number in 0..12 {
        queues.push(Time::ZERO, OfFlow { size: 500, ..packet(1, number) }, Bytes::ZERO).unwrap();
        queues.push(Time::ZERO, OfFlow { size: 1000, ..packet(2, number) }, Bytes::ZERO).unwrap();
    }
    // Three of 500 bytes make a quantum; of 1000 bytes two and one in turn do.
    assert_eq!(served(&mut queues, 12), [1, 1, 1, 2, 2, 1, 1, 1, 2, 1, 1, 1]);
}

#[test]
fn a_flow_that_was_silent_comes_before_those_that_have_had_their_turn() {
    let mut queues = filled(QUANTUM, &[(1, 10), (2, 10)]);
    assert_eq!(served(&mut queues, 3), [1, 2, 1]);
    queues.push(Time::ZERO, packet(7, 0), Bytes::ZERO).unwrap();
    assert_eq!(served(&mut queues, 2), [7, 2]);
}

#[test]
fn a_flow_that_has_sent_its_packet_waits_for_a_round_before_it_is_new_again() {
    let mut queues = filled(QUANTUM, &[(1, 10), (2, 10)]);
    assert_eq!(served(&mut queues, 2), [1, 2]);
    // Its queue is empty after each of its packets, but has not left the list of old ones.
    queues.push(Time::ZERO, packet(7, 0), Bytes::ZERO).unwrap();
    assert_eq!(served(&mut queues, 1), [7]);
    queues.push(Time::ZERO, packet(7, 1), Bytes::ZERO).unwrap();
    assert_eq!(served(&mut queues, 3), [1, 2, 7]);
}

#[test]
fn flows_whose_numbers_differ_by_the_count_of_queues_share_one() {
    let mut queues = filled(FqCoDel { queues: 4, ..QUANTUM }, &[(1, 2), (5, 2), (2, 4)]);
    assert_eq!(served(&mut queues, 8), [1, 2, 1, 2, 5, 2, 5, 2]);
}

#[test]
fn at_the_limit_half_of_the_longest_queue_goes_and_at_most_64_packets() {
    for (count, dropped) in [(10, 5), (11, 6), (1000, 64)] {
        let mut queues = filled(QUANTUM, &[(1, 3), (2, count)]);
        assert!(queues.make_room(millis(5), &packet(1, 3)));
        let drops: Vec<_> = std::iter::from_fn(|| queues.next_drop()).collect();
        assert_eq!(
            drops.iter().map(|drop| drop.packet.number).collect::<Vec<_>>(),
            (0..dropped).collect::<Vec<_>>()
        );
        assert!(drops.iter().all(|drop| drop.packet.flow == 2 && drop.at == millis(5)));
        assert_eq!(queues.len() as u64, 3 + count - dropped);
    }
}

#[test]
fn a_packet_that_is_itself_the_longest_queue_is_not_admitted() {
    let mut queues = FlowQueues::new(QUANTUM);
    queues.push(Time::ZERO, OfFlow { size: 100, ..packet(1, 0) }, Bytes::ZERO).unwrap();
    assert!(!queues.make_room(Time::ZERO, &packet(2, 0)));
    assert!(!FlowQueues::new(QUANTUM).make_room(Time::ZERO, &packet(0, 0)));
    assert_eq!(queues.len(), 1);
}

#[test]
fn each_queue_has_a_codel_of_its_own() {
    // Flow 1 has a standing queue; flow 2 a packet now and then, which finds the queue of flow 1 long.
    let codel = CoDel { limit: QueueLimit::Unlimited, ..CoDel::DEFAULT };
    let mut queues = filled(FqCoDel { codel, ..QUANTUM }, &[(1, 2000)]);
    for now in 10..480 {
        if now % 10 == 0 {
            queues.push(millis(now), packet(2, now), Bytes::ZERO).unwrap();
        }
        assert!(queues.next(millis(now)).is_some());
    }
    let drops: Vec<_> = std::iter::from_fn(|| queues.next_drop()).collect();
    assert!(drops.iter().all(|drop| drop.packet.flow == 1));
    assert_eq!(drops.len(), 7, "as of CoDel alone");
}

#[test]
fn packets_that_came_after_the_beginning_of_a_slot_wait_for_the_next() {
    let mut queues = FlowQueues::new(QUANTUM);
    queues.push(millis(2), packet(1, 0), Bytes::ZERO).unwrap();
    queues.push(millis(3), packet(2, 0), Bytes::ZERO).unwrap();
    assert!(queues.next(millis(1)).is_none());
    assert_eq!(queues.next(millis(2)).map(|next| next.packet.flow), Some(1));
    assert!(queues.next(millis(2)).is_none());
    assert_eq!(queues.next(millis(3)).map(|next| next.packet.flow), Some(2));
}

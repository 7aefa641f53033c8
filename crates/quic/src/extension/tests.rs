//! Two ends of a connection that loses, reorders, repeats and garbles their messages.

use super::*;
use cellcc_control::{Controller, Observed};
use cellcc_schemes::{Estimation, RateFeedback, RateSignal};
use cellcc_units::{Bytes, Rate};
use proptest::prelude::*;

const RTT: Span = Span::from_millis(30);
const PACKET: Bytes = Bytes::new(1500);

fn scheme(text: &str) -> Scheme {
    cellcc_schemes::registry().parse(text).unwrap()
}

/// A sender and a receiver, and the messages on their way between them.
struct Talk {
    now: Time,
    sender: Extension,
    controller: Box<dyn Controller>,
    receiver: Extension,
    totals: Totals,
    to_receiver: Vec<Vec<u8>>,
    to_sender: Vec<Vec<u8>>,
    /// The feedback that the controller has taken.
    feedback: Vec<Feedback>,
    found: bool,
}

impl Talk {
    fn new(scheme_text: &str) -> Self {
        let mut sender = Extension::new(cellcc_schemes::registry());
        sender.begin_flow(Time::ZERO, &scheme(scheme_text));
        let mut talk = Self {
            now: Time::ZERO,
            sender,
            controller: scheme(scheme_text).build(&receiver_role::CONTEXT),
            receiver: Extension::new(cellcc_schemes::registry()),
            totals: Totals::default(),
            to_receiver: Vec::new(),
            to_sender: Vec::new(),
            feedback: Vec::new(),
            found: false,
        };
        talk.poll();
        talk
    }

    fn poll(&mut self) {
        while let Some(datagram) = self.sender.poll_transmit(self.now, RTT) {
            self.to_receiver.push(datagram);
        }
        while let Some(datagram) = self.receiver.poll_transmit(self.now, RTT) {
            self.to_sender.push(datagram);
        }
    }

    /// Advances one poll interval per step, with this many packets each.
    fn pass(&mut self, span: Span, packets: u64) {
        let end = self.now + span;
        while self.now < end {
            self.now += POLL_INTERVAL;
            self.totals.received_datagrams += packets;
            self.totals.received += PACKET * packets;
            self.totals.sent += PACKET * packets;
            self.receiver.on_totals(self.now, self.totals);
            self.poll();
        }
    }

    fn give_receiver(&mut self, datagram: &[u8]) {
        self.receiver.on_datagram(self.now, self.totals, datagram);
        self.poll();
    }

    fn give_sender(&mut self, datagram: &[u8]) {
        match self.sender.on_datagram(self.now, self.totals, datagram) {
            Received::Found => self.found = true,
            Received::Feedback(feedback) => {
                let verdict = self.controller.on_feedback(self.now, &feedback, self.totals.sent);
                self.sender.count(verdict);
                self.feedback.extend((verdict == Verdict::Taken).then_some(feedback));
            }
            Received::Nothing | Received::NotOurs | Received::Marked(_) => {}
        }
        self.poll();
    }

    /// All that is on its way arrives.
    fn deliver(&mut self) {
        for datagram in std::mem::take(&mut self.to_receiver) {
            self.give_receiver(&datagram);
        }
        for datagram in std::mem::take(&mut self.to_sender) {
            self.give_sender(&datagram);
        }
    }

    fn tell(&mut self, estimation: Estimation, epoch: u32) {
        let signal = self.sender.signal(RateSignal { estimation, epoch }.encode());
        self.to_receiver.extend(signal);
    }

    fn is_frozen(&self) -> bool {
        let mut observed = Observed::default();
        self.receiver.component_here().expect("it runs").observe(&mut observed);
        observed.values.contains(&("frozen".to_owned(), 1.0))
    }

    fn rates(&self) -> Vec<RateFeedback> {
        self.feedback.iter().map(|feedback| RateFeedback::decode(feedback).expect("taken")).collect()
    }
}

#[test]
fn the_ends_agree_and_the_rate_comes_back() {
    let mut talk = Talk::new("rbbr(alpha=0.3)");
    assert_eq!(talk.sender.peer_component(), PeerComponent::Offered);
    talk.deliver();
    assert_eq!(talk.sender.peer_component(), PeerComponent::Found { version: 1 });
    assert_eq!(talk.receiver.scheme_here(), Some("rbbr(alpha=0.3)"));
    talk.tell(Estimation::Run, 1);
    talk.deliver();
    // Four packets of 1500 bytes in 2 ms: 24 Mbit/s.
    talk.pass(Span::from_millis(200), 4);
    talk.deliver();
    let newest = talk.rates().pop().expect("feedback");
    assert_eq!(newest.rate, Some(Rate::from_mbit_per_sec(24.0)));
    assert!((17..=20).contains(&talk.rates().len()), "every 10 ms: {}", talk.rates().len());
}

#[test]
fn below_20_mbit_per_second_feedback_takes_its_time_and_on_a_silent_path_it_ends() {
    let mut talk = Talk::new("rbbr");
    talk.deliver();
    talk.pass(Span::from_secs(1), 1);
    assert!((48..=51).contains(&talk.to_sender.len()), "{}", talk.to_sender.len());
    talk.to_sender.clear();
    talk.pass(Span::from_secs(1), 0);
    assert!(talk.to_sender.len() <= 1);
}

#[test]
fn offers_that_are_not_answered_are_given_up_and_a_late_answer_still_counts() {
    let mut talk = Talk::new("rbbr");
    talk.pass(Span::from_secs(2), 0);
    assert_eq!(talk.to_receiver.len(), MAX_OFFERS as usize);
    assert_eq!(talk.sender.peer_component(), PeerComponent::Unanswered);
    assert!(talk.sender.peer_component().is_missing());
    assert_eq!(talk.sender.next_wake(), None);
    talk.deliver();
    assert_eq!(talk.sender.peer_component(), PeerComponent::Found { version: 1 });
}

#[test]
fn a_component_whose_answer_was_lost_is_found_by_its_feedback() {
    let mut talk = Talk::new("rbbr");
    let offer = talk.to_receiver.remove(0);
    talk.give_receiver(&offer);
    talk.to_sender.clear();
    talk.pass(Span::from_millis(50), 4);
    talk.to_receiver.clear();
    talk.deliver();
    assert_eq!(talk.sender.peer_component(), PeerComponent::Found { version: 1 });
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let answer_to = |versions: &[u8], scheme: &str| {
        let body = Body::Offer { versions: versions.to_vec(), scheme: scheme.into() };
        let mut receiver = Extension::new(cellcc_schemes::registry());
        receiver.on_datagram(Time::ZERO, Totals::default(), &Message { flow: 0, body }.encode());
        assert!(!receiver.wants_totals());
        Message::decode(&receiver.poll_transmit(Time::ZERO, RTT).expect("an answer")).unwrap().body
    };
    assert_eq!(answer_to(&[2, 3], "rbbr"), Body::Answer(Err(Refusal::Version)));
    assert_eq!(answer_to(&[1], "rbbr(alpha=2)"), Body::Answer(Err(Refusal::UnknownScheme)));
    assert_eq!(answer_to(&[1], "cubic"), Body::Answer(Err(Refusal::NoComponent)));
}

#[test]
fn a_scheme_without_a_component_asks_for_none() {
    let mut talk = Talk::new("cubic");
    assert_eq!(talk.sender.peer_component(), PeerComponent::NotNeeded);
    assert!(talk.to_receiver.is_empty());
    assert_eq!(talk.sender.signal(RateSignal { estimation: Estimation::Run, epoch: 0 }.encode()), None);
    talk.deliver();
}

#[test]
fn a_new_flow_gets_a_new_component_and_the_old_ones_messages_count_no_more() {
    let mut talk = Talk::new("rbbr");
    talk.deliver();
    talk.tell(Estimation::Run, 9);
    let old_signal = talk.to_receiver[0].clone();
    talk.deliver();
    talk.pass(Span::from_millis(50), 4);
    let old_feedback = talk.to_sender.clone();
    assert!(!old_feedback.is_empty() && !talk.is_frozen());
    talk.sender.begin_flow(talk.now, &scheme("rbbr"));
    talk.poll();
    talk.to_sender.clear();
    talk.deliver();
    assert_eq!(talk.sender.peer_component(), PeerComponent::Found { version: 1 });
    assert!(talk.is_frozen(), "nothing was reported to it");
    talk.give_receiver(&old_signal);
    talk.give_sender(&old_feedback[0]);
    talk.pass(Span::from_millis(10), 4);
    assert!(talk.is_frozen());
    assert!(talk.feedback.is_empty());
    assert_eq!((talk.receiver.counters().stale, talk.sender.counters().stale), (1, 1));
}

#[test]
fn a_receiver_that_claims_more_than_was_sent_is_not_heard() {
    let mut talk = Talk::new("rbbr");
    talk.deliver();
    talk.pass(Span::from_millis(40), 4);
    talk.totals.sent = PACKET;
    talk.deliver();
    assert!(talk.feedback.is_empty());
    assert!(talk.sender.counters().implausible > 0);
}

#[test]
fn a_count_of_flows_is_reported_when_it_changes_and_ten_times_a_second() {
    let mut talk = Talk::new("natcp(fairness=report)");
    talk.deliver();
    talk.pass(Span::from_secs(1), 4);
    talk.receiver.on_user_flows(talk.now, 3);
    talk.pass(Span::from_millis(30), 4);
    talk.deliver();
    // The controller took the one new message of those that came.
    assert_eq!(talk.feedback, [Feedback::new(&[1, 3]).expect("a change, three flows")]);
    let counters = talk.sender.counters();
    assert!((10..=12).contains(&(counters.received + counters.stale - 1)), "{counters:?}");
}

#[derive(Debug, Clone)]
enum Step {
    Pass(u64, u64),
    Tell(Estimation),
    /// One of those on their way to the receiver or to the sender arrives; it may stay, to come again.
    Deliver(bool, prop::sample::Index, bool),
    Garbage(bool, Vec<u8>),
    Flipped(bool, prop::sample::Index, prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let estimation =
        prop_oneof![Just(Estimation::Run), Just(Estimation::RaiseOnly), Just(Estimation::Suspend)];
    let index = any::<prop::sample::Index>;
    prop_oneof![
        2 => (0u64..60, 0u64..6).prop_map(|(ms, packets)| Step::Pass(ms, packets)),
        2 => estimation.prop_map(Step::Tell),
        6 => (any::<bool>(), index(), any::<bool>()).prop_map(|(up, index, stays)| Step::Deliver(up, index, stays)),
        1 => (any::<bool>(), prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(up, mut bytes)| {
            bytes.insert(0, CONTEXT);
            Step::Garbage(up, bytes)
        }),
        1 => (any::<bool>(), index(), index()).prop_map(|(up, index, bit)| Step::Flipped(up, index, bit)),
    ]
}

fn heard(counters: Counters) -> u64 {
    let Counters { received, malformed, unknown_kinds, stale, unexpected, implausible, sent: _ } = counters;
    received + malformed + unknown_kinds + stale + unexpected + implausible
}

proptest! {
    #[test]
    fn whatever_a_network_does_to_honest_ends_the_newest_wins(steps in prop::collection::vec(step(), 0..120)) {
        let mut talk = Talk::new("rbbr");
        let mut epoch = 0;
        let mut newest_reported: Option<(u32, Estimation)> = None;
        let mut is_answered = false;
        for step in steps {
            match step {
                Step::Pass(ms, packets) => talk.pass(Span::from_millis(ms), packets),
                Step::Tell(estimation) => {
                    epoch += 1;
                    talk.tell(estimation, epoch);
                }
                Step::Deliver(up, index, stays) => {
                    let list = if up { &mut talk.to_receiver } else { &mut talk.to_sender };
                    if list.is_empty() {
                        continue;
                    }
                    let index = index.index(list.len());
                    let datagram = if stays { list[index].clone() } else { list.swap_remove(index) };
                    if up {
                        if let Body::Signal(signal) = Message::decode(&datagram).unwrap().body {
                            let signal = RateSignal::decode(&signal).unwrap();
                            let reported = (signal.epoch, signal.estimation);
                            newest_reported = Some(newest_reported.map_or(reported, |newest| if reported.0 > newest.0 { reported } else { newest }));
                        }
                        talk.give_receiver(&datagram);
                    } else {
                        is_answered = true;
                        talk.give_sender(&datagram);
                    }
                }
                // Messages that honest ends never send are for the next test.
                Step::Garbage(..) | Step::Flipped(..) => {}
            }
        }
        prop_assert_eq!(talk.found, is_answered);
        prop_assert_eq!(matches!(talk.sender.peer_component(), PeerComponent::Found { .. }), is_answered);
        let sequences: Vec<_> = talk.rates().iter().map(|rate| rate.sequence).collect();
        prop_assert!(sequences.is_sorted_by(|a, b| a < b), "{:?}", sequences);
        if talk.receiver.component_here().is_some() {
            talk.pass(POLL_INTERVAL, 1);
            let is_suspended = newest_reported.is_none_or(|(_, estimation)| estimation == Estimation::Suspend);
            prop_assert_eq!(talk.is_frozen(), is_suspended);
        }
    }

    #[test]
    fn every_datagram_counts_once_whichever_end_made_it(steps in prop::collection::vec(step(), 0..120)) {
        let mut talk = Talk::new("rbbr");
        let (mut up, mut down) = (0, 0);
        for step in steps {
            let (to_receiver, datagram) = match step {
                Step::Pass(ms, packets) => {
                    talk.pass(Span::from_millis(ms), packets);
                    continue;
                }
                Step::Tell(estimation) => {
                    talk.tell(estimation, 1);
                    continue;
                }
                Step::Garbage(to_receiver, bytes) => (to_receiver, bytes),
                // Here messages also come to the end that they are not for.
                Step::Deliver(to_receiver, index, from_sender) => {
                    let list = if from_sender { &talk.to_receiver } else { &talk.to_sender };
                    if list.is_empty() {
                        continue;
                    }
                    (to_receiver, index.get(list).clone())
                }
                Step::Flipped(to_receiver, index, bit) => {
                    let list = if to_receiver { &talk.to_receiver } else { &talk.to_sender };
                    if list.is_empty() {
                        continue;
                    }
                    let mut datagram = index.get(list).clone();
                    let bit = 8 + bit.index(8 * (datagram.len() - 1));
                    datagram[bit / 8] ^= 1 << (bit % 8);
                    (to_receiver, datagram)
                }
            };
            if to_receiver {
                up += 1;
                talk.give_receiver(&datagram);
            } else {
                down += 1;
                talk.give_sender(&datagram);
            }
        }
        // A component opens the last signal with the next packet. An offer that came back makes the sender also run one.
        talk.pass(POLL_INTERVAL, 1);
        talk.sender.on_totals(talk.now, talk.totals);
        prop_assert_eq!(heard(talk.receiver.counters()), up);
        prop_assert_eq!(heard(talk.sender.counters()), down);
    }
}

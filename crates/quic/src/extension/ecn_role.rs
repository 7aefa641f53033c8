//! The exchange about ECN codepoints: the sender asks the peer to map them, and the peer says what arrived.

use super::message::{Body, Message};
use super::sender_role::{MAX_OFFERS, MIN_OFFER_INTERVAL};
use crate::ecn::{EcnCounts, EcnMap, L4s};
use cellcc_units::{Bytes, Span, Time};

/// Interval between counts while marks come. Our choice: within a round trip on most paths.
const MARKED_INTERVAL: Span = Span::from_millis(10);
/// The interval without marks. Our choice.
const UNMARKED_INTERVAL: Span = Span::from_millis(100);
/// Where so many datagrams have left with ECT(1) and none has arrived, the path drops them (RFC 9000, section A.4), ...
const FIRST_DATAGRAMS: u64 = 10;
/// ... after this time, or three round trips where those are longer. Our choice.
const LEAST_TEST: Span = Span::from_secs(1);
/// Datagrams that must arrive between two messages: more than the acknowledgement of a message, so that an idle connection
/// sends none.
const MIN_DATAGRAMS: u64 = 2;

/// The sender's side.
#[derive(Debug)]
pub(super) struct EcnAsker {
    flow: u32,
    state: L4s,
    asked: u32,
    ask_at: Time,
    /// The deadline for the first packet that arrives with ECT(1).
    test_ends_at: Option<Time>,
    /// The most that the peer has counted, since messages overtake each other.
    newest: EcnCounts,
}

impl EcnAsker {
    pub(super) fn new(now: Time, flow: u32, state: L4s) -> Self {
        Self { flow, state, asked: 0, ask_at: now, test_ends_at: None, newest: EcnCounts::default() }
    }

    pub(super) fn flow(&self) -> u32 {
        self.flow
    }

    pub(super) fn state(&self) -> L4s {
        self.state
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        match self.state {
            L4s::Asked => Some(self.ask_at),
            L4s::On if self.is_untested() => Some(self.test_ends_at.unwrap_or(Time::ZERO)),
            _ => None,
        }
    }

    fn is_untested(&self) -> bool {
        self.newest.ect1 + self.newest.ce == 0
    }

    /// Gives up where nothing has arrived with ECT(1) in the time for it.
    fn test(&mut self, now: Time, rtt: Span, map: &EcnMap) {
        let next = now + LEAST_TEST.max(rtt * 3);
        let ends_at = *self.test_ends_at.get_or_insert(next);
        if now >= ends_at {
            match map.sent().ect1 {
                ..FIRST_DATAGRAMS => self.test_ends_at = Some(next),
                _ => self.give_up(L4s::Dropped, map),
            }
        }
    }

    /// The question, if it is due.
    pub(super) fn poll(&mut self, now: Time, rtt: Span, map: &EcnMap) -> Option<Message> {
        if self.state == L4s::On && self.is_untested() {
            self.test(now, rtt, map);
        }
        if self.state != L4s::Asked || now < self.ask_at {
            return None;
        }
        if self.asked == MAX_OFFERS {
            self.give_up(L4s::Unanswered, map);
            return None;
        }
        self.asked += 1;
        self.ask_at = now + rtt.max(MIN_OFFER_INTERVAL);
        Some(Message { flow: self.flow, body: Body::EcnAsk })
    }

    pub(super) fn give_up(&mut self, why: L4s, map: &EcnMap) {
        self.state = why;
        map.send_not_ect();
    }

    /// The peer maps codepoints from now on. False if that was known, or is of no use any more.
    pub(super) fn on_ready(&mut self, map: &EcnMap) -> bool {
        let was_asked = self.state == L4s::Asked;
        if was_asked {
            self.state = L4s::On;
            map.send_ect1();
        }
        was_asked
    }

    /// The peer's counts. Returns the payload with CE so far, if that is news and marks are a signal on this path.
    pub(super) fn on_totals(&mut self, counts: EcnCounts, map: &EcnMap) -> Option<Bytes> {
        let is_news = self.state == L4s::On && counts.datagrams() > self.newest.datagrams();
        if !is_news {
            return None;
        }
        self.newest = counts;
        match map.judge(&counts) {
            L4s::On => Some(counts.ce_payload),
            unfit => {
                self.give_up(unfit, map);
                None
            }
        }
    }
}

/// The receiver's side.
#[derive(Debug)]
pub(super) struct EcnReporter {
    flow: u32,
    ready_is_due: bool,
    /// Arrivals before: the sender may not have counted them.
    base: EcnCounts,
    reported: EcnCounts,
    reported_at: Time,
    look_at: Time,
}

impl EcnReporter {
    /// Maps from now on, before the peer knows.
    pub(super) fn new(now: Time, flow: u32, map: &EcnMap) -> Self {
        map.hide_ect1();
        let base = map.received();
        Self {
            flow,
            ready_is_due: true,
            base,
            reported: EcnCounts::default(),
            reported_at: now,
            look_at: now,
        }
    }

    pub(super) fn flow(&self) -> u32 {
        self.flow
    }

    /// Answers a repeated question: the first answer was lost.
    pub(super) fn answer_again(&mut self) {
        self.ready_is_due = true;
    }

    pub(super) fn next_wake(&self) -> Time {
        if self.ready_is_due { Time::ZERO } else { self.look_at }
    }

    /// The answer or the counts, if they are due.
    pub(super) fn poll(&mut self, now: Time, map: &EcnMap) -> Option<Message> {
        let flow = self.flow;
        if std::mem::take(&mut self.ready_is_due) {
            return Some(Message { flow, body: Body::EcnReady });
        }
        if now < self.look_at {
            return None;
        }
        self.look_at = now + MARKED_INTERVAL;
        let counts = map.received().since(&self.base);
        let is_due = counts.ce > self.reported.ce || now.since(self.reported_at) >= UNMARKED_INTERVAL;
        if !is_due || counts.datagrams() < self.reported.datagrams() + MIN_DATAGRAMS {
            return None;
        }
        (self.reported, self.reported_at) = (counts, now);
        Some(Message { flow, body: Body::EcnTotals(counts) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Extension, Received, Totals};
    use super::*;
    use noq_proto::EcnCodepoint::{self, Ce, Ect0, Ect1};
    use std::sync::Arc;

    const RTT: Span = Span::from_millis(30);

    /// The path's effect on a datagram's codepoint; `None`: the datagram is lost.
    type Path = fn(Option<EcnCodepoint>) -> Option<Option<EcnCodepoint>>;

    /// Both ends, and noq's view of the codepoints.
    struct Talk {
        now: Time,
        sender: Extension,
        receiver: Extension,
        maps: [Arc<EcnMap>; 2],
        path: Path,
        /// noq's codepoint for its datagrams: ECT(0) until it gives ECN up.
        quic_sends: Option<EcnCodepoint>,
        marked: Bytes,
    }

    impl Talk {
        fn new(scheme: &str, path: Path) -> Self {
            let maps = [Arc::<EcnMap>::default(), Arc::default()];
            let end =
                |map: &Arc<EcnMap>| Extension::new(cellcc_schemes::registry()).with_ecn(Arc::clone(map));
            let (mut sender, receiver) = (end(&maps[0]), end(&maps[1]));
            sender.begin_flow(Time::ZERO, &cellcc_schemes::registry().parse(scheme).unwrap());
            Self {
                now: Time::ZERO,
                sender,
                receiver,
                maps,
                path,
                quic_sends: Some(Ect0),
                marked: Bytes::ZERO,
            }
        }

        /// noq sends a datagram. Gives the codepoints on the link and for noq at the other end.
        fn send(&self) -> (Option<EcnCodepoint>, Option<EcnCodepoint>) {
            let on_link = self.maps[0].outgoing(self.quic_sends, 1000);
            let arrives = (self.path)(on_link);
            (on_link, arrives.and_then(|ecn| self.maps[1].incoming(ecn, 1, 1000)))
        }

        /// A second with two datagrams each millisecond, and the messages.
        fn pass(&mut self) {
            for _ in 0..1000 {
                self.now += Span::from_millis(1);
                (0..2).for_each(|_| _ = self.send());
                while let Some(message) = self.sender.poll_transmit(self.now, RTT) {
                    self.receiver.on_datagram(self.now, Totals::default(), &message);
                }
                while let Some(message) = self.receiver.poll_transmit(self.now, RTT) {
                    let received = self.sender.on_datagram(self.now, Totals::default(), &message);
                    if let Received::Marked(payload) = received {
                        self.marked = payload;
                    }
                }
            }
        }
    }

    #[test]
    fn a_peer_that_maps_makes_the_sender_send_ect1_and_its_quic_never_sees_it() {
        let mut talk = Talk::new("prague", Some);
        assert_eq!(talk.send(), (Some(Ect0), Some(Ect0)));
        talk.pass();
        assert_eq!((talk.sender.l4s(), talk.send()), (L4s::On, (Some(Ect1), Some(Ect0))));
    }

    #[test]
    fn marks_reach_the_receivers_quic_and_the_senders_scheme() {
        let mut talk = Talk::new("prague", |ecn| Some(if ecn == Some(Ect1) { Some(Ce) } else { ecn }));
        talk.pass();
        assert_eq!((talk.sender.l4s(), talk.send()), (L4s::On, (Some(Ect1), Some(Ce))));
        // The last counts are at most ten milliseconds old, and the first datagrams left with ECT(0).
        let marked = talk.marked.get() / 1000;
        assert!((1970..=2000).contains(&marked), "{marked}");
    }

    #[test]
    fn a_path_that_erases_rewrites_or_drops_ect1_ends_ecn_and_is_named() {
        let erases: Path = |_| Some(None);
        let rewrites: Path = |ecn| Some(ecn.map(|_| Ect0));
        let drops: Path = |ecn| (ecn != Some(Ect1)).then_some(ecn);
        for (path, verdict) in [(erases, L4s::Bleached), (rewrites, L4s::Remarked), (drops, L4s::Dropped)] {
            let mut talk = Talk::new("prague", path);
            (0..2).for_each(|_| talk.pass());
            assert_eq!((talk.sender.l4s(), talk.send().0), (verdict, None));
            assert!(verdict.is_missing() && verdict.to_string().starts_with("no ECT(1)"));
        }
    }

    #[test]
    fn a_path_that_begins_to_erase_ect1_is_named_although_quic_gives_ecn_up_first() {
        let mut talk = Talk::new("prague", Some);
        talk.pass();
        (talk.path, talk.quic_sends) = (|_| Some(None), None);
        assert_eq!(talk.send().0, Some(Ect1));
        talk.pass();
        assert_eq!((talk.sender.l4s(), talk.send().0), (L4s::Bleached, None));
        // On a path that erases nothing, after a handover, the connection stays without.
        (talk.path, talk.quic_sends) = (Some, Some(Ect0));
        talk.sender.begin_flow(talk.now, &cellcc_schemes::registry().parse("prague").unwrap());
        talk.pass();
        assert_eq!((talk.sender.l4s(), talk.send().0), (L4s::Bleached, None));
    }

    #[test]
    fn lost_datagrams_are_no_fault_of_the_path() {
        let mut talk = Talk::new("prague", Some);
        talk.pass();
        (0..100).for_each(|_| _ = talk.maps[0].outgoing(Some(Ect0), 1000));
        talk.pass();
        assert_eq!(talk.sender.l4s(), L4s::On);
    }

    #[test]
    fn a_peer_that_maps_nothing_leaves_the_scheme_to_losses() {
        let mut talk = Talk::new("prague", Some);
        talk.receiver = Extension::new(cellcc_schemes::registry());
        (0..2).for_each(|_| talk.pass());
        assert_eq!((talk.sender.l4s(), talk.send().0), (L4s::Unanswered, None));
    }

    #[test]
    fn other_schemes_ask_nothing_and_keep_their_codepoint() {
        for scheme in ["cubic", "tide", "rbbr"] {
            let mut talk = Talk::new(scheme, Some);
            talk.pass();
            assert_eq!(
                (talk.sender.l4s(), talk.send()),
                (L4s::NotNeeded, (Some(Ect0), Some(Ect0))),
                "{scheme}"
            );
            assert_eq!(talk.receiver.ecn_reporter.map(|reporter| reporter.flow()), None);
        }
    }
}

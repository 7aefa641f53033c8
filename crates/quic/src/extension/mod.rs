//! Messages between a scheme and its receiver-side component, in DATAGRAM frames (RFC 9221). The two ends agree on a version
//! first. The extension carries the scheme's bytes and does not read them. With a peer that does not know the extension, the
//! scheme runs without the component.
//!
//! ```text
//!   sender                                 receiver
//!   OFFER rbbr(alpha=0.6)  ------------->  builds the component by its own registry
//!     (again every RTT, 10 times)  <-----  ANSWER version, or why not
//!   SIGNAL                 ------------->  with the next packet that arrives
//!     (when the scheme has one)
//!                          <-------------  FEEDBACK every 10 ms (20 ms below 20 Mbit/s) while data comes
//!   ECN_ASK                ------------->  from here on its QUIC sees ECT(0) for ECT(1)
//!     (as OFFER)           <-------------  ECN_READY
//!   sends ECT(1)           <-------------  ECN_TOTALS every 10 ms while marks come, else every 100 ms
//! ```
//! Both sides may send data: the two directions are independent of each other.
//!
//! [`Extension`] has no clock and no socket: its input is times, datagrams and totals, its output datagrams and feedback.
//!
//! | file | concept |
//! |---|---|
//! | `message` | the messages as bytes |
//! | `sender_role` | the sender's side: offers, answers, feedback |
//! | `receiver_role` | the receiver's side: the component that runs here, its arrivals and its feedback |
//! | `ecn_role` | ECN codepoints: the question, the answer, the counts |
//! | `totals` | arrivals, derived from totals |

mod ecn_role;
mod message;
mod receiver_role;
mod sender_role;
mod totals;

pub use message::{Body, CONTEXT, MAX_SCHEME_TEXT, Message, MessageError, Refusal};
pub use receiver_role::POLL_INTERVAL;
pub use sender_role::{MAX_OFFERS, PeerComponent};
pub use totals::Totals;

use crate::ecn::is_l4s;
use crate::ecn::{EcnMap, L4s};
use cellcc_control::{Feedback, ReceiverComponent, Registry, Scheme, Signal, Verdict};
use cellcc_units::{Bytes, Span, Time};
use ecn_role::{EcnAsker, EcnReporter};
use receiver_role::ReceiverRole;
use sender_role::{Reply, SenderRole};
use std::fmt;
use std::sync::Arc;

/// Counts of datagrams so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Messages to be sent.
    pub sent: u64,
    /// Messages that were used.
    pub received: u64,
    /// Datagrams with our context byte that neither the extension nor the scheme can decode.
    pub malformed: u64,
    /// Messages of a kind from a later version.
    pub unknown_kinds: u64,
    /// Messages that are older than the last one, or repeat it.
    pub stale: u64,
    /// Unexpected messages: feedback without an agreement, a signal without a component.
    pub unexpected: u64,
    /// Messages with impossible claims, such as more bytes received than were sent.
    pub implausible: u64,
}

/// The meaning of a datagram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Received {
    /// The datagram begins with another context byte: the application's.
    NotOurs,
    /// No event for the controller. The counters say why.
    Nothing,
    /// The peer runs the receiver-side component of our scheme: send it signals from now on.
    Found,
    /// Feedback for the controller. Pass its verdict to [`Extension::count`].
    Feedback(Feedback),
    /// The UDP payload that has reached the peer with CE since the flow began.
    Marked(Bytes),
}

/// Receiver-side components of one connection, in both directions.
///
/// After every call, call [`poll_transmit`](Self::poll_transmit) until it returns `None`, and come back at
/// [`next_wake`](Self::next_wake): first with totals, if it [`wants_totals`](Self::wants_totals).
pub struct Extension {
    registry: Registry,
    sender_role: Option<SenderRole>,
    receiver_role: Option<ReceiverRole>,
    /// The codepoints of the socket, if it maps them.
    ecn: Option<Arc<EcnMap>>,
    ecn_asker: Option<EcnAsker>,
    ecn_reporter: Option<EcnReporter>,
    user_flows: Option<u32>,
    next_flow: u32,
    counters: Counters,
}

impl Extension {
    /// An extension without flows. `registry`: the schemes whose components may run here.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            sender_role: None,
            receiver_role: None,
            ecn: None,
            ecn_asker: None,
            ecn_reporter: None,
            user_flows: None,
            next_flow: 0,
            counters: Counters::default(),
        }
    }

    /// Adds a socket that maps ECN codepoints.
    pub fn with_ecn(self, map: Arc<EcnMap>) -> Self {
        Self { ecn: Some(map), ..self }
    }

    /// A flow of ours begins. Offers the peer its scheme, if that has a receiver-side component and its text is no longer than
    /// [`MAX_SCHEME_TEXT`].
    pub fn begin_flow(&mut self, now: Time, scheme: &Scheme) {
        let has_component = scheme.build_receiver(&receiver_role::CONTEXT).is_some();
        let is_asked = has_component && scheme.text().len() <= MAX_SCHEME_TEXT;
        self.sender_role = is_asked.then(|| SenderRole::new(now, self.next_flow, scheme.text().into()));
        // Once a path has proved unfit for ECT(1), the connection's packets are Not-ECT on every path.
        let unfit = self.ecn_asker.as_ref().map(EcnAsker::state).filter(|state| state.is_missing());
        let state = unfit.unwrap_or(L4s::Asked);
        self.ecn_asker =
            (self.ecn.is_some() && is_l4s(scheme)).then(|| EcnAsker::new(now, self.next_flow, state));
        self.next_flow = self.next_flow.wrapping_add(1);
    }

    /// DATAGRAM frames cannot be sent on this connection.
    pub fn give_up_datagrams(&mut self) {
        if let Some(sender) = &mut self.sender_role {
            sender.give_up_datagrams();
        }
        if let (Some(asker), Some(map)) = (&mut self.ecn_asker, &self.ecn) {
            asker.give_up(L4s::Unanswered, map);
        }
    }

    /// Sets the receiving user's number of flows, over all its connections.
    pub fn on_user_flows(&mut self, now: Time, flows: u32) {
        self.user_flows = Some(flows);
        if let Some(receiver) = &mut self.receiver_role {
            receiver.on_user_flows(now, flows);
        }
    }

    /// True if a component runs here, which needs to know what arrives.
    pub fn wants_totals(&self) -> bool {
        self.scheme_here().is_some()
    }

    /// The connection's totals are `totals` now.
    pub fn on_totals(&mut self, now: Time, totals: Totals) {
        let verdict = self.receiver_role.as_mut().and_then(|receiver| receiver.on_totals(now, totals));
        verdict.into_iter().for_each(|verdict| self.count(verdict));
    }

    /// A datagram arrived. `totals` include it.
    pub fn on_datagram(&mut self, now: Time, totals: Totals, datagram: &[u8]) -> Received {
        let message = match Message::decode(datagram) {
            Ok(message) => message,
            Err(MessageError::NotOurs) => return Received::NotOurs,
            Err(MessageError::UnknownKind(_)) => {
                self.counters.unknown_kinds += 1;
                return Received::Nothing;
            }
            Err(_) => {
                self.counters.malformed += 1;
                return Received::Nothing;
            }
        };
        let Message { flow, body } = message;
        match body {
            Body::Offer { versions, scheme } => {
                self.on_offer(now, totals, flow, &versions, scheme);
                Received::Nothing
            }
            Body::Signal(signal) => {
                self.on_signal(flow, signal);
                Received::Nothing
            }
            Body::EcnAsk => {
                self.on_ecn_ask(now, flow);
                Received::Nothing
            }
            Body::EcnReady => {
                self.take_ecn(flow, |asker, map| asker.on_ready(map).then_some(Received::Nothing))
            }
            Body::EcnTotals(counts) => {
                self.take_ecn(flow, |asker, map| asker.on_totals(counts, map).map(Received::Marked))
            }
            Body::Answer(answer) => self.take(flow, |sender| sender.on_answer(answer)),
            Body::Feedback(feedback) => self.take(flow, |sender| sender.on_feedback(feedback)),
        }
    }

    fn on_offer(&mut self, now: Time, totals: Totals, flow: u32, versions: &[u8], scheme: String) {
        match &mut self.receiver_role {
            Some(receiver) if receiver.flow() == flow => {
                receiver.answer_again();
                self.counters.received += 1;
            }
            Some(receiver) if is_older(flow, receiver.flow()) => self.counters.stale += 1,
            _ => {
                let mut receiver = ReceiverRole::new(now, &self.registry, flow, versions, scheme, totals);
                if let Some(flows) = self.user_flows {
                    receiver.on_user_flows(now, flows);
                }
                let earlier = self.receiver_role.replace(receiver);
                // A signal of the earlier flow that waited for a packet is of no use any more.
                self.counters.stale += u64::from(earlier.is_some_and(|earlier| earlier.keeps_signal()));
                self.counters.received += 1;
            }
        }
    }

    /// Where the socket maps no codepoints, the question stays without an answer.
    fn on_ecn_ask(&mut self, now: Time, flow: u32) {
        let Some(map) = &self.ecn else {
            self.counters.unexpected += 1;
            return;
        };
        match &mut self.ecn_reporter {
            Some(reporter) if reporter.flow() == flow => reporter.answer_again(),
            Some(reporter) if is_older(flow, reporter.flow()) => {
                self.counters.stale += 1;
                return;
            }
            reporter => *reporter = Some(EcnReporter::new(now, flow, map)),
        }
        self.counters.received += 1;
    }

    fn take_ecn(
        &mut self,
        flow: u32,
        act: impl FnOnce(&mut EcnAsker, &EcnMap) -> Option<Received>,
    ) -> Received {
        let counter = match (&mut self.ecn_asker, &self.ecn) {
            (Some(asker), Some(map)) if asker.flow() == flow => {
                if let Some(received) = act(asker, map) {
                    self.counters.received += 1;
                    return received;
                }
                &mut self.counters.stale
            }
            (Some(asker), _) if is_older(flow, asker.flow()) => &mut self.counters.stale,
            _ => &mut self.counters.unexpected,
        };
        *counter += 1;
        Received::Nothing
    }

    fn on_signal(&mut self, flow: u32, signal: Signal) {
        match &mut self.receiver_role {
            Some(receiver) if receiver.flow() == flow && receiver.scheme().is_some() => {
                let verdict = receiver.on_signal(signal);
                verdict.into_iter().for_each(|verdict| self.count(verdict));
            }
            Some(receiver) if is_older(flow, receiver.flow()) => self.counters.stale += 1,
            _ => self.counters.unexpected += 1,
        }
    }

    /// Counts a message by its scheme's verdict.
    pub fn count(&mut self, verdict: Verdict) {
        let counter = match verdict {
            Verdict::Taken => &mut self.counters.received,
            Verdict::Stale => &mut self.counters.stale,
            Verdict::Malformed => &mut self.counters.malformed,
            Verdict::Untrue => &mut self.counters.implausible,
        };
        *counter += 1;
    }

    fn take(&mut self, flow: u32, act: impl FnOnce(&mut SenderRole) -> Reply) -> Received {
        let reply = match &mut self.sender_role {
            Some(sender) if sender.flow() == flow => act(sender),
            Some(sender) if is_older(flow, sender.flow()) => Reply::Stale,
            _ => Reply::Unexpected,
        };
        match reply {
            Reply::Feedback(feedback) => return Received::Feedback(feedback),
            Reply::Settled | Reply::Found => self.counters.received += 1,
            Reply::Unexpected => self.counters.unexpected += 1,
            Reply::Stale => self.counters.stale += 1,
        }
        if reply == Reply::Found { Received::Found } else { Received::Nothing }
    }

    /// The controller's signal as a datagram, if the peer runs the component.
    pub fn signal(&mut self, signal: Signal) -> Option<Vec<u8>> {
        let sender = self
            .sender_role
            .as_ref()
            .filter(|sender| matches!(sender.state(), PeerComponent::Found { .. }))?;
        self.counters.sent += 1;
        Some(Message { flow: sender.flow(), body: Body::Signal(signal) }.encode())
    }

    /// The next datagram that is due. `rtt`: how long an answer takes.
    pub fn poll_transmit(&mut self, now: Time, rtt: Span) -> Option<Vec<u8>> {
        let offer = self.sender_role.as_mut().and_then(|sender| sender.poll(now, rtt));
        let message =
            offer.or_else(|| self.receiver_role.as_mut()?.poll(now)).or_else(|| self.poll_ecn(now, rtt))?;
        self.counters.sent += 1;
        Some(message.encode())
    }

    fn poll_ecn(&mut self, now: Time, rtt: Span) -> Option<Message> {
        let map = self.ecn.as_ref()?;
        let asked = self.ecn_asker.as_mut().and_then(|asker| asker.poll(now, rtt, map));
        asked.or_else(|| self.ecn_reporter.as_mut()?.poll(now, map))
    }

    /// The time of the next poll; `None`: after the next datagram.
    pub fn next_wake(&self) -> Option<Time> {
        let sender = self.sender_role.as_ref().and_then(SenderRole::next_wake);
        let receiver = self.receiver_role.as_ref().and_then(ReceiverRole::next_wake);
        let asker = self.ecn_asker.as_ref().and_then(EcnAsker::next_wake);
        let reporter = self.ecn_reporter.as_ref().map(EcnReporter::next_wake);
        sender.into_iter().chain(receiver).chain(asker).chain(reporter).min()
    }

    /// The state of ECT(1) on our scheme's packets, if it wants that.
    pub fn l4s(&self) -> L4s {
        self.ecn_asker.as_ref().map_or(L4s::NotNeeded, EcnAsker::state)
    }

    /// The state of our scheme's receiver-side component at the peer.
    pub fn peer_component(&self) -> PeerComponent {
        self.sender_role.as_ref().map_or(PeerComponent::NotNeeded, SenderRole::state)
    }

    /// The scheme whose component runs here for the peer.
    pub fn scheme_here(&self) -> Option<&str> {
        self.receiver_role.as_ref().and_then(ReceiverRole::scheme)
    }

    /// The component that runs here for the peer, to observe.
    pub fn component_here(&self) -> Option<&dyn ReceiverComponent> {
        self.receiver_role.as_ref().and_then(ReceiverRole::component)
    }

    /// Counts of datagrams so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Extension")
            .field("peer_component", &self.peer_component())
            .field("scheme_here", &self.scheme_here())
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// Flow numbers wrap around.
fn is_older(flow: u32, than: u32) -> bool {
    flow.wrapping_sub(than) > u32::MAX / 2
}

#[cfg(test)]
mod tests;

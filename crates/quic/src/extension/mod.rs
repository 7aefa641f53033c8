//! What the two ends of a scheme send each other over DATAGRAM frames (RFC 9221): small, versioned and agreed on. The
//! extension carries the scheme's bytes and does not read them. With a peer that does not know the extension, the scheme
//! runs without its receiver-side component.
//!
//! ```text
//!   sender                                 receiver
//!   OFFER rbbr(alpha=0.6)  ------------->  builds the component by its own registry
//!     (again every RTT, 10 times)  <-----  ANSWER version, or why not
//!   SIGNAL                 ------------->  with the next packet that arrives
//!     (when the scheme has one)
//!                          <-------------  FEEDBACK every 10 ms (20 ms below 20 Mbit/s) while data comes
//! ```
//! Both sides may send data: the two directions are independent of each other.
//!
//! [`Extension`] has neither clock nor socket: times, datagrams and totals go in, datagrams and feedback come out.
//!
//! | file | concept |
//! |---|---|
//! | `message` | the messages as bytes |
//! | `asking` | the sender's side: offers, and what comes back |
//! | `running` | the receiver's side: the component that runs here, when it is told of arrivals and when its feedback leaves |
//! | `totals` | arrivals from totals |

mod asking;
mod message;
mod running;
mod totals;

pub use asking::{OFFERS, PeerComponent};
pub use message::{Body, CONTEXT, MAX_SCHEME_TEXT, Message, MessageError, Refusal};
pub use running::POLL;
pub use totals::Totals;

use asking::{Asking, Taken};
use cellcc_control::{Feedback, ReceiverComponent, Registry, Scheme, Signal, Verdict};
use cellcc_units::{Span, Time};
use running::Running;
use std::fmt;

/// What has become of datagrams so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages that were handed out to be sent.
    pub sent: u64,
    /// Messages that were understood and of use.
    pub received: u64,
    /// Datagrams with our context byte that are no message, or none of the scheme's.
    pub malformed: u64,
    /// Messages of a kind from a later version.
    pub unknown_kinds: u64,
    /// Messages that are older than what is known, or known already.
    pub stale: u64,
    /// Messages that nobody here waits for: feedback without an agreement, a signal without a component.
    pub unexpected: u64,
    /// Messages that claim what cannot be, such as more bytes received than were sent.
    pub lies: u64,
}

/// What a datagram comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Received {
    /// It begins with another context byte: the application's.
    NotOurs,
    /// Nothing for the controller; the counters tell why.
    Nothing,
    /// The peer runs the receiver-side component of our scheme: from now on signals are to be sent to it.
    Found,
    /// For the controller, whose verdict [`Extension::count`] takes.
    Feedback(Feedback),
}

/// A connection's talk with the peer about receiver-side components, in both directions.
///
/// After every call, [`poll_transmit`](Self::poll_transmit) is called until it gives nothing, and [`next_wake`](Self::next_wake)
/// tells when to come back: then with totals first, where [`wants_totals`](Self::wants_totals).
pub struct Extension {
    registry: Registry,
    asking: Option<Asking>,
    running: Option<Running>,
    user_flows: Option<u32>,
    next_flow: u32,
    counters: Counters,
}

impl Extension {
    /// Nothing is asked for, nothing runs. `registry`: the schemes whose components may run here.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            asking: None,
            running: None,
            user_flows: None,
            next_flow: 0,
            counters: Counters::default(),
        }
    }

    /// A flow of ours begins: asks the peer for the receiver-side component of its scheme, where that has one and its text is
    /// no longer than [`MAX_SCHEME_TEXT`].
    pub fn begin_flow(&mut self, now: Time, scheme: &Scheme) {
        let has_component = scheme.build_receiver(&running::CONTEXT).is_some();
        let is_asked = has_component && scheme.text().len() <= MAX_SCHEME_TEXT;
        self.asking = is_asked.then(|| Asking::new(now, self.next_flow, scheme.text().into()));
        self.next_flow = self.next_flow.wrapping_add(1);
    }

    /// DATAGRAM frames cannot be sent on this connection.
    pub fn give_up_datagrams(&mut self) {
        if let Some(asking) = &mut self.asking {
            asking.give_up_datagrams();
        }
    }

    /// The receiver's user has so many flows, over all its connections.
    pub fn on_user_flows(&mut self, now: Time, flows: u32) {
        self.user_flows = Some(flows);
        if let Some(running) = &mut self.running {
            running.on_user_flows(now, flows);
        }
    }

    /// True where a component runs here, and has to be told of what arrives.
    pub fn wants_totals(&self) -> bool {
        self.scheme_here().is_some()
    }

    /// So much has come in and gone out by now.
    pub fn on_totals(&mut self, now: Time, totals: Totals) {
        let verdict = self.running.as_mut().and_then(|running| running.on_totals(now, totals));
        verdict.into_iter().for_each(|verdict| self.count(verdict));
    }

    /// A datagram came. `totals`: as they are now, this datagram included.
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
            Body::Answer(answer) => self.take(flow, |asking| asking.on_answer(answer)),
            Body::Feedback(feedback) => self.take(flow, |asking| asking.on_feedback(feedback)),
        }
    }

    fn on_offer(&mut self, now: Time, totals: Totals, flow: u32, versions: &[u8], scheme: String) {
        match &mut self.running {
            Some(running) if running.flow() == flow => {
                running.answer_again();
                self.counters.received += 1;
            }
            Some(running) if is_older(flow, running.flow()) => self.counters.stale += 1,
            _ => {
                let mut running = Running::new(now, &self.registry, flow, versions, scheme, totals);
                if let Some(flows) = self.user_flows {
                    running.on_user_flows(now, flows);
                }
                self.running = Some(running);
                self.counters.received += 1;
            }
        }
    }

    fn on_signal(&mut self, flow: u32, signal: Signal) {
        match &mut self.running {
            Some(running) if running.flow() == flow && running.scheme().is_some() => {
                let verdict = running.on_signal(signal);
                verdict.into_iter().for_each(|verdict| self.count(verdict));
            }
            Some(running) if is_older(flow, running.flow()) => self.counters.stale += 1,
            _ => self.counters.unexpected += 1,
        }
    }

    /// Counts a message that its scheme has opened.
    pub fn count(&mut self, verdict: Verdict) {
        let counter = match verdict {
            Verdict::Taken => &mut self.counters.received,
            Verdict::Stale => &mut self.counters.stale,
            Verdict::Malformed => &mut self.counters.malformed,
            Verdict::Untrue => &mut self.counters.lies,
        };
        *counter += 1;
    }

    fn take(&mut self, flow: u32, act: impl FnOnce(&mut Asking) -> Taken) -> Received {
        let taken = match &mut self.asking {
            Some(asking) if asking.flow() == flow => act(asking),
            Some(asking) if is_older(flow, asking.flow()) => Taken::Stale,
            _ => Taken::Unexpected,
        };
        match taken {
            Taken::Feedback(feedback) => return Received::Feedback(feedback),
            Taken::Settled | Taken::Found => self.counters.received += 1,
            Taken::Unexpected => self.counters.unexpected += 1,
            Taken::Stale => self.counters.stale += 1,
        }
        if taken == Taken::Found { Received::Found } else { Received::Nothing }
    }

    /// The controller's signal as a datagram, where the peer runs the component.
    pub fn signal(&mut self, signal: Signal) -> Option<Vec<u8>> {
        let asking =
            self.asking.as_ref().filter(|asking| matches!(asking.state(), PeerComponent::Found { .. }))?;
        self.counters.sent += 1;
        Some(Message { flow: asking.flow(), body: Body::Signal(signal) }.encode())
    }

    /// A datagram that is due. `rtt`: how long an answer takes.
    pub fn poll_transmit(&mut self, now: Time, rtt: Span) -> Option<Vec<u8>> {
        let offer = self.asking.as_mut().and_then(|asking| asking.poll(now, rtt));
        let message = offer.or_else(|| self.running.as_mut()?.poll(now))?;
        self.counters.sent += 1;
        Some(message.encode())
    }

    /// When there is something to do; `None` until a datagram comes.
    pub fn next_wake(&self) -> Option<Time> {
        let asking = self.asking.as_ref().and_then(Asking::next_wake);
        let running = self.running.as_ref().and_then(Running::next_wake);
        asking.into_iter().chain(running).min()
    }

    /// Whether the receiver-side component of our scheme runs at the peer.
    pub fn peer_component(&self) -> PeerComponent {
        self.asking.as_ref().map_or(PeerComponent::NotNeeded, Asking::state)
    }

    /// The scheme whose component runs here for the peer.
    pub fn scheme_here(&self) -> Option<&str> {
        self.running.as_ref().and_then(Running::scheme)
    }

    /// The component that runs here for the peer, to look at.
    pub fn component_here(&self) -> Option<&dyn ReceiverComponent> {
        self.running.as_ref().and_then(Running::component)
    }

    /// What has become of datagrams so far.
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

/// Counts of flows wrap round.
fn is_older(flow: u32, than: u32) -> bool {
    flow.wrapping_sub(than) > u32::MAX / 2
}

#[cfg(test)]
mod tests;

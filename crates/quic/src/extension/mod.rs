//! What the halves of a scheme send each other over DATAGRAM frames (RFC 9221): small, versioned, agreed on, and the
//! newest wins. A peer that does not know it gets the scheme without its half.
//!
//! ```text
//!   sender                                 receiver
//!   OFFER rbbr(alpha=0.6)  ------------->  builds the half by its own registry
//!     (again every RTT, 10 times)  <-----  ANSWER version, or why not
//!   SIGNAL suspend, run    ------------->  with the next packet that arrives
//!     (when it changes, and every 20 ms)
//!                          <-------------  FEEDBACK every 10 ms (20 ms below 20 Mbit/s) while data comes
//! ```
//! Both sides may send data: the two directions are two talks that know nothing of each other.
//!
//! [`Extension`] has neither clock nor socket: times, datagrams and totals go in, datagrams and feedback come out.
//!
//! | file | concept |
//! |---|---|
//! | `message` | the messages as bytes |
//! | `asking` | the sender's side: offers, and what comes back |
//! | `running` | the receiver's side: the half that runs here, when it is fed and when it speaks |
//! | `totals` | arrivals from totals |

mod asking;
mod message;
mod running;
mod totals;

pub use asking::{OFFERS, PeerHalf};
pub use message::{Body, CONTEXT, MAX_SCHEME_TEXT, Message, MessageError, Refusal};
pub use running::POLL;
pub use totals::Totals;

use asking::{Asking, Taken};
use cellcc_control::{Feedback, ReceiverHalf, Registry, Scheme, Signal};
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
    /// Datagrams with our context byte that are no message.
    pub malformed: u64,
    /// Messages of a kind from a later version.
    pub unknown_kinds: u64,
    /// Messages that are older than what is known, or known already.
    pub stale: u64,
    /// Messages that nobody here waits for: feedback without an agreement, a signal without a half.
    pub unexpected: u64,
    /// Feedback that claims to have received more than was sent.
    pub lies: u64,
}

/// What a datagram comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Received {
    /// It begins with another context byte: the application's.
    NotOurs,
    /// Nothing for the controller; the counters tell why.
    Nothing,
    /// The peer runs our scheme's half: from now on signals are to be sent to it.
    Found,
    /// For the controller.
    Feedback(Feedback),
}

/// A connection's talk with the peer about halves of schemes, in both directions.
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
    /// Nothing is asked for, nothing runs. `registry`: the schemes whose halves may run here.
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

    /// A flow of ours begins: asks the peer for the half of its scheme, where that has one and its text is no longer than
    /// [`MAX_SCHEME_TEXT`].
    pub fn begin_flow(&mut self, now: Time, scheme: &Scheme) {
        let has_half = scheme.build_receiver_half(&running::CONTEXT).is_some();
        let is_asked = has_half && scheme.text().len() <= MAX_SCHEME_TEXT;
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

    /// True where a half runs here, and is to be told of what arrives.
    pub fn wants_totals(&self) -> bool {
        self.scheme_here().is_some()
    }

    /// So much has come in and gone out by now.
    pub fn on_totals(&mut self, now: Time, totals: Totals) {
        if let Some(running) = &mut self.running {
            running.on_totals(now, totals);
        }
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
            Body::Feedback(rate) => {
                self.take(flow, |asking| asking.on_feedback(rate.sequence, Feedback::Rate(rate), totals.sent))
            }
            Body::UserFlows { sequence, flows } => self
                .take(flow, |asking| asking.on_feedback(sequence, Feedback::UserFlows(flows), totals.sent)),
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
        let counter = match &mut self.running {
            Some(running) if running.flow() == flow && running.scheme().is_some() => {
                if running.on_signal(signal) { &mut self.counters.received } else { &mut self.counters.stale }
            }
            Some(running) if is_older(flow, running.flow()) => &mut self.counters.stale,
            _ => &mut self.counters.unexpected,
        };
        *counter += 1;
    }

    fn take(&mut self, flow: u32, act: impl FnOnce(&mut Asking) -> Taken) -> Received {
        let taken = match &mut self.asking {
            Some(asking) if asking.flow() == flow => act(asking),
            Some(asking) if is_older(flow, asking.flow()) => Taken::Stale,
            _ => Taken::Unexpected,
        };
        let (counter, received) = match taken {
            Taken::Settled => (&mut self.counters.received, Received::Nothing),
            Taken::Unexpected => (&mut self.counters.unexpected, Received::Nothing),
            Taken::Stale => (&mut self.counters.stale, Received::Nothing),
            Taken::Lie => (&mut self.counters.lies, Received::Nothing),
            Taken::Found => (&mut self.counters.received, Received::Found),
            Taken::Feedback(feedback) => (&mut self.counters.received, Received::Feedback(feedback)),
        };
        *counter += 1;
        received
    }

    /// The controller's signal as a datagram, where the peer's half is there to hear it.
    pub fn signal(&mut self, signal: Signal) -> Option<Vec<u8>> {
        let asking =
            self.asking.as_ref().filter(|asking| matches!(asking.state(), PeerHalf::Found { .. }))?;
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

    /// Whether the half of our scheme runs at the peer.
    pub fn peer_half(&self) -> PeerHalf {
        self.asking.as_ref().map_or(PeerHalf::NotNeeded, Asking::state)
    }

    /// The scheme whose half runs here for the peer.
    pub fn scheme_here(&self) -> Option<&str> {
        self.running.as_ref().and_then(Running::scheme)
    }

    /// The half that runs here for the peer, to look at.
    pub fn half_here(&self) -> Option<&dyn ReceiverHalf> {
        self.running.as_ref().and_then(Running::half)
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
            .field("peer_half", &self.peer_half())
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

//! The sender's side: offers the peer its scheme, whose receiver-side component the peer may run, and receives the
//! component's feedback.

use super::message::{Body, Message, Refusal, VERSION};
use cellcc_control::Feedback;
use cellcc_units::{Span, Time};
use std::fmt;

/// An offer is repeated after an RTT, but no sooner than this.
pub(super) const MIN_OFFER_INTERVAL: Span = Span::from_millis(100);
/// Number of offers before the sender gives up (our choice: with 10 % loss all are lost once in 10^10 tries).
pub const MAX_OFFERS: u32 = 10;

/// The state of our scheme's receiver-side component at the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PeerComponent {
    /// Our scheme has none, or no scheme of ours sends here.
    #[default]
    NotNeeded,
    /// The peer has not answered the offer yet.
    Offered,
    /// The component runs.
    Found {
        /// The version of the extension in use.
        version: u8,
    },
    /// The peer runs none.
    Refused(Refusal),
    /// The peer did not answer, so it does not know the extension. A late answer still counts.
    Unanswered,
    /// The peer, or this side, takes no DATAGRAM frames (RFC 9221).
    NoDatagrams,
}

impl PeerComponent {
    /// True if it will not run: the scheme then works without it.
    pub fn is_missing(self) -> bool {
        matches!(self, Self::Refused(_) | Self::Unanswered | Self::NoDatagrams)
    }
}

impl fmt::Display for PeerComponent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNeeded => formatter.write_str("no receiver-side component needed at the peer"),
            Self::Offered => formatter.write_str("the receiver-side component is offered to the peer"),
            Self::Found { version } => {
                write!(formatter, "the peer runs the receiver-side component (version {version})")
            }
            Self::Refused(refusal) => write!(formatter, "no receiver-side component at the peer: {refusal}"),
            Self::Unanswered => {
                write!(
                    formatter,
                    "no receiver-side component at the peer: {MAX_OFFERS} offers were not answered"
                )
            }
            Self::NoDatagrams => {
                formatter.write_str("no receiver-side component at the peer: no DATAGRAM frames")
            }
        }
    }
}

/// The meaning of a message from the peer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reply {
    /// The component does not run.
    Settled,
    /// No message was expected.
    Unexpected,
    /// Out of date.
    Stale,
    /// The first answer: the component runs.
    Found,
    /// Feedback for the controller.
    Feedback(Feedback),
}

/// The negotiation with the peer about one flow.
#[derive(Debug, Clone)]
pub(super) struct SenderRole {
    flow: u32,
    scheme: String,
    state: PeerComponent,
    offers: u32,
    offer_at: Time,
}

impl SenderRole {
    pub(super) fn new(now: Time, flow: u32, scheme: String) -> Self {
        Self { flow, scheme, state: PeerComponent::Offered, offers: 0, offer_at: now }
    }

    pub(super) fn flow(&self) -> u32 {
        self.flow
    }

    pub(super) fn state(&self) -> PeerComponent {
        self.state
    }

    pub(super) fn give_up_datagrams(&mut self) {
        if self.state == PeerComponent::Offered {
            self.state = PeerComponent::NoDatagrams;
        }
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        (self.state == PeerComponent::Offered).then_some(self.offer_at)
    }

    /// The offer, if it is due.
    pub(super) fn poll(&mut self, now: Time, rtt: Span) -> Option<Message> {
        if self.state != PeerComponent::Offered || now < self.offer_at {
            return None;
        }
        if self.offers == MAX_OFFERS {
            self.state = PeerComponent::Unanswered;
            return None;
        }
        self.offers += 1;
        self.offer_at = now + rtt.max(MIN_OFFER_INTERVAL);
        let body = Body::Offer { versions: vec![VERSION], scheme: self.scheme.clone() };
        Some(Message { flow: self.flow, body })
    }

    /// The peer answered. Only its first answer counts.
    pub(super) fn on_answer(&mut self, answer: Result<u8, Refusal>) -> Reply {
        if !matches!(self.state, PeerComponent::Offered | PeerComponent::Unanswered) {
            return Reply::Stale;
        }
        match answer {
            Ok(version) if version == VERSION => {
                self.state = PeerComponent::Found { version };
                Reply::Found
            }
            Ok(_) => {
                self.state = PeerComponent::Refused(Refusal::Version);
                Reply::Settled
            }
            Err(refusal) => {
                self.state = PeerComponent::Refused(refusal);
                Reply::Settled
            }
        }
    }

    /// The peer's component sent feedback.
    pub(super) fn on_feedback(&mut self, feedback: Feedback) -> Reply {
        match self.state {
            PeerComponent::Found { .. } => Reply::Feedback(feedback),
            // A component that sends feedback runs; its answers were lost. This feedback is dropped, the next replaces it.
            PeerComponent::Offered | PeerComponent::Unanswered => self.on_answer(Ok(VERSION)),
            PeerComponent::NotNeeded | PeerComponent::Refused(_) | PeerComponent::NoDatagrams => {
                Reply::Unexpected
            }
        }
    }
}

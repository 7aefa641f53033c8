//! The sender's side: asks the peer for the receiver-side component of its scheme, and takes what that sends.

use super::message::{Body, Message, Refusal, VERSION};
use cellcc_control::Feedback;
use cellcc_units::{Span, Time};
use std::fmt;

/// An offer is repeated after an RTT, or after this where the RTT is shorter ...
const LEAST_REPEAT: Span = Span::from_millis(100);
/// ... and given up after so many (our choice: 10 % loss leaves one try in 10^10 without an answer).
pub const OFFERS: u32 = 10;

/// Whether the receiver-side component of our scheme runs at the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PeerComponent {
    /// Our scheme has none, or nothing is sent from here by a scheme of ours.
    #[default]
    NotNeeded,
    /// The peer has been asked, and has not answered yet.
    Asked,
    /// It runs, and speaks this version.
    Found {
        /// The version that both speak.
        version: u8,
    },
    /// The peer runs none.
    Refused(Refusal),
    /// The peer did not answer: it does not know the extension. An answer that comes late still counts.
    Unanswered,
    /// The peer, or this side, takes no DATAGRAM frames (RFC 9221).
    NoDatagrams,
}

impl PeerComponent {
    /// True where it will not run: the scheme goes on without it.
    pub fn is_missing(self) -> bool {
        matches!(self, Self::Refused(_) | Self::Unanswered | Self::NoDatagrams)
    }
}

impl fmt::Display for PeerComponent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNeeded => formatter.write_str("no receiver-side component needed at the peer"),
            Self::Asked => formatter.write_str("the peer is asked for the receiver-side component"),
            Self::Found { version } => {
                write!(formatter, "the peer runs the receiver-side component (version {version})")
            }
            Self::Refused(refusal) => write!(formatter, "no receiver-side component at the peer: {refusal}"),
            Self::Unanswered => {
                write!(formatter, "no receiver-side component at the peer: {OFFERS} offers were not answered")
            }
            Self::NoDatagrams => {
                formatter.write_str("no receiver-side component at the peer: no DATAGRAM frames")
            }
        }
    }
}

/// What a message from the peer comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Taken {
    /// An answer that settles it: the component does not run.
    Settled,
    /// Nobody waits for it.
    Unexpected,
    /// Out of date.
    Stale,
    /// The component answers for the first time.
    Found,
    /// For the controller.
    Feedback(Feedback),
}

/// Our talk with the peer about one flow.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    flow: u32,
    scheme: String,
    state: PeerComponent,
    offers: u32,
    offer_at: Time,
}

impl Asking {
    pub(super) fn new(now: Time, flow: u32, scheme: String) -> Self {
        Self { flow, scheme, state: PeerComponent::Asked, offers: 0, offer_at: now }
    }

    pub(super) fn flow(&self) -> u32 {
        self.flow
    }

    pub(super) fn state(&self) -> PeerComponent {
        self.state
    }

    pub(super) fn give_up_datagrams(&mut self) {
        if self.state == PeerComponent::Asked {
            self.state = PeerComponent::NoDatagrams;
        }
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        (self.state == PeerComponent::Asked).then_some(self.offer_at)
    }

    /// The offer, where it is due.
    pub(super) fn poll(&mut self, now: Time, rtt: Span) -> Option<Message> {
        if self.state != PeerComponent::Asked || now < self.offer_at {
            return None;
        }
        if self.offers == OFFERS {
            self.state = PeerComponent::Unanswered;
            return None;
        }
        self.offers += 1;
        self.offer_at = now + rtt.max(LEAST_REPEAT);
        let body = Body::Offer { versions: vec![VERSION], scheme: self.scheme.clone() };
        Some(Message { flow: self.flow, body })
    }

    /// The peer has answered; its first answer stands.
    pub(super) fn on_answer(&mut self, answer: Result<u8, Refusal>) -> Taken {
        if !matches!(self.state, PeerComponent::Asked | PeerComponent::Unanswered) {
            return Taken::Stale;
        }
        match answer {
            Ok(version) if version == VERSION => {
                self.state = PeerComponent::Found { version };
                Taken::Found
            }
            Ok(_) => {
                self.state = PeerComponent::Refused(Refusal::Version);
                Taken::Settled
            }
            Err(refusal) => {
                self.state = PeerComponent::Refused(refusal);
                Taken::Settled
            }
        }
    }

    /// The peer's component sent something.
    pub(super) fn on_feedback(&mut self, feedback: Feedback) -> Taken {
        match self.state {
            PeerComponent::Found { .. } => Taken::Feedback(feedback),
            // A component that sends feedback runs: its answers were lost. Its next message makes this one good.
            PeerComponent::Asked | PeerComponent::Unanswered => self.on_answer(Ok(VERSION)),
            PeerComponent::NotNeeded | PeerComponent::Refused(_) | PeerComponent::NoDatagrams => {
                Taken::Unexpected
            }
        }
    }
}

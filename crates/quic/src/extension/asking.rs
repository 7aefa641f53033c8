//! The sender's side: asks the peer for the half of its scheme, and takes what that says.

use super::message::{Body, Message, Refusal, VERSION};
use cellcc_control::Feedback;
use cellcc_units::{Bytes, Span, Time};
use std::fmt;

/// An offer is repeated after an RTT, or after this where the RTT is shorter ...
const LEAST_REPEAT: Span = Span::from_millis(100);
/// ... and given up after so many (our choice: 10 % loss leaves one try in 10^10 without an answer).
pub const OFFERS: u32 = 10;

/// Whether the half of our scheme runs at the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PeerHalf {
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

impl PeerHalf {
    /// True where no half will be there: the scheme goes on without it.
    pub fn is_missing(self) -> bool {
        matches!(self, Self::Refused(_) | Self::Unanswered | Self::NoDatagrams)
    }
}

impl fmt::Display for PeerHalf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNeeded => formatter.write_str("no half needed at the peer"),
            Self::Asked => formatter.write_str("the peer is asked for the scheme's half"),
            Self::Found { version } => {
                write!(formatter, "the peer runs the scheme's half (version {version})")
            }
            Self::Refused(refusal) => write!(formatter, "no half at the peer: {refusal}"),
            Self::Unanswered => {
                write!(formatter, "no half at the peer: {OFFERS} offers were not answered")
            }
            Self::NoDatagrams => formatter.write_str("no half at the peer: no DATAGRAM frames"),
        }
    }
}

/// What a message from the peer's half comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Taken {
    /// An answer that settles it without a half.
    Settled,
    /// Nobody waits for it.
    Unexpected,
    /// Out of date.
    Stale,
    /// A claim to have received more than was sent.
    Lie,
    /// The half answers for the first time.
    Found,
    /// For the controller.
    Feedback(Feedback),
}

/// Our talk with the peer's half about one flow.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    flow: u32,
    scheme: String,
    state: PeerHalf,
    offers: u32,
    offer_at: Time,
    /// The newest of each kind.
    rate_sequence: Option<u64>,
    flows_sequence: Option<u64>,
}

impl Asking {
    pub(super) fn new(now: Time, flow: u32, scheme: String) -> Self {
        Self {
            flow,
            scheme,
            state: PeerHalf::Asked,
            offers: 0,
            offer_at: now,
            rate_sequence: None,
            flows_sequence: None,
        }
    }

    pub(super) fn flow(&self) -> u32 {
        self.flow
    }

    pub(super) fn state(&self) -> PeerHalf {
        self.state
    }

    pub(super) fn give_up_datagrams(&mut self) {
        if self.state == PeerHalf::Asked {
            self.state = PeerHalf::NoDatagrams;
        }
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        (self.state == PeerHalf::Asked).then_some(self.offer_at)
    }

    /// The offer, where it is due.
    pub(super) fn poll(&mut self, now: Time, rtt: Span) -> Option<Message> {
        if self.state != PeerHalf::Asked || now < self.offer_at {
            return None;
        }
        if self.offers == OFFERS {
            self.state = PeerHalf::Unanswered;
            return None;
        }
        self.offers += 1;
        self.offer_at = now + rtt.max(LEAST_REPEAT);
        let body = Body::Offer { versions: vec![VERSION], scheme: self.scheme.clone() };
        Some(Message { flow: self.flow, body })
    }

    /// The peer has answered; its first answer stands.
    pub(super) fn on_answer(&mut self, answer: Result<u8, Refusal>) -> Taken {
        if !matches!(self.state, PeerHalf::Asked | PeerHalf::Unanswered) {
            return Taken::Stale;
        }
        match answer {
            Ok(version) if version == VERSION => {
                self.state = PeerHalf::Found { version };
                Taken::Found
            }
            Ok(_) => {
                self.state = PeerHalf::Refused(Refusal::Version);
                Taken::Settled
            }
            Err(refusal) => {
                self.state = PeerHalf::Refused(refusal);
                Taken::Settled
            }
        }
    }

    /// The peer's half says something. No more than `sent` can have arrived.
    pub(super) fn on_feedback(&mut self, sequence: u64, feedback: Feedback, sent: Bytes) -> Taken {
        match self.state {
            PeerHalf::Found { .. } => {}
            // A half that speaks runs: its answers were lost. This one word of it is not missed.
            PeerHalf::Asked | PeerHalf::Unanswered => return self.on_answer(Ok(VERSION)),
            PeerHalf::NotNeeded | PeerHalf::Refused(_) | PeerHalf::NoDatagrams => return Taken::Unexpected,
        }
        let newest = match feedback {
            Feedback::Rate(_) => &mut self.rate_sequence,
            Feedback::UserFlows(_) => &mut self.flows_sequence,
        };
        if newest.is_some_and(|newest| sequence <= newest) {
            return Taken::Stale;
        }
        if matches!(feedback, Feedback::Rate(rate) if rate.received > sent) {
            return Taken::Lie;
        }
        *newest = Some(sequence);
        Taken::Feedback(feedback)
    }
}

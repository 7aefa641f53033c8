//! Who says how many flows share the user's bottleneck: beta in the paper's equation 1.

use crate::advice::Advice;
use crate::contract::Context;
use crate::parameter::{Arguments, Kind, Parameter};
use crate::receiver::{Arrival, Feedback, ReceiverHalf};
use cellcc_units::Time;

pub(super) const FAIRNESS: Parameter = Parameter {
    name: "fairness",
    kind: Kind::Choice(&["network", "report", "none"]),
    default: "network",
    meaning: "who counts the user's flows: the network, the user in its ACKs, or nobody",
    source: "paper, section 2.1: the user; the network's own count needs no change there",
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fairness {
    Network,
    Report,
    None,
}

impl Fairness {
    pub(super) fn read(arguments: &Arguments) -> Self {
        match arguments.choice(FAIRNESS.name) {
            "report" => Self::Report,
            "none" => Self::None,
            _ => Self::Network,
        }
    }

    /// Beta, by the network's advice and the user's last report.
    pub(super) fn flows(self, advice: &Advice, reported: u32) -> u32 {
        match self {
            Self::Network => advice.flows,
            Self::Report => reported,
            Self::None => 1,
        }
        .max(1)
    }
}

/// The half at the receiver, where the arguments need one.
pub(super) fn receiver_half(arguments: &Arguments, _context: &Context) -> Option<Box<dyn ReceiverHalf>> {
    match Fairness::read(arguments) {
        Fairness::Report => Some(Box::new(FlowReporter { flows: 1 })),
        Fairness::Network | Fairness::None => None,
    }
}

/// Tells the sender with every ACK how many flows the user has: a report that is lost is made good by the next.
#[derive(Debug, Clone)]
struct FlowReporter {
    flows: u32,
}

impl ReceiverHalf for FlowReporter {
    fn on_packet(&mut self, _arrival: &Arrival) {}

    fn on_user_flows(&mut self, _now: Time, flows: u32) {
        self.flows = flows;
    }

    fn feedback(&mut self, _now: Time) -> Option<Feedback> {
        Some(Feedback::UserFlows(self.flows))
    }
}

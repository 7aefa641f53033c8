//! The scheme `tg`: throughput guidance, the paper's baseline. Bandwidth from the network, RTT from the sender.

use super::fairness::{FAIRNESS, receiver};
use super::request::{DELAY, LOSS, PERIOD, ROUTE, SOURCE, request};
use super::{ALPHA, Assisted, BURST, Config, Delay, FALLBACK, GUARD, Mode, PACE, PACING_GAIN, TIMEOUT};
use crate::parameter::{Kind, Parameter};
use crate::registry::{Needs, SchemeInfo};

const RTT: Parameter = Parameter {
    name: "rtt",
    kind: Kind::Choice(&["min", "smoothed"]),
    default: "smoothed",
    meaning: "which of the sender's own RTTs makes the window",
    source: "paper, section 2.3: \"counts on RTT measurements at the server\"; its results come out with smoothed only",
};

/// No mechanism for fairness (paper, section 3): nobody counts the flows.
const NO_FAIRNESS: Parameter = Parameter { default: "none", ..FAIRNESS };

pub(in crate::schemes) const TG: SchemeInfo = SchemeInfo {
    name: "tg",
    summary: "throughput guidance: bandwidth from the base station, RTT as the sender measures it",
    source: "draft-flinck-mobile-throughput-guidance-04; Abbasloo et al., HotEdge 2019, section 2.3",
    parameters: &[
        RTT,
        SOURCE,
        PERIOD,
        ROUTE,
        DELAY,
        LOSS,
        NO_FAIRNESS,
        ALPHA,
        PACING_GAIN,
        PACE,
        BURST,
        TIMEOUT,
        GUARD,
        FALLBACK,
    ],
    needs: Needs { receiver: Some(receiver), advice: Some(request) },
    build: |arguments, context| {
        let delay =
            if arguments.choice(RTT.name) == "smoothed" { Delay::OwnSmoothed } else { Delay::OwnMinimum };
        let config = Config::read(arguments, context, Mode::Replace, delay);
        Box::new(Assisted::new(config, arguments.scheme(FALLBACK.name).build(context), arguments))
    },
};

//! The scheme `natcp`.

use super::fairness::{FAIRNESS, receiver};
use super::request::{DELAY, LOSS, PERIOD, ROUTE, SOURCE, request};
use super::{ALPHA, Assisted, BURST, Config, Delay, FALLBACK, GUARD, Mode, PACE, PACING_GAIN, TIMEOUT};
use crate::registry::{Needs, SchemeInfo};

pub(in crate::schemes) const NATCP: SchemeInfo = SchemeInfo {
    name: "natcp",
    summary: "network assistance: two BDPs of the bandwidth and the minimum RTT that the base station tells",
    source: "Abbasloo et al., HotEdge 2019",
    parameters: &[
        SOURCE,
        PERIOD,
        ROUTE,
        DELAY,
        LOSS,
        FAIRNESS,
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
        let config = Config::read(arguments, context, Mode::Replace, Delay::Advised);
        Box::new(Assisted::new(config, arguments.scheme(FALLBACK.name).build(context), arguments))
    },
};

//! The schemes `nacubic` and `nacap`: a window law or scheme that goes on growing, under the cap of the advice.

use super::fairness::{FAIRNESS, receiver};
use super::request::{DELAY, LOSS, PERIOD, ROUTE, SOURCE, request};
use super::{ALPHA, Assisted, BURST, Config, Delay, GUARD, Mode, PACE, PACING_GAIN, TIMEOUT};
use crate::contract::Context;
use crate::growth::Cubic;
use crate::parameter::{Arguments, Kind, Parameter};
use crate::registry::{Needs, SchemeInfo};
use crate::schemes::loss_based::{HYSTART, LossBased, hystart_mode};

const BASE: Parameter = Parameter {
    name: "base",
    kind: Kind::Scheme,
    default: "cubic",
    meaning: "the scheme under the cap, and alone without advice",
    source: "paper, section 2.2.2: CUBIC, without loss of generality",
};

pub(in crate::schemes) const NACUBIC: SchemeInfo = SchemeInfo {
    name: "nacubic",
    summary: "CUBIC under the window and the rate that the base station's advice allows",
    source: "Abbasloo et al., HotEdge 2019",
    parameters: &[
        HYSTART,
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
    ],
    needs: Needs { receiver: Some(receiver), advice: Some(request) },
    build: |arguments, context| {
        let cubic = LossBased::new(Cubic::new(context, hystart_mode(arguments)));
        Box::new(Assisted::new(config(arguments, context), Box::new(cubic), arguments))
    },
};

pub(in crate::schemes) const NACAP: SchemeInfo = SchemeInfo {
    name: "nacap",
    summary: "any scheme under the window and the rate that the base station's advice allows",
    source: "Abbasloo et al., HotEdge 2019",
    parameters: &[
        BASE,
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
    ],
    needs: Needs { receiver: Some(receiver), advice: Some(request) },
    build: |arguments, context| {
        let base = arguments.scheme(BASE.name).build(context);
        Box::new(Assisted::new(config(arguments, context), base, arguments))
    },
};

fn config(arguments: &Arguments, context: &Context) -> Config {
    Config::read(arguments, context, Mode::Cap, Delay::Advised)
}

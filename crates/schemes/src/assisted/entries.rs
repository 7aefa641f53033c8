//! The entries of the schemes that limit a base by the advice: `natcp`, `nacubic`, `nacap`, and the paper's baseline `tg`
//! (throughput guidance: bandwidth from the network, RTT from the sender).

use super::advice_tracker::SHOWS;
use super::fairness::Fairness;
use super::parameters::{CORE, base, common, fallback, needs};
use super::window_law::WindowLaw;
use super::{Assisted, Config, Delay, Mode};
use crate::in_kernel::{CONTROL_WITH_FLAGS, CUBIC, InKernel, LINKS};
use crate::loss_based::{HYSTART, LossBased, hystart_mode};
use cellcc_control::{
    Arguments, Context, Controller, Parameter, ParameterInfo, SchemeInfo, growth::Cubic, kind,
};
use std::sync::Arc;

/// What a scheme is made of.
type Parts = (Mode, Delay, Box<dyn Controller>);

const PAPER: &str = "Abbasloo et al., HotEdge 2019";

const RTT: Parameter<kind::Choice<Delay>> = Parameter::new(
    "rtt",
    kind::Choice(&[("min", Delay::OwnMinimum), ("smoothed", Delay::OwnSmoothed)]),
    Delay::OwnSmoothed,
    "which of the sender's own RTTs makes the window",
    "paper, section 2.3: \"counts on RTT measurements at the server\"; its results come out with smoothed only",
);

pub(crate) fn natcp() -> SchemeInfo {
    let summary =
        "network assistance: two BDPs of the bandwidth and the minimum RTT that the base station tells";
    let parameters = [common(Fairness::Network), vec![fallback().into()]].concat();
    entry("natcp", summary, PAPER, parameters, |arguments, context| {
        (Mode::Replace, Delay::Advised, arguments.get(&fallback()).build(context))
    })
}

pub(crate) fn nacubic() -> SchemeInfo {
    let summary = "CUBIC under the window and the rate that the base station's advice allows";
    let parameters = [vec![HYSTART.into()], common(Fairness::Network)].concat();
    entry("nacubic", summary, PAPER, parameters, |arguments, context| {
        let cubic = LossBased::new(Cubic::new(context, hystart_mode(arguments)));
        (Mode::Cap, Delay::Advised, Box::new(cubic))
    })
}

pub(crate) fn nacap() -> SchemeInfo {
    let summary = "any scheme under the window and the rate that the base station's advice allows";
    let parameters = [vec![base().into()], common(Fairness::Network)].concat();
    entry("nacap", summary, PAPER, parameters, |arguments, context| {
        (Mode::Cap, Delay::Advised, arguments.get(&base()).build(context))
    })
}

pub(crate) fn tg() -> SchemeInfo {
    let summary = "throughput guidance: bandwidth from the base station, RTT as the sender measures it";
    let source = "draft-flinck-mobile-throughput-guidance-04; Abbasloo et al., HotEdge 2019, section 2.3";
    // No mechanism for fairness (paper, section 3): nobody counts the flows.
    let parameters = [vec![RTT.into()], common(Fairness::None), vec![fallback().into()]].concat();
    entry("tg", summary, source, parameters, |arguments, context| {
        (Mode::Replace, arguments.get(&RTT), arguments.get(&fallback()).build(context))
    })
}

/// NATCP in the kernel, over its CUBIC.
pub(crate) const NATCP_IN_KERNEL: InKernel = InKernel {
    name: "cellcc_natcp",
    registry: "natcp",
    always: &[("fairness", "network"), ("fallback", "cubic")],
    since: CONTROL_WITH_FLAGS,
    calls: CUBIC,
    core: &CORE,
};

/// NACubic in the kernel.
pub(crate) const NACUBIC_IN_KERNEL: InKernel = InKernel {
    name: "cellcc_nacubic",
    registry: "nacubic",
    always: &[("fairness", "network")],
    since: LINKS,
    calls: CUBIC,
    core: &CORE,
};

/// A scheme that differs from the others in what the advice does to the base, in whose RTT makes the window, and in the base.
fn entry(
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    parameters: Vec<ParameterInfo>,
    parts: fn(&Arguments, &Context) -> Parts,
) -> SchemeInfo {
    SchemeInfo {
        name: name.into(),
        summary: summary.into(),
        source: source.into(),
        parameters,
        presets: Vec::new(),
        // The base is CUBIC, where it is not chosen.
        shows: [&SHOWS[..], &cellcc_control::growth::SHOWS].concat(),
        needs: needs(),
        build: Arc::new(move |arguments, context| {
            let (mode, delay, base) = parts(arguments, context);
            let config = Config { law: WindowLaw::read(arguments, context), mode, delay };
            Box::new(Assisted::new(config, base, arguments))
        }),
    }
}

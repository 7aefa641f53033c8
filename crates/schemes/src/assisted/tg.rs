//! The scheme `tg`: throughput guidance, the paper's baseline. Bandwidth from the network, RTT from the sender.

use super::fairness::Fairness;
use super::parameters::{common, fallback, needs};
use super::{Assisted, Config, Delay, Mode};
use cellcc_control::{Parameter, SchemeInfo, kind};
use std::sync::Arc;

const RTT: Parameter<kind::Choice<Delay>> = Parameter::new(
    "rtt",
    kind::Choice(&[("min", Delay::OwnMinimum), ("smoothed", Delay::OwnSmoothed)]),
    Delay::OwnSmoothed,
    "which of the sender's own RTTs makes the window",
    "paper, section 2.3: \"counts on RTT measurements at the server\"; its results come out with smoothed only",
);

pub(crate) fn tg() -> SchemeInfo {
    SchemeInfo {
        name: "tg".into(),
        summary: "throughput guidance: bandwidth from the base station, RTT as the sender measures it".into(),
        source: "draft-flinck-mobile-throughput-guidance-04; Abbasloo et al., HotEdge 2019, section 2.3"
            .into(),
        // No mechanism for fairness (paper, section 3): nobody counts the flows.
        parameters: [vec![RTT.into()], common(Fairness::None), vec![fallback().into()]].concat(),
        presets: Vec::new(),
        needs: needs(),
        build: Arc::new(|arguments, context| {
            let config = Config::read(arguments, context, Mode::Replace, arguments.get(&RTT));
            Box::new(Assisted::new(config, arguments.get(&fallback()).build(context), arguments))
        }),
    }
}

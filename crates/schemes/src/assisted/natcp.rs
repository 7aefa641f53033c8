//! The scheme `natcp`.

use super::fairness::Fairness;
use super::parameters::{common, fallback, needs};
use super::{Assisted, Config, Delay, Mode};
use cellcc_control::SchemeInfo;
use std::sync::Arc;

pub(crate) fn natcp() -> SchemeInfo {
    SchemeInfo {
        name: "natcp".into(),
        summary:
            "network assistance: two BDPs of the bandwidth and the minimum RTT that the base station tells"
                .into(),
        source: "Abbasloo et al., HotEdge 2019".into(),
        parameters: [common(Fairness::Network), vec![fallback().into()]].concat(),
        presets: Vec::new(),
        needs: needs(),
        build: Arc::new(|arguments, context| {
            let config = Config::read(arguments, context, Mode::Replace, Delay::Advised);
            Box::new(Assisted::new(config, arguments.get(&fallback()).build(context), arguments))
        }),
    }
}

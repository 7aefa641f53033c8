//! The schemes `nacubic` and `nacap`: a window law or scheme that goes on growing, under the cap of the advice.

use super::fairness::Fairness;
use super::parameters::{base, common, needs};
use super::{Assisted, Config, Delay, Mode};
use crate::loss_based::{HYSTART, LossBased, hystart_mode};
use cellcc_control::{Arguments, Context, SchemeInfo, growth::Cubic};
use std::sync::Arc;

pub(crate) fn nacubic() -> SchemeInfo {
    SchemeInfo {
        name: "nacubic".into(),
        summary: "CUBIC under the window and the rate that the base station's advice allows".into(),
        source: "Abbasloo et al., HotEdge 2019".into(),
        parameters: [vec![HYSTART.into()], common(Fairness::Network)].concat(),
        presets: Vec::new(),
        needs: needs(),
        build: Arc::new(|arguments, context| {
            let cubic = LossBased::new(Cubic::new(context, hystart_mode(arguments)));
            Box::new(Assisted::new(config(arguments, context), Box::new(cubic), arguments))
        }),
    }
}

pub(crate) fn nacap() -> SchemeInfo {
    SchemeInfo {
        name: "nacap".into(),
        summary: "any scheme under the window and the rate that the base station's advice allows".into(),
        source: "Abbasloo et al., HotEdge 2019".into(),
        parameters: [vec![base().into()], common(Fairness::Network)].concat(),
        presets: Vec::new(),
        needs: needs(),
        build: Arc::new(|arguments, context| {
            let base = arguments.get(&base()).build(context);
            Box::new(Assisted::new(config(arguments, context), base, arguments))
        }),
    }
}

fn config(arguments: &Arguments, context: &Context) -> Config {
    Config::read(arguments, context, Mode::Cap, Delay::Advised)
}

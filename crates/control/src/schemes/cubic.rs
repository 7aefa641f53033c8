//! The scheme `cubic`: the growth law [`Cubic`], alone.

use super::loss_based::{HYSTART, LossBased, hystart_mode};
use crate::contract::Context;
use crate::growth::{Cubic, HystartMode};
use crate::info::{Needs, SchemeInfo};
use crate::inner::InnerScheme;
use std::sync::Arc;

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "cubic".into(),
        summary: "a cubic function of the time since the last loss; the default of Linux, Windows and macOS"
            .into(),
        source: "RFC 9438".into(),
        parameters: vec![HYSTART.into()],
        presets: Vec::new(),
        needs: Needs::NOTHING,
        build: Arc::new(|arguments, context| Box::new(cubic(hystart_mode(arguments), context))),
    }
}

/// CUBIC as the default of a parameter that takes a scheme.
pub(super) fn inner() -> InnerScheme {
    InnerScheme::new("cubic", |context| Box::new(cubic(HystartMode::Off, context)))
}

fn cubic(hystart: HystartMode, context: &Context) -> LossBased<Cubic> {
    LossBased::new(Cubic::new(context, hystart))
}

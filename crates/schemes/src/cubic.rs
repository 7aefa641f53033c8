//! The scheme `cubic`: the growth law [`Cubic`], alone.

use super::loss_based::{HYSTART, LossBased, hystart_mode};
use cellcc_control::{
    InnerScheme, Needs, Parameter, SchemeInfo,
    growth::{Cubic, CubicVariant, HystartMode},
    kind,
};
use std::sync::Arc;

const VARIANT: Parameter<kind::Choice<CubicVariant>> = Parameter::new(
    "variant",
    kind::Choice(&[("rfc9438", CubicVariant::Rfc9438), ("linux", CubicVariant::Linux)]),
    CubicVariant::Rfc9438,
    "`linux`: a cut leaves whole packets, and growth stays Reno's above the window of the last loss",
    "RFC 9438; Linux: tcp_cubic.c",
);

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "cubic".into(),
        summary: "a cubic function of the time since the last loss; the default of Linux, Windows and macOS"
            .into(),
        source: "RFC 9438".into(),
        parameters: vec![HYSTART.into(), VARIANT.into()],
        presets: Vec::new(),
        shows: cellcc_control::growth::SHOWS.to_vec(),
        needs: Needs::NOTHING,
        build: Arc::new(|arguments, context| {
            let law = Cubic::new(context, hystart_mode(arguments)).with_variant(arguments.get(&VARIANT));
            Box::new(LossBased::new(law))
        }),
    }
}

/// CUBIC as the default of a parameter that takes a scheme.
pub(super) fn inner() -> InnerScheme {
    InnerScheme::new("cubic", |context| Box::new(LossBased::new(Cubic::new(context, HystartMode::Off))))
}

//! A growth law as a scheme by itself: the window is the law's, and nothing is paced. The schemes `cubic` and `newreno`.

use cellcc_control::{
    Ack, Controller, Event, InnerScheme, Limits, Loss, Observer, Parameter, Preset, SchemeInfo,
    growth::{Cubic, CubicVariant, Growth, NewReno, SlowStart},
    kind,
};
use cellcc_units::Time;

/// A scheme that is its growth law.
#[derive(Debug, Clone)]
pub(crate) struct LossBased<G> {
    law: G,
}

impl<G: Growth + Clone> LossBased<G> {
    /// The scheme of `law`.
    pub(crate) fn new(law: G) -> Self {
        Self { law }
    }
}

impl<G: Growth + Clone> Controller for LossBased<G> {
    fn hears_departures(&self) -> bool {
        false
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.law.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.law.on_loss(loss);
    }

    fn on_event(&mut self, now: Time, event: Event) {
        self.law.on_event(now, event);
    }

    fn limits(&self) -> Limits {
        Limits::window_only(self.law.window())
    }

    fn observe(&self, observer: &mut dyn Observer) {
        self.law.observe(observer);
    }
}

/// The choice that the loss-based schemes have.
pub(super) const HYSTART: Parameter<kind::Choice<SlowStart>> = Parameter::new(
    "hystart",
    kind::Choice(&[
        ("off", SlowStart::UntilLoss),
        ("on", SlowStart::HystartPlusPlus),
        ("linux", SlowStart::Linux),
    ]),
    SlowStart::UntilLoss,
    "slow start ends before a loss: `on`, HyStart++, when the RTT rises; `linux`, Linux's HyStart, also when acknowledgements arrive \
     for more than half an RTT without a pause",
    "RFC 9406; optional to RFC 5681 and RFC 9438 (section 4.10), hence off; Linux: tcp_cubic.c",
);

const SLOW_START: Parameter<kind::Choice<Option<SlowStart>>> = Parameter::new(
    "slow-start",
    kind::Choice(&[("hystart", None), ("search", Some(SlowStart::Search))]),
    None,
    "end of slow start: as `hystart` says, or `search`, SEARCH, when a quarter of the data sent an RTT ago has not arrived",
    "draft-chung-ccwg-search-09",
);

const VARIANT: Parameter<kind::Choice<CubicVariant>> = Parameter::new(
    "variant",
    kind::Choice(&[("rfc9438", CubicVariant::Rfc9438), ("linux", CubicVariant::Linux)]),
    CubicVariant::Rfc9438,
    "`linux`: a cut leaves whole packets, growth stays Reno's above the window of the last loss",
    "RFC 9438; Linux: tcp_cubic.c",
);

/// The scheme `cubic`: the growth law [`Cubic`], alone.
pub(super) fn cubic() -> SchemeInfo {
    SchemeInfo::new(
        "cubic",
        "a cubic function of the time since the last loss; the default of Linux, Windows and macOS",
        "RFC 9438",
        |arguments, context| {
            let slow_start = arguments.get(&SLOW_START).unwrap_or(arguments.get(&HYSTART));
            let law = Cubic::new(context, slow_start).with_variant(arguments.get(&VARIANT));
            Box::new(LossBased::new(law))
        },
    )
    .parameters(vec![HYSTART.into(), SLOW_START.into(), VARIANT.into()])
    .presets(vec![
        Preset {
            parameter: VARIANT.name,
            name: "rfc9438".into(),
            summary: "the RFC: every default".into(),
            source: "RFC 9438".into(),
            sets: "".into(),
        },
        Preset {
            parameter: VARIANT.name,
            name: "linux".into(),
            summary: "Linux 6.18, with its HyStart".into(),
            source: "Linux: tcp_cubic.c".into(),
            sets: "hystart=linux".into(),
        },
    ])
    .shows(&cellcc_control::growth::SHOWS)
    .in_linux(&[("hystart", "linux"), ("variant", "linux")])
}

/// CUBIC as the default of a parameter that takes a scheme.
pub(super) fn inner_cubic() -> InnerScheme {
    InnerScheme::new("cubic", |context| Box::new(LossBased::new(Cubic::new(context, SlowStart::UntilLoss))))
}

/// The scheme `newreno`: the growth law [`NewReno`], alone.
pub(super) fn newreno() -> SchemeInfo {
    SchemeInfo::new(
        "newreno",
        "one packet more per RTT, half the window at a loss",
        "RFC 5681, RFC 6582, RFC 9002 section 7",
        |arguments, context| {
            Box::new(LossBased::new(NewReno::with_hystart(context, arguments.get(&HYSTART))))
        },
    )
    .parameters(vec![HYSTART.into()])
    .shows(&cellcc_control::growth::SHOWS[..1])
}

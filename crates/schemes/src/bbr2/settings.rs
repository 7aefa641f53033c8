//! What can be set in BBR v2, and the constants in which the draft and Google's alpha code differ.

use super::{Bbr2, model};
use cellcc_control::{Needs, Parameter, SchemeInfo, ShownValue, kind};
use std::sync::Arc;

const PROFILE: Parameter<kind::Choice<Gains>> = Parameter::new(
    "profile",
    kind::Choice(&[("draft02", Gains::DRAFT02), ("alpha", Gains::ALPHA)]),
    Gains::DRAFT02,
    "the draft, or Google's code for Linux",
    "draft-cardwell-iccrg-bbr-congestion-control-02; google/bbr, branch v2alpha",
);

/// What it shows besides the model.
const SHOWS: [ShownValue; 1] =
    [ShownValue::number("inflight_hi_pkt", "how much may be in flight, as far as losses have said")];

pub(in super::super) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "bbr2".into(),
        summary: "BBR v2: learns from loss how much the path holds, and probes every two to three seconds"
            .into(),
        source: "draft-cardwell-iccrg-bbr-congestion-control-02".into(),
        parameters: vec![PROFILE.into()],
        presets: Vec::new(),
        shows: [&model::SHOWS[..], &SHOWS].concat(),
        needs: Needs::NOTHING,
        build: Arc::new(|arguments, context| Box::new(Bbr2::new(arguments.get(&PROFILE), context))),
    }
}

/// The constants of a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gains {
    pub(super) startup_pacing: f64,
    /// Drain paces at its inverse.
    pub(super) startup_cwnd: f64,
    pub(super) down: f64,
    pub(super) up: f64,
    /// Reports of losses in a round that end Startup.
    pub(super) startup_losses: u32,
    /// Up ends at `inflight_hi` where the probe before met losses.
    pub(super) stops_at_bound: bool,
}

impl Gains {
    /// Draft sections 2.5, 4.3.1.3, 4.3.2, 4.3.3.1 and 4.3.3.4.
    const DRAFT02: Self = Self {
        startup_pacing: 2.77,
        startup_cwnd: 2.0,
        down: 0.9,
        up: 1.25,
        startup_losses: 3,
        stops_at_bound: false,
    };
    /// v2alpha: `bbr_startup_pacing_gain`, `bbr_startup_cwnd_gain`, `bbr_pacing_gain`, `bbr_full_loss_cnt`,
    /// `bbr2_update_cycle_phase`.
    const ALPHA: Self = Self {
        startup_pacing: 2.885,
        startup_cwnd: 2.885,
        down: 0.75,
        up: 1.25,
        startup_losses: 8,
        stops_at_bound: true,
    };
}

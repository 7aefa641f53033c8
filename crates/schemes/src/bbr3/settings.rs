//! What can be set in BBR v3, and where the draft and Google's code differ.

use super::Bbr3;
use crate::bbr2::model;
use cellcc_control::{Needs, Parameter, SchemeInfo, ShownValue, kind};
use std::sync::Arc;

const PROFILE: Parameter<kind::Choice<Constants>> = Parameter::new(
    "profile",
    kind::Choice(&[("draft", Constants::DRAFT), ("google", Constants::GOOGLE)]),
    Constants::DRAFT,
    "the draft, or Google's code for Linux",
    "draft-ietf-ccwg-bbr; google/bbr, branch v3",
);

/// What it shows besides the model.
const SHOWS: [ShownValue; 3] = [
    ShownValue::number(
        "inflight_longterm_pkt",
        "how much may be in flight, as far as lossy probes have said",
    ),
    ShownValue::number("inflight_shortterm_pkt", "how much may be in flight until the next probe"),
    ShownValue::number("extra_acked_pkt", "how much more than expected is acknowledged at once"),
];

pub(in super::super) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "bbr3".into(),
        summary: "BBR v3: BBR v2 whose probes end where the bandwidth no longer rises".into(),
        source: "draft-ietf-ccwg-bbr, August 2026; google/bbr, branch v3".into(),
        parameters: vec![PROFILE.into()],
        presets: Vec::new(),
        shows: [&model::SHOWS[..], &SHOWS].concat(),
        needs: Needs::NOTHING,
        build: Arc::new(|arguments, context| Box::new(Bbr3::new(arguments.get(&PROFILE), context))),
    }
}

/// The constants and habits of a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Constants {
    /// Pacing gains of Drain and Down.
    pub(super) drain: f64,
    pub(super) down: f64,
    /// Drain ends after three rounds, whatever is in flight.
    pub(super) drain_has_limit: bool,
    /// A rise of the bandwidth within a round counts.
    pub(super) rises_at_any_ack: bool,
    /// The losses that an acknowledgement's sample tells of lower the long-term bound, as lost packets do.
    pub(super) acks_lower_the_bound: bool,
    /// Aggregation as the maximum of exactly ten rounds, not of two slots and 100 ms.
    pub(super) exact_aggregation: bool,
    /// Room for three send quanta, and not for one and an acknowledgement that is held back.
    pub(super) three_quanta: bool,
    /// A spurious loss gives back the state that it ended.
    pub(super) restores_states: bool,
}

impl Constants {
    /// Draft sections 2.5, 5.3.1, 5.3.2, 5.5.8, 5.5.9, 5.5.10, 5.5.11 and 5.6.1.
    const DRAFT: Self = Self {
        drain: 0.5,
        down: 0.9,
        drain_has_limit: true,
        rises_at_any_ack: false,
        acks_lower_the_bound: false,
        exact_aggregation: true,
        three_quanta: false,
        restores_states: true,
    };
    /// `bbr_drain_gain` (1 / 2.885), `bbr_pacing_gain`, `bbr_check_full_bw_reached`, `bbr_adapt_upper_bounds`,
    /// `bbr_update_ack_aggregation`, `bbr_quantization_budget`, `bbr_undo_cwnd`.
    const GOOGLE: Self = Self {
        drain: 1.0 / 2.885,
        down: 0.91,
        drain_has_limit: false,
        rises_at_any_ack: true,
        acks_lower_the_bound: true,
        exact_aggregation: false,
        three_quanta: true,
        restores_states: false,
    };
}

//! The name and the parameters of BBR.

use super::{Bbr, CWND_GAIN, Config, MaxFilter};
use cellcc_control::{Needs, Parameter, Sampler, SchemeInfo, ShownValue, kind};
use std::sync::Arc;

const AGGREGATION: Parameter<kind::Switch> = Parameter::new(
    "aggregation",
    kind::Switch,
    true,
    "a larger window where ACKs arrive in bursts",
    "Linux tcp_bbr.c; not in the draft",
);

const SAMPLER: Parameter<kind::Choice<Sampler>> = Parameter::new(
    "sampler",
    kind::Choice(&[("min", Sampler::Min), ("max", Sampler::Max)]),
    Sampler::Min,
    "delivery rate by the longer (min) or the shorter (max) of sending and ACK interval",
    "min: draft-cheng-iccrg-delivery-rate-estimation-02, Linux; max: mvfst 2020",
);

const PACING: Parameter<kind::Switch> = Parameter::new(
    "pacing",
    kind::Switch,
    true,
    "paces; off leaves the window as the only limit",
    "on: draft section 4.2.1; off: the default of mvfst's tperf server, 2020",
);

/// The states as they are shown, by their numbers.
pub(super) const STATES: [&str; 4] = ["startup", "drain", "probe_bw", "probe_rtt"];

/// What it shows.
pub(crate) const SHOWS: [ShownValue; 6] = [
    ShownValue::state("state", "the state of the machine", &STATES),
    ShownValue::number("btl_bw_mbit_s", "the bandwidth that the gains apply to"),
    ShownValue::number("min_rtt_ms", "the smallest RTT of ten seconds"),
    ShownValue::number("pacing_gain", "pacing rate / bandwidth"),
    ShownValue::number("cwnd_gain", "window / bandwidth-delay product"),
    ShownValue::switch("full_pipe", "startup has found the bandwidth"),
];

pub(crate) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "bbr".into(),
        summary: "BBR v1: paces at the measured bandwidth with about one BDP in flight".into(),
        source: "draft-cardwell-iccrg-bbr-congestion-control-00; Linux tcp_bbr.c".into(),
        parameters: vec![AGGREGATION.into(), SAMPLER.into(), PACING.into()],
        presets: Vec::new(),
        shows: SHOWS.to_vec(),
        needs: Needs::NOTHING,
        build: Arc::new(|arguments, context| {
            let config = Config {
                aggregation: arguments.get(&AGGREGATION),
                pacing: arguments.get(&PACING),
                cwnd_gain: CWND_GAIN,
            };
            Box::new(Bbr::new(context, config, MaxFilter::new(arguments.get(&SAMPLER))))
        }),
    }
}

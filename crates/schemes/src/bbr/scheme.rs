//! The name and the parameters of BBR.

use super::{Bbr, CWND_GAIN, Config, MaxFilter};
use cellcc_control::{Needs, Parameter, Sampler, SchemeInfo, kind};
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

pub(crate) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "bbr".into(),
        summary: "BBR v1: paces at the measured bandwidth with about one BDP in flight".into(),
        source: "draft-cardwell-iccrg-bbr-congestion-control-00; Linux tcp_bbr.c".into(),
        parameters: vec![AGGREGATION.into(), SAMPLER.into(), PACING.into()],
        presets: Vec::new(),
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

//! The name and the parameters of BBR.

use super::{Bbr, CWND_GAIN, Config, MaxFilter};
use crate::contract::Sampler;
use crate::parameter::{Kind, Parameter};
use crate::{Needs, SchemeInfo};

pub(in crate::schemes) const SCHEME: SchemeInfo = SchemeInfo {
    name: "bbr",
    summary: "BBR v1: paces at the measured bandwidth with about one BDP in flight",
    source: "draft-cardwell-iccrg-bbr-congestion-control-00; Linux tcp_bbr.c",
    parameters: &[
        Parameter {
            name: "aggregation",
            kind: Kind::Switch,
            default: "on",
            meaning: "a larger window where ACKs arrive in bursts",
            source: "Linux tcp_bbr.c; not in the draft",
        },
        Parameter {
            name: "sampler",
            kind: Kind::Choice(&["min", "max"]),
            default: "min",
            meaning: "delivery rate by the longer (min) or the shorter (max) of sending and ACK interval",
            source: "min: draft-cheng-iccrg-delivery-rate-estimation-02, Linux; max: mvfst 2020",
        },
        Parameter {
            name: "pacing",
            kind: Kind::Switch,
            default: "on",
            meaning: "paces; off leaves the window as the only limit",
            source: "on: draft section 4.2.1; off: the default of mvfst's tperf server, 2020",
        },
    ],
    needs: Needs::NOTHING,
    build: |arguments, context| {
        let sampler = if arguments.choice("sampler") == "max" { Sampler::Max } else { Sampler::Min };
        let (aggregation, pacing) = (arguments.switch("aggregation"), arguments.switch("pacing"));
        let config = Config { aggregation, pacing, cwnd_gain: CWND_GAIN };
        Box::new(Bbr::new(context, config, MaxFilter::new(sampler)))
    },
};

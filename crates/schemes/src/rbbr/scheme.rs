//! The name of RBBR, and how its sender and its receiver-side component are built.

use super::Rbbr;
use super::receiver::RbbrReceiver;
use super::settings::{ReceiverSettings, SenderSettings, parameters, presets};
use cellcc_control::{Needs, SchemeInfo, ShownValue};
use std::sync::Arc;

/// What it shows.
const SHOWS: [ShownValue; 5] = [
    ShownValue::switch(
        "uses_feedback",
        "the bandwidth is what the receiver says, not what the sender measures",
    ),
    ShownValue::number("x_hat_mbit_s", "the receiver's filtered rate, which it feeds back"),
    ShownValue::number("sample_mbit_s", "the receiver's last sample of the rate"),
    ShownValue::number("gain", "the gain of the receiver's filter"),
    ShownValue::switch("frozen", "the receiver's estimation is suspended"),
];

pub(crate) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "rbbr".into(),
        summary: "RBBR: BBR with the bandwidth that the receiver measures and filters".into(),
        source: "Haile, Grinnemo, Hurtig, Brunstrom: RBBR, IEEE Access 2022".into(),
        parameters: parameters(),
        presets: presets(),
        shows: [&crate::bbr::SHOWS[..], &SHOWS].concat(),
        needs: Needs {
            receiver: Some(Arc::new(|arguments, _| {
                Some(Box::new(RbbrReceiver::new(&ReceiverSettings::read(arguments))))
            })),
            ..Needs::NOTHING
        },
        build: Arc::new(|arguments, context| Box::new(Rbbr::new(context, &SenderSettings::read(arguments)))),
    }
}

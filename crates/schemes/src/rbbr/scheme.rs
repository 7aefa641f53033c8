//! The name of RBBR, and how its sender and its receiver-side component are built.

use super::Rbbr;
use super::receiver::RbbrReceiver;
use super::settings::{ReceiverSettings, SenderSettings, parameters, presets};
use cellcc_control::{Needs, SchemeInfo};
use std::sync::Arc;

pub(crate) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "rbbr".into(),
        summary: "RBBR: BBR with the bandwidth that the receiver measures and filters".into(),
        source: "Haile, Grinnemo, Hurtig, Brunstrom: RBBR, IEEE Access 2022".into(),
        parameters: parameters(),
        presets: presets(),
        needs: Needs {
            receiver: Some(Arc::new(|arguments, _| {
                Some(Box::new(RbbrReceiver::new(&ReceiverSettings::read(arguments))))
            })),
            ..Needs::NOTHING
        },
        build: Arc::new(|arguments, context| Box::new(Rbbr::new(context, &SenderSettings::read(arguments)))),
    }
}

//! The name of RBBR, and how its sender and its receiver-side component are built.

use super::Rbbr;
use super::receiver::RbbrReceiver;
use super::settings::{PARAMETERS, ReceiverSettings, SenderSettings};
use crate::{Needs, SchemeInfo};

pub(in crate::schemes) const SCHEME: SchemeInfo = SchemeInfo {
    name: "rbbr",
    summary: "RBBR: BBR with the bandwidth that the receiver measures and filters",
    source: "Haile, Grinnemo, Hurtig, Brunstrom: RBBR, IEEE Access 2022",
    parameters: PARAMETERS,
    needs: Needs {
        receiver: Some(|arguments, _| Some(Box::new(RbbrReceiver::new(&ReceiverSettings::read(arguments))))),
        ..Needs::NOTHING
    },
    build: |arguments, context| Box::new(Rbbr::new(context, &SenderSettings::read(arguments))),
};

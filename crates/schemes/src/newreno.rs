//! The scheme `newreno`: the growth law [`NewReno`], alone.

use super::loss_based::{HYSTART, LossBased, hystart_mode};
use cellcc_control::{Needs, SchemeInfo, growth::NewReno};
use std::sync::Arc;

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "newreno".into(),
        summary: "one packet more per RTT, half the window at a loss".into(),
        source: "RFC 5681, RFC 6582, RFC 9002 section 7".into(),
        parameters: vec![HYSTART.into()],
        presets: Vec::new(),
        shows: cellcc_control::growth::SHOWS[..1].to_vec(),
        needs: Needs::NOTHING,
        build: Arc::new(|arguments, context| {
            Box::new(LossBased::new(NewReno::with_hystart(context, hystart_mode(arguments))))
        }),
    }
}

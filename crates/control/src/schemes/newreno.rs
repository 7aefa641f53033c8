//! The scheme `newreno`: the growth law [`NewReno`], alone.

use super::loss_based::{HYSTART, LossBased, hystart_mode};
use crate::growth::NewReno;
use crate::{Needs, SchemeInfo};

pub(super) const SCHEME: SchemeInfo = SchemeInfo {
    name: "newreno",
    summary: "one packet more per RTT, half the window at a loss",
    source: "RFC 5681, RFC 6582, RFC 9002 section 7",
    parameters: &[HYSTART],
    needs: Needs::NOTHING,
    build: |arguments, context| {
        Box::new(LossBased::new(NewReno::with_hystart(context, hystart_mode(arguments))))
    },
};

//! The scheme `cubic`: the growth law [`Cubic`], alone.

use super::loss_based::{HYSTART, LossBased, hystart_mode};
use crate::growth::Cubic;
use crate::{Needs, SchemeInfo};

pub(super) const SCHEME: SchemeInfo = SchemeInfo {
    name: "cubic",
    summary: "a cubic function of the time since the last loss; the default of Linux, Windows and macOS",
    source: "RFC 9438",
    parameters: &[HYSTART],
    needs: Needs::NOTHING,
    build: |arguments, context| Box::new(LossBased::new(Cubic::new(context, hystart_mode(arguments)))),
};

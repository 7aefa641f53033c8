//! One file or folder per scheme. Each exports a `SCHEME`: its name, its parameters and how to build it; the list
//! below is what the registry begins with.

use crate::SchemeInfo;

mod assisted;
mod bbr;
mod cubic;
mod fixed_rate;
mod fixed_window;
mod loss_based;
mod newreno;
mod rbbr;
mod reminis;
mod vegas;
mod verus;

pub use bbr::{BandwidthSource, Bbr, Config as BbrConfig, MaxFilter, Phase as BbrPhase};
pub use fixed_rate::FixedRate;
pub use fixed_window::FixedWindow;
pub use loss_based::LossBased;
pub use rbbr::{Estimation, RateFeedback, RateSignal, WireError as RbbrWireError};
pub use vegas::{Thresholds as VegasThresholds, Vegas};

/// The schemes that come with cellcc, in the order in which they are listed.
pub(crate) const BUILTIN: &[SchemeInfo] = &[
    reminis::SCHEME,
    rbbr::SCHEME,
    assisted::NATCP,
    assisted::NACUBIC,
    assisted::NACAP,
    assisted::TG,
    assisted::NABBR,
    verus::SCHEME,
    cubic::SCHEME,
    newreno::SCHEME,
    bbr::SCHEME,
    vegas::SCHEME,
    fixed_window::SCHEME,
    fixed_rate::SCHEME,
];

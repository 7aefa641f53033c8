//! A MEC platform's layer-2 measurements: read here, and served by the [daemon](crate::daemon) to MEC applications.
//!
//! There is no subscription for them, so they are asked for, and they tell what was served without telling what waited: a bandwidth
//! is a lower bound (`Evidence::Served`). Not tried: a live platform.
//!
//! Platforms differ. What can be meant in one way only is read: one `cellUEInfo` without a list around it (Simu5G), no `timeStamp` or
//! one of zero (optional in AdvantEDGE; the answer's arrival counts then), a cell as a number, a kind of identifier as a text, and
//! a list of identifiers of one user, of which the first that can be read counts.

mod kind;
mod reader;

pub use kind::MecLayer2;
pub use reader::MecReader;

use cellcc_units::Span;
use serde::{Deserialize, Serialize};

/// A time since 1970.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TimeStamp {
    /// Whole seconds.
    pub(crate) seconds: u64,
    /// The rest, below 1,000,000,000.
    pub(crate) nano_seconds: u32,
}

impl TimeStamp {
    /// The whole.
    pub(crate) fn since_1970(self) -> Result<Span, String> {
        let nanos = self.seconds.checked_mul(1_000_000_000);
        let nanos = nanos.and_then(|nanos| nanos.checked_add(self.nano_seconds.into()));
        nanos.map(Span::from_nanos).ok_or_else(|| "a time stamp beyond 584 years".into())
    }
}

//! The congestion controllers that come with noq, by their names in Scenarios.

use super::tap::Factory;
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use std::sync::Arc;

/// A controller that a driver runs as noq would.
#[derive(Clone)]
pub(super) struct Foreign {
    pub(super) name: String,
    pub(super) factory: Factory,
    /// What the reader of a Record must know.
    pub(super) note: Option<&'static str>,
}

const UNSEEDED: &str = "`noq:bbr3` draws the times of its probes from the system's random generator, \
                        which noq's public settings cannot seed: the same run gives other numbers each time";

/// noq's own.
pub(super) fn noqs() -> [Foreign; 3] {
    let foreign = |name: &str, factory: Factory, note| Foreign { name: name.into(), factory, note };
    [
        foreign("noq:newreno", Arc::new(NewRenoConfig::default()), None),
        foreign("noq:cubic", Arc::new(CubicConfig::default()), None),
        foreign("noq:bbr3", Arc::new(Bbr3Config::default()), Some(UNSEEDED)),
    ]
}

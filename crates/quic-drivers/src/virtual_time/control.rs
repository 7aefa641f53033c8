//! The congestion control of a flow: a scheme of cellcc, or a controller of noq's interface that knows nothing of cellcc.

use super::tap::{Factory, Tap};
use cellcc_control::{Advice, Limits, Observed, Observer};
use cellcc_quic::DrivenFlow;
use cellcc_units::{Span, Time};
use noq_proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
use std::sync::Arc;
use std::time::Instant;

pub(super) enum Control {
    Ours(DrivenFlow),
    Foreign(Tap),
}

impl Control {
    /// The handle of a scheme of cellcc, which has timers, advice and a receiver-side component.
    pub(super) fn ours(&self) -> Option<&DrivenFlow> {
        match self {
            Self::Ours(handle) => Some(handle),
            Self::Foreign(_) => None,
        }
    }

    pub(super) fn next_timer(&self) -> Time {
        self.ours().and_then(DrivenFlow::next_timer).unwrap_or(Time::NEVER)
    }

    pub(super) fn on_time(&self, now: Instant) {
        self.ours().map(|handle| handle.on_time(now));
    }

    pub(super) fn on_advice(&self, now: Instant, advice: &Advice) {
        self.ours().map(|handle| handle.on_advice(now, advice));
    }

    pub(super) fn take_rtt_samples(&self) -> Vec<(Time, Span)> {
        match self {
            Self::Ours(handle) => handle.take_rtt_samples(),
            Self::Foreign(tap) => tap.take_rtt_samples(),
        }
    }

    /// Its limits, and the number of packets declared lost.
    pub(super) fn limits_and_lost(&self) -> (Limits, u64) {
        match self {
            Self::Ours(handle) => {
                let snapshot = handle.snapshot();
                (snapshot.limits, snapshot.packets.lost)
            }
            Self::Foreign(tap) => (tap.limits(), tap.lost()),
        }
    }

    pub(super) fn decisions(&self) -> u64 {
        match self {
            Self::Ours(handle) => handle.decisions(),
            Self::Foreign(tap) => tap.decisions(),
        }
    }

    pub(super) fn observe(&self, observed: &mut Observed) {
        observed.value("lost", "pkt", self.limits_and_lost().1 as f64);
        match self {
            Self::Ours(handle) => handle.observe(observed),
            Self::Foreign(tap) => tap.observe(observed),
        }
    }
}

// The congestion controllers that come with noq, by their names in Scenarios.

/// A controller that a driver runs as noq would.
#[derive(Clone)]
pub(super) struct Foreign {
    pub(super) name: String,
    pub(super) factory: Factory,
    /// The note for the reader of a Record.
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

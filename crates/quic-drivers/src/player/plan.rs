//! What both ends of a flow know.

use cellcc_experiment::{Application, Endpoint, FlowSetup, Scenario};
use cellcc_quic::Clock;
use cellcc_units::{Span, Time};

/// A flow that starts later than this is connected before: a handshake is one and a half round-trip times, once more
/// where a queue is full.
const CONNECTED_BEFORE: Span = Span::from_secs(1);

/// What both ends of a flow know.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// The emulation's.
    pub(super) clock: Clock,
    pub(super) setup: FlowSetup,
    pub(super) endpoint: Endpoint,
    /// Whole bins of the run's time series.
    pub(super) bins: usize,
    /// When the flow's data stop.
    pub(super) stop: Time,
    /// When what was on its way then has arrived.
    pub(super) until: Time,
    end: Time,
}

impl Plan {
    pub(super) fn new(scenario: &Scenario, index: usize, clock: Clock, until: Time) -> Self {
        let setup = scenario.flows[index].clone();
        let end = Time::ZERO + scenario.duration;
        Self {
            clock,
            stop: setup.stop.unwrap_or(end).min(end),
            setup,
            endpoint: scenario.endpoint.clone(),
            bins: scenario.series_bins(),
            until,
            end,
        }
    }

    /// What the flow has to send.
    pub(super) fn application(&self) -> Application {
        Application::new(&self.setup, &self.endpoint, self.end)
    }

    /// When the connection is to be made.
    pub(super) fn connect_at(&self) -> Time {
        Time::ZERO + self.setup.start.since(Time::ZERO).saturating_sub(CONNECTED_BEFORE)
    }
}

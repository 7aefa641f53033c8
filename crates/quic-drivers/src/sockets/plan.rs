//! The settings that both ends of a flow share.

use cellcc_experiment::{Application, Endpoint, FlowSetup, Scenario};
use cellcc_quic::Clock;
use cellcc_units::{Span, Time};

/// A flow's connection opens this long before its start: a handshake takes one and a half round-trip times, and as long
/// again behind a full queue.
const CONNECT_AHEAD: Span = Span::from_secs(1);

/// The settings that both ends of a flow share.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// The emulation's clock.
    pub(super) clock: Clock,
    pub(super) setup: FlowSetup,
    pub(super) endpoint: Endpoint,
    /// Number of whole bins in the run's time series.
    pub(super) bins: usize,
    /// When the flow stops sending.
    pub(super) stop: Time,
    /// When the last data on their way have arrived.
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

    /// The flow's application.
    pub(super) fn application(&self) -> Application {
        Application::new(&self.setup, &self.endpoint, self.end)
    }

    /// When the connection is to be made.
    pub(super) fn connect_at(&self) -> Time {
        Time::ZERO + self.setup.start.since(Time::ZERO).saturating_sub(CONNECT_AHEAD)
    }
}

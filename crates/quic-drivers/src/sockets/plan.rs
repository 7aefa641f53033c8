//! The settings that both ends of a flow share.

use crate::certificate::Tls;
use cellcc_experiment::{AckFrequency, Application, Endpoint, FlowSetup, Scenario};
use cellcc_quic::{Clock, Congestion};
use cellcc_units::{Span, Time};
use noq::{AckFrequencyConfig, ClientConfig, ServerConfig, TransportConfig, VarInt};
use std::sync::Arc;
use std::time::Duration;

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
            endpoint: Endpoint::clone(&scenario.endpoint),
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

// noq's settings for the two ends of a flow.

/// UDP payload of a packet of 1500 bytes over IPv4: the emulated MTU.
const FULL_PAYLOAD: u16 = 1472;

/// Most bytes in a stream; then the next begins. They are 720 packets: noq closes a connection when a stream has more than
/// 1024 gaps (`MAX_CHUNKS` in noq-proto 1.4).
pub(super) const STREAM_BYTES: u32 = 1 << 20;

/// Streams that may be open at a time. Together they hold 1 GiB, beyond any window; as frames, 17 s.
const STREAMS: u32 = 1024;

/// Settings of the sender, which accepts the connection.
pub(super) fn server(tls: &Tls, congestion: &Congestion, plan: &Plan) -> ServerConfig {
    let mut config = ServerConfig::with_crypto(Arc::clone(&tls.server) as _);
    let mut transport = transport();
    congestion.install(&mut transport);
    transport.ack_frequency_config(Some(ack_frequency(&plan.endpoint)));
    config.transport_config(Arc::new(transport));
    config
}

/// Settings of the receiver, which connects. It sends little, with noq's own congestion control.
pub(super) fn client(tls: &Tls) -> ClientConfig {
    let mut config = ClientConfig::new(Arc::clone(&tls.client) as _);
    config.transport_config(Arc::new(transport()));
    config
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(FULL_PAYLOAD)
        .min_mtu(FULL_PAYLOAD)
        .mtu_discovery_config(None)
        // A run ends by itself, and may contain outages.
        .max_idle_timeout(None)
        .max_concurrent_uni_streams(VarInt::from_u32(STREAMS))
        // Flow control never blocks a stream.
        .stream_receive_window(VarInt::from_u32(STREAM_BYTES))
        // Data written first are sent first.
        .send_fairness(false);
    transport
}

/// The sender's request to the receiver.
fn ack_frequency(endpoint: &Endpoint) -> AckFrequencyConfig {
    let mut asked = AckFrequencyConfig::default();
    let AckFrequency { threshold, max_ack_delay, reordering } = endpoint.ack_frequency();
    asked
        .ack_eliciting_threshold(VarInt::from_u32(threshold))
        .max_ack_delay(Some(Duration::from_nanos(max_ack_delay.as_nanos())))
        .reordering_threshold(VarInt::from_u32(reordering));
    asked
}

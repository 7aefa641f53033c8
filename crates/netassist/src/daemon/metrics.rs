//! What is counted, in the form of Prometheus.

use super::probes::Probes;
use crate::transport::Server;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the sources have told.
#[derive(Debug, Default)]
pub(super) struct SourceCounts {
    /// What was no measurement.
    pub(super) problems: AtomicU64,
    /// Sources that have ended.
    pub(super) ended: AtomicU64,
}

/// All metrics, read when they are asked for.
pub(super) fn registry(server: Server, sources: Arc<SourceCounts>, probes: Probes) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(All { server, sources, probes }));
    registry
}

#[derive(Debug)]
struct All {
    server: Server,
    sources: Arc<SourceCounts>,
    probes: Probes,
}

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (core, server) = self.server.counts();
        let (clients, subscriptions, known_users) = self.server.sizes();
        for (name, help, value) in [
            ("netassist_clients", "Clients that are connected", clients),
            (
                "netassist_subscriptions",
                "Users that clients are told about, one for each client",
                subscriptions,
            ),
            ("netassist_known_users", "Users of whom something is known", known_users),
            (
                "netassist_broker_connected",
                "Whether there is a connection with the NATS broker, 0 or 1",
                self.server.has_broker().into(),
            ),
            (
                "netassist_cells_without_echo",
                "Cells from whose host no echo came back for ten seconds",
                self.probes.silent(),
            ),
        ] {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            one(&mut encoder, name, help, &gauge)?;
        }
        let echoes = self.probes.counts();
        let sources = |count: &AtomicU64| count.load(Ordering::Relaxed);
        for (name, help, value) in [
            ("netassist_samples", "Samples that became records", core.samples),
            (
                "netassist_samples_too_early",
                "Samples of which nothing could be told yet",
                core.samples_too_early,
            ),
            (
                "netassist_samples_unknown_user",
                "Samples about nobody in the table",
                core.samples_unknown_user,
            ),
            (
                "netassist_source_problems",
                "What came from sources and was no measurement",
                sources(&self.sources.problems),
            ),
            ("netassist_sources_ended", "Sources that have ended", sources(&self.sources.ended)),
            ("netassist_echoes_sent", "Echoes to base stations' hosts", echoes.sent),
            ("netassist_echoes_answered", "Echoes that came back", echoes.answered),
            ("netassist_echoes_lost", "Echoes that did not come back for two seconds", echoes.lost),
            ("netassist_echoes_forged", "Datagrams that answered no echo on its way", echoes.forged),
            ("netassist_stale", "Times that a user's source was late", core.stale),
            ("netassist_handovers", "Handovers that were seen", core.handovers),
            ("netassist_requests_granted", "Registrations that were granted", core.granted),
            ("netassist_requests_refused", "Registrations that were refused", core.refused),
            ("netassist_connections", "Connections that began", server.connections),
            (
                "netassist_handshakes_failed",
                "Handshakes without a right certificate",
                server.handshakes_failed,
            ),
            ("netassist_handshakes_refused", "Handshakes above the limit", server.handshakes_refused),
            ("netassist_malformed", "Messages that were none, or too long", server.malformed),
            ("netassist_slow_clients", "Clients that did not read what they were sent", server.slow),
            ("netassist_records", "Records handed to connections", server.records),
            ("netassist_records_dropped", "Records that made room for newer ones", server.records_dropped),
            (
                "netassist_broker_connections",
                "Connections with the broker that began",
                server.broker_connections,
            ),
            (
                "netassist_broker_losses",
                "Attempts to connect with the broker that failed, and connections that were lost",
                server.broker_losses,
            ),
            ("netassist_broker_refusals", "What the broker's permissions refused us", server.broker_refusals),
            (
                "netassist_broker_requests_dropped",
                "Times that requests through the broker were dropped, because too many waited",
                server.broker_requests_dropped,
            ),
            ("netassist_broker_records", "Records handed to the broker", server.broker_records),
            (
                "netassist_broker_records_dropped",
                "Records for which there was no broker or no room",
                server.broker_records_dropped,
            ),
        ] {
            one(&mut encoder, name, help, &ConstCounter::new(value))?;
        }
        Ok(())
    }
}

fn one(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: &impl EncodeMetric,
) -> Result<(), fmt::Error> {
    let encoder: MetricEncoder<'_> = encoder.encode_descriptor(name, help, None, metric.metric_type())?;
    metric.encode(encoder)
}

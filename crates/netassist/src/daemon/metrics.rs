//! Counters in the form of Prometheus.

use super::probes::Probes;
use crate::service::Counts;
use crate::transport::{Server, ServerCounts};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The counts of the sources.
#[derive(Debug, Default)]
pub(super) struct SourceCounts {
    /// Unusable entries.
    pub(super) problems: AtomicU64,
    /// Sources that have ended.
    pub(super) ended: AtomicU64,
    /// By source: usable messages, or looks, also those of an empty cell.
    messages: Mutex<BTreeMap<String, u64>>,
}

impl SourceCounts {
    /// A source has sent something that can be used.
    pub(super) fn heard(&self, source: &str) {
        let mut messages = self.messages();
        match messages.get_mut(source) {
            Some(count) => *count += 1,
            None => drop(messages.insert(source.to_owned(), 1)),
        }
    }

    fn messages(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All metrics, read on request.
pub(super) fn registry(server: Server, sources: Arc<SourceCounts>, probes: Probes) -> Registry {
    let mut registry = Registry::with_prefix("netassist");
    registry.register_collector(Box::new(All { server, sources, probes }));
    registry
}

#[derive(Debug)]
struct All {
    server: Server,
    sources: Arc<SourceCounts>,
    probes: Probes,
}

/// A metric's name after `netassist_`, its help, and its value.
type Row = (&'static str, &'static str, u64);

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, help, value) in self.sizes() {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            one(&mut encoder, name, help, &gauge)?;
        }
        let (core, transport) = self.server.counts();
        let counters =
            [&self.sources()[..], &of_users(&core), &of_connections(&transport), &of_broker(&transport)];
        for (name, help, value) in counters.concat() {
            one(&mut encoder, name, help, &ConstCounter::new(value))?;
        }
        self.messages(&mut encoder)
    }
}

impl All {
    /// Values that may also become smaller.
    fn sizes(&self) -> [Row; 5] {
        let (clients, subscriptions, known_users) = self.server.sizes();
        [
            ("clients", "Clients that are connected", clients as u64),
            (
                "subscriptions",
                "Users that clients are informed about, one for each client",
                subscriptions as u64,
            ),
            ("known_users", "Users of whom something is known", known_users as u64),
            ("broker_connected", "Connection with the NATS broker, 0 or 1", self.server.has_broker().into()),
            (
                "cells_without_echo",
                "Cells from whose host no echo came back for ten seconds",
                self.probes.silent() as u64,
            ),
        ]
    }

    fn messages(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Usable messages of each source; samples counts their reports on users, and a cell may have no users";
        let mut encoder = encoder.encode_descriptor("source_messages", help, None, MetricType::Counter)?;
        for (source, count) in self.sources.messages().iter() {
            let label = [("source", source.as_str())];
            ConstCounter::new(*count).encode(encoder.encode_family(&label)?)?;
        }
        Ok(())
    }

    fn sources(&self) -> [Row; 6] {
        let echoes = self.probes.counts();
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            (
                "source_problems",
                "Unusable messages and list entries from sources or a core",
                count(&self.sources.problems),
            ),
            ("sources_ended", "Sources that have ended", count(&self.sources.ended)),
            ("echoes_sent", "Echoes to base stations' hosts", echoes.sent),
            ("echoes_answered", "Echoes that came back", echoes.answered),
            ("echoes_lost", "Echoes that did not come back for two seconds", echoes.lost),
            ("echoes_forged", "Datagrams that answered no echo on its way", echoes.forged),
        ]
    }
}

fn of_users(core: &Counts) -> [Row; 7] {
    [
        ("samples", "Samples that became records", core.samples),
        ("samples_too_early", "Samples too early for a report", core.samples_too_early),
        ("samples_unknown_user", "Samples about users that are not in the table", core.samples_unknown_user),
        ("stale", "Times that a user's source was late", core.stale),
        ("handovers", "Handovers that were seen", core.handovers),
        ("requests_granted", "Registrations that were granted", core.granted),
        ("requests_refused", "Registrations that were refused", core.refused),
    ]
}

fn of_connections(transport: &ServerCounts) -> [Row; 7] {
    [
        ("connections", "Connections that began", transport.connections),
        ("handshakes_failed", "Handshakes without a right certificate", transport.handshakes_failed),
        ("handshakes_refused", "Handshakes above the limit", transport.handshakes_refused),
        ("malformed", "Messages that were none, or too long", transport.malformed),
        ("slow_clients", "Clients that did not read their messages", transport.slow),
        ("records", "Records handed to connections", transport.records),
        ("records_dropped", "Records that made room for newer ones", transport.records_dropped),
    ]
}

fn of_broker(transport: &ServerCounts) -> [Row; 6] {
    [
        ("broker_connections", "Connections with the broker that began", transport.broker_connections),
        (
            "broker_losses",
            "Attempts to connect with the broker that failed, and connections that were lost",
            transport.broker_losses,
        ),
        ("broker_refusals", "Requests refused by the broker's permissions", transport.broker_refusals),
        (
            "broker_requests_dropped",
            "Times that requests through the broker were dropped, because too many waited",
            transport.broker_requests_dropped,
        ),
        ("broker_records", "Records handed to the broker", transport.broker_records),
        (
            "broker_records_dropped",
            "Records for which there was no broker or no room",
            transport.broker_records_dropped,
        ),
    ]
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

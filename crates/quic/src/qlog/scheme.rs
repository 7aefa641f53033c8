//! Writes what the scheme does: `cellcc:state`, `cellcc:signal`, and its window and pacing rate, which noq does not know, as
//! the draft's `quic:recovery_metrics_updated`.

use super::Log;
use crate::sender::{Observed, Sender};
use cellcc_control::Signal;
use cellcc_schemes::{Estimation, RateSignal};
use cellcc_units::Rate;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Interval between two records of the scheme's numbers.
const STATE_INTERVAL: Duration = Duration::from_millis(100);

/// A scheme's part of a connection's log.
#[derive(Debug)]
pub(crate) struct SchemeLog {
    log: Log,
    scheme: String,
    written_at: Option<Instant>,
    /// A change of these is written at once.
    states: Vec<(&'static str, &'static str)>,
    /// The last signal that was written.
    signal: Option<Signal>,
    metrics: Option<Metrics>,
}

/// UDP payload: the window in bytes, the pacing rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Metrics {
    congestion_window: u64,
    pacing_rate: Option<u64>,
}

impl Metrics {
    fn of(sender: &Sender) -> Self {
        let (limits, size) = (sender.snapshot().limits, sender.size());
        let bits = |rate: Rate| size.payload_rate(rate).as_bytes_per_sec().saturating_mul(8);
        Self {
            congestion_window: size.payload_of(limits.window).get(),
            pacing_rate: limits.pacing_rate.map(bits),
        }
    }

    fn data(self) -> Value {
        let mut data = json!({ "congestion_window": self.congestion_window });
        if let Some(rate) = self.pacing_rate {
            data["pacing_rate"] = rate.into();
        }
        data
    }
}

impl SchemeLog {
    pub(crate) fn new(log: Log, scheme: &str) -> Self {
        Self { log, scheme: scheme.into(), written_at: None, states: Vec::new(), signal: None, metrics: None }
    }

    /// Writes what has changed since the last call.
    pub(crate) fn record(&mut self, now: Instant, sender: &Sender) {
        if let Some(signal) = sender.last_signal().filter(|&signal| self.signal != Some(signal)) {
            self.signal = Some(signal);
            self.log.write(now, "cellcc:signal", signal_data(signal));
        }
        let metrics = Metrics::of(sender);
        if self.metrics != Some(metrics) {
            self.metrics = Some(metrics);
            self.log.write(now, "quic:recovery_metrics_updated", metrics.data());
        }
        let mut observed = Observed::default();
        sender.observe(&mut observed);
        let has_changed = observed.states != self.states;
        let is_due = self.written_at.is_none_or(|last| now.saturating_duration_since(last) >= STATE_INTERVAL);
        if has_changed || is_due {
            self.states.clone_from(&observed.states);
            self.written_at = Some(now);
            self.log.write(now, "cellcc:state", self.state_data(sender, observed));
        }
        if is_due {
            self.log.flush();
        }
    }

    fn state_data(&self, sender: &Sender, observed: Observed) -> Value {
        let snapshot = sender.snapshot();
        // JSON has no infinity: such a value is left out.
        let values: Map<String, Value> = observed
            .values
            .into_iter()
            .filter(|(_, value)| value.is_finite())
            .map(|(name, value)| (name, value.into()))
            .collect();
        let states: Map<String, Value> =
            observed.states.iter().map(|(name, state)| ((*name).into(), (*state).into())).collect();
        json!({
            "scheme": self.scheme,
            "window_bytes": snapshot.limits.window.get(),
            "inflight_bytes": snapshot.inflight.get(),
            "pacing_rate_mbit_s": snapshot.pacing_rate().map(|rate| rate.as_mbit_per_sec()),
            "values": values,
            "states": states,
        })
    }
}

/// RBBR's signal by its fields, any other as bytes.
fn signal_data(signal: Signal) -> Value {
    let Some(RateSignal { estimation, epoch }) = RateSignal::decode(&signal) else {
        let bytes = signal.as_bytes();
        let data: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        return json!({ "raw": { "length": bytes.len(), "data": data } });
    };
    let estimation = match estimation {
        Estimation::Run => "run",
        Estimation::RaiseOnly => "raise_only",
        Estimation::Suspend => "suspend",
    };
    json!({ "estimation": estimation, "epoch": epoch })
}

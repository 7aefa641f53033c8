//! A data connection with its scheme and its counters.

use crate::TransferError;
use crate::advice::{AdviceConfig, AdviceState};
use crate::progress::{FlowSample, SenderSample};
use crate::protocol::FlowReport;
use cellcc_experiment::Distribution;
use cellcc_quic::{Attached, AttachedReceiver, Congestion, Observed, attach_receiver};
use cellcc_units::{Bytes, Span};
use noq::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of a data connection, by the tasks that move its data.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Payload that the application received.
    pub(crate) received: AtomicU64,
    /// Streams that were opened, or received to their end.
    pub(crate) streams: AtomicU64,
    /// Frames that were made, or that arrived in time.
    pub(crate) frames: AtomicU64,
}

/// A data connection, at the sending or the receiving side.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) connection: Connection,
    role: Role,
    pub(crate) counters: Arc<Counters>,
    rtt: Distribution,
    rtt_ms: Option<f64>,
    charged: u64,
}

/// The role of this side.
#[derive(Debug)]
enum Role {
    Sends {
        attached: Attached,
        advice: AdviceState,
    },
    /// With noq's own congestion control, since a receiver sends little.
    Receives(
        #[expect(
            dead_code,
            reason = "held, not used: runs the receiver-side component of the peer's scheme"
        )]
        AttachedReceiver,
    ),
}

impl Flow {
    /// The sending side, with the scheme that was installed.
    pub(crate) fn sending(
        connection: Connection,
        congestion: &Congestion,
        advice: Option<&AdviceConfig>,
    ) -> Result<Self, TransferError> {
        let attached = congestion
            .attach(&connection)
            .ok_or_else(|| TransferError::Protocol("a data connection without the scheme".into()))?;
        let advice = AdviceState::begin(&connection, congestion, &attached, advice);
        Ok(Self::new(connection, Role::Sends { attached, advice }))
    }

    /// The receiving side.
    pub(crate) fn receiving(connection: Connection) -> Self {
        let receiver = attach_receiver(&connection, cellcc_schemes::registry());
        Self::new(connection, Role::Receives(receiver))
    }

    fn new(connection: Connection, role: Role) -> Self {
        let rtt = Distribution::default();
        Self { connection, role, counters: Arc::default(), rtt, rtt_ms: None, charged: 0 }
    }

    /// Records the RTT samples since the last call.
    pub(crate) fn collect(&mut self) {
        let Role::Sends { attached, .. } = &self.role else { return };
        let samples = attached.scheme().take_rtt_samples();
        let sum: f64 = samples.iter().map(|(_, rtt)| rtt.as_millis_f64()).sum();
        self.rtt_ms = (!samples.is_empty()).then(|| sum / samples.len() as f64);
        samples.iter().for_each(|(_, rtt)| self.rtt.add(*rtt));
    }

    /// The flow's present state.
    pub(crate) fn sample(&self) -> FlowSample {
        let sender = match &self.role {
            Role::Sends { attached, .. } => Some(self.sender_sample(attached)),
            Role::Receives(_) => None,
        };
        FlowSample { received: Bytes::new(self.counters.received.load(Ordering::Relaxed)), sender }
    }

    fn sender_sample(&self, attached: &Attached) -> SenderSample {
        let scheme = attached.scheme();
        let snapshot = scheme.snapshot();
        let mut observed = Observed::default();
        scheme.observe(&mut observed);
        let smoothed_ms = snapshot.smoothed_rtt.map(Span::as_millis_f64);
        SenderSample {
            delivered: snapshot.delivered,
            inflight: snapshot.inflight,
            window: snapshot.limits.window,
            pacing_rate: snapshot.pacing_rate(),
            rtt_ms: self.rtt_ms.or(smoothed_ms),
            min_rtt_ms: snapshot.min_rtt.map(Span::as_millis_f64),
            sent_packets: snapshot.packets.sent,
            lost_packets: snapshot.packets.lost,
            // JSON has no infinities.
            internals: observed.values.into_iter().filter(|(_, value)| value.is_finite()).collect(),
        }
    }

    /// The final report.
    pub(crate) fn report(&self) -> FlowReport {
        FlowReport {
            sample: self.sample(),
            streams: self.counters.streams.load(Ordering::Relaxed),
            frames: self.counters.frames.load(Ordering::Relaxed),
            rtt: self.rtt.clone(),
            notes: self.notes(),
        }
    }

    /// The scheme's notes, and its missing features.
    fn notes(&self) -> Vec<String> {
        let Role::Sends { attached, advice } = &self.role else { return Vec::new() };
        let mut observed = Observed::default();
        attached.scheme().observe(&mut observed);
        let component = attached.peer_component();
        let missing = component.is_missing().then(|| component.to_string());
        observed.notes.into_iter().chain(missing).chain(advice.note().map(str::to_owned)).collect()
    }

    /// UDP payload of both directions since the last call.
    pub(crate) fn uncharged(&mut self) -> u64 {
        let stats = self.connection.stats();
        let total = stats.udp_tx.bytes + stats.udp_rx.bytes;
        let more = total - self.charged;
        self.charged = total;
        more
    }
}

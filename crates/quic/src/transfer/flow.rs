//! A data connection with its scheme, and what is known of it.

use super::TransferError;
use super::progress::{FlowSample, SenderSample};
use super::protocol::FlowReport;
use crate::{Attached, Congestion, Observed, SchemeHandle};
use cellcc_experiment::Distribution;
use cellcc_units::{Bytes, Span};
use noq::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a data connection has done, counted by the tasks that move its data.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Payload that the application received.
    pub(super) received: AtomicU64,
    /// Streams that were opened, or received to their end.
    pub(super) streams: AtomicU64,
    /// Frames that were made, or that arrived in time.
    pub(super) frames: AtomicU64,
}

/// A data connection at the side that sends or at the one that receives.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) connection: Connection,
    attached: Attached,
    pub(super) counters: Arc<Counters>,
    is_sender: bool,
    rtt: Distribution,
    rtt_ms: Option<f64>,
    charged: u64,
}

impl Flow {
    pub(super) fn new(
        connection: Connection,
        congestion: &Congestion,
        is_sender: bool,
    ) -> Result<Self, TransferError> {
        let attached = congestion
            .attach(&connection)
            .ok_or_else(|| TransferError::Protocol("a data connection without the scheme".into()))?;
        Ok(Self {
            connection,
            attached,
            counters: Arc::default(),
            is_sender,
            rtt: Distribution::default(),
            rtt_ms: None,
            charged: 0,
        })
    }

    fn scheme(&self) -> SchemeHandle {
        self.attached.scheme()
    }

    /// Takes down the RTT samples since the last call.
    pub(super) fn collect(&mut self) {
        let samples = self.scheme().take_rtt_samples();
        let sum: f64 = samples.iter().map(|(_, rtt)| rtt.as_millis_f64()).sum();
        self.rtt_ms = (!samples.is_empty()).then(|| sum / samples.len() as f64);
        samples.iter().for_each(|(_, rtt)| self.rtt.add(*rtt));
    }

    /// The flow now.
    pub(super) fn sample(&self) -> FlowSample {
        FlowSample {
            received: Bytes::new(self.counters.received.load(Ordering::Relaxed)),
            sender: self.is_sender.then(|| self.sender_sample()),
        }
    }

    fn sender_sample(&self) -> SenderSample {
        let snapshot = self.scheme().snapshot();
        let mut observed = Observed::default();
        self.scheme().observe(&mut observed);
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

    /// What is known at the end.
    pub(super) fn report(&self) -> FlowReport {
        let mut observed = Observed::default();
        if self.is_sender {
            self.scheme().observe(&mut observed);
            let half = self.attached.peer_half();
            if half.is_missing() {
                observed.notes.push(half.to_string());
            }
        }
        FlowReport {
            sample: self.sample(),
            streams: self.counters.streams.load(Ordering::Relaxed),
            frames: self.counters.frames.load(Ordering::Relaxed),
            rtt: self.rtt.clone(),
            notes: observed.notes,
        }
    }

    /// UDP payload of both directions since the last call.
    pub(super) fn uncharged(&mut self) -> u64 {
        let stats = self.connection.stats();
        let total = stats.udp_tx.bytes + stats.udp_rx.bytes;
        let more = total - self.charged;
        self.charged = total;
        more
    }
}

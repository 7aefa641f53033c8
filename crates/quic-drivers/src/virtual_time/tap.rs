//! A congestion controller of noq's interface that is not cellcc's: noq runs it as it is, and a tap between the two collects
//! the data of metrics and series.
//!
//! It has noq's own pacer and no timers, no advice and no receiver-side component.

use cellcc_control::{Limits, Observed, Observer};
use cellcc_quic::{Clock, PacketSize};
use cellcc_units::{Bytes, Rate, Span, Time};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A factory of controllers of noq's interface.
pub(super) type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// The known state of a flow whose controller is not cellcc's.
#[derive(Debug, Clone)]
pub(super) struct Tap {
    seen: Arc<Mutex<Seen>>,
    clock: Clock,
    size: PacketSize,
}

/// As of the last call of noq. Sizes and rates count UDP payload.
#[derive(Debug, Default)]
struct Seen {
    samples: Vec<(Instant, Duration)>,
    lost: u64,
    decisions: u64,
    window: u64,
    ssthresh: Option<u64>,
    pacing_rate: Option<u64>,
    send_quantum: Option<u64>,
    /// Bits per second.
    bandwidth: Option<u64>,
}

impl Tap {
    /// A tap for a flow with full packets of this size.
    pub(super) fn new(clock: Clock, size: PacketSize) -> Self {
        Self { seen: Arc::default(), clock, size }
    }

    /// The factory for noq.
    pub(super) fn on(&self, inner: Factory) -> Factory {
        Arc::new(TappedFactory { inner, seen: Arc::clone(&self.seen) })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }

    /// The RTT samples since the last call: that of the newest packet of an acknowledgement, for each of its packets.
    pub(super) fn take_rtt_samples(&self) -> Vec<(Time, Span)> {
        let samples = std::mem::take(&mut self.seen().samples);
        let span = |sample: Duration| Span::from_nanos(sample.as_nanos() as u64);
        samples.into_iter().map(|(at, sample)| (self.clock.time(at), span(sample))).collect()
    }

    /// Packets declared lost so far.
    pub(super) fn lost(&self) -> u64 {
        self.seen().lost
    }

    /// Acknowledgements and congestion events so far.
    pub(super) fn decisions(&self) -> u64 {
        self.seen().decisions
    }

    /// The controller's limits, in bytes on the link.
    pub(super) fn limits(&self) -> Limits {
        let seen = self.seen();
        let on_link = |payload| self.size.on_link_of(Bytes::new(payload));
        let mut limits = Limits::window_only(on_link(seen.window));
        limits.pacing_rate =
            seen.pacing_rate.map(|rate| self.size.on_link_rate(Rate::from_bytes_per_sec(rate)));
        limits.send_quantum = on_link(seen.send_quantum.unwrap_or(0));
        limits
    }

    /// Shows the controller's metrics for noq.
    pub(super) fn observe(&self, observed: &mut Observed) {
        let seen = self.seen();
        if let Some(bits) = seen.bandwidth {
            observed.value("bandwidth_estimate", "mbit_s", bits as f64 / 1e6);
        }
        if let Some(ssthresh) = seen.ssthresh.filter(|&ssthresh| ssthresh < u64::MAX) {
            observed.value("ssthresh", "pkt", ssthresh as f64 / self.size.payload.as_f64());
        }
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    // A controller that panicked has ended the run, and does not run within this lock.
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

struct TappedFactory {
    inner: Factory,
    seen: Arc<Mutex<Seen>>,
}

impl ControllerFactory for TappedFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.inner).build(now, current_mtu);
        let tapped = Tapped { inner, seen: Arc::clone(&self.seen), acknowledged: None };
        tapped.publish(|_| ());
        Box::new(tapped)
    }
}

/// Passes every call on.
#[derive(Debug)]
struct Tapped {
    inner: Box<dyn Controller>,
    seen: Arc<Mutex<Seen>>,
    /// When the newest packet of the acknowledgement that noq is reporting left, and how many packets it has so far.
    acknowledged: Option<(Instant, usize)>,
}

impl Tapped {
    /// Keeps the controller's state of now, and other things to note.
    fn publish(&self, note: impl FnOnce(&mut Seen)) {
        let ControllerMetrics { ssthresh, pacing_rate, send_quantum, bandwidth_estimate, .. } =
            self.inner.metrics();
        let window = self.inner.window();
        let mut seen = lock(&self.seen);
        seen.window = window;
        seen.ssthresh = ssthresh;
        seen.pacing_rate = pacing_rate;
        seen.send_quantum = send_quantum;
        seen.bandwidth = bandwidth_estimate;
        note(&mut seen);
    }
}

impl Controller for Tapped {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        self.inner.on_sent(now, bytes, largest_pn);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.inner.on_packet_sent(now, bytes, pn);
        self.publish(|_| ());
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let before = self.acknowledged.map_or(0, |(_, packets)| packets);
        self.acknowledged = Some((sent, before + 1));
        self.inner.on_ack(now, sent, bytes, pn, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        let acknowledged = self.acknowledged.take();
        self.publish(|seen| {
            seen.decisions += 1;
            if let Some((sent, packets)) = acknowledged {
                seen.samples.extend(std::iter::repeat_n((now, now - sent), packets));
            }
        });
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        self.inner.on_congestion_event(
            now,
            sent,
            is_persistent_congestion,
            is_ecn,
            lost_bytes,
            largest_lost_pn,
        );
        self.publish(|seen| seen.decisions += 1);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.inner.on_packet_lost(lost_bytes, pn, now);
        self.publish(|seen| seen.lost += 1);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
        self.publish(|_| ());
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
        self.publish(|_| ());
    }

    fn on_ack_frequency_update(&mut self, ack_eliciting_threshold: u64, requested_max_ack_delay: Duration) {
        self.inner.on_ack_frequency_update(ack_eliciting_threshold, requested_max_ack_delay);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            inner: self.inner.clone_box(),
            seen: Arc::clone(&self.seen),
            acknowledged: self.acknowledged,
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    /// The controller itself, as noq's user would find it.
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}

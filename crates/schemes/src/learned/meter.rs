//! Measurements of a flow in the interval between two decisions.

use cellcc_control::{Ack, Loss, Sampler};
use cellcc_units::{Bytes, Span, Time};

/// The results of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// Its length.
    pub length_s: f64,
    /// Bytes that left.
    pub sent_bytes: u64,
    /// Bytes that were acknowledged.
    pub delivered_bytes: u64,
    /// Bytes that were declared lost.
    pub lost_bytes: u64,
    /// Packets that were acknowledged.
    pub delivered_packets: u64,
    /// The mean RTT; none where nothing was acknowledged.
    pub rtt_mean_s: Option<f64>,
    /// The mean of the second half of its time less that of the first; zero where either has no sample.
    pub rtt_change_s: f64,
    /// The flow's minimum; zero before the first sample.
    pub min_rtt_s: f64,
    /// The flow's smoothed RTT; zero before the first sample.
    pub smoothed_rtt_s: f64,
    /// At its end.
    pub window_bytes: u64,
    /// At its last acknowledgement or loss.
    pub inflight_bytes: u64,
    /// The mean of Linux's delivery-rate samples; for Orca.
    pub rate_mean_bytes_per_s: Option<f64>,
    /// Moving averages over its acknowledgements: queueing delay in ms, delivery rate and sending rate in Mbit/s; for Indigo.
    pub averages: [f64; 3],
}

impl Interval {
    pub(super) fn throughput_bytes_per_s(&self) -> f64 {
        ratio(self.delivered_bytes as f64, self.length_s)
    }

    /// The share of losses.
    pub fn loss_ratio(&self) -> f64 {
        ratio(self.lost_bytes as f64, (self.lost_bytes + self.delivered_bytes) as f64)
    }

    /// The mean queueing delay in minimum round-trip times.
    pub fn queueing_rtts(&self) -> f64 {
        self.rtt_mean_s.map_or(0.0, |rtt| (ratio(rtt, self.min_rtt_s) - 1.0).max(0.0))
    }

    /// `min(1, 1.25 minRTT / sRTT)` of Orca's code.
    pub fn orca_delay(&self) -> f64 {
        if self.smoothed_rtt_s > 0.0 { (1.25 * self.min_rtt_s / self.smoothed_rtt_s).min(1.0) } else { 1.0 }
    }
}

/// A sum of samples, and their number.
#[derive(Debug, Clone, Copy, Default)]
struct Samples {
    sum: f64,
    count: u32,
}

impl Samples {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// The weight of the newest acknowledgement in Indigo's averages (its code: `update_state`).
const INDIGO_WEIGHT: f64 = 0.125;
/// Indigo's clock, below which no time passes (its code: `curr_ts_ms`).
const INDIGO_GRAIN: Span = Span::from_millis(1);

/// The samples that a meter takes of each acknowledgement besides its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measures {
    Counts,
    /// Linux's delivery rates, for Orca.
    Rates,
    /// Moving averages of delay and rates, for Indigo.
    Averages,
}

/// Counts the observations of an agent.
#[derive(Debug, Clone)]
pub struct Meter {
    measures: Measures,
    began: Time,
    half: Time,
    sent_before: Bytes,
    delivered: Bytes,
    delivered_packets: u64,
    lost: Bytes,
    early: Samples,
    late: Samples,
    rates: Samples,
    averages: Option<[f64; 3]>,
    /// The flow's minimum.
    min_rtt: Span,
    smoothed_rtt: Span,
    inflight: Bytes,
}

impl Meter {
    /// At the beginning of a flow.
    pub(super) fn new(measures: Measures) -> Self {
        Self {
            measures,
            began: Time::ZERO,
            half: Time::ZERO,
            sent_before: Bytes::ZERO,
            delivered: Bytes::ZERO,
            delivered_packets: 0,
            lost: Bytes::ZERO,
            early: Samples::default(),
            late: Samples::default(),
            rates: Samples::default(),
            averages: None,
            min_rtt: Span::ZERO,
            smoothed_rtt: Span::ZERO,
            inflight: Bytes::ZERO,
        }
    }

    /// An interval begins that is to last so long, in which so many bytes have been sent since the flow began.
    pub fn begin(&mut self, now: Time, length: Span, sent: Bytes) {
        let Self { measures, min_rtt, smoothed_rtt, inflight, .. } = *self;
        let half = now + length / 2;
        *self = Self {
            began: now,
            half,
            sent_before: sent,
            min_rtt,
            smoothed_rtt,
            inflight,
            ..Self::new(measures)
        };
    }

    /// Packets were acknowledged. `sent`: bytes that left since the flow began; each packet's tag says how many had when it left,
    /// where the agent observes it.
    pub fn on_ack(&mut self, ack: &Ack<'_>, sent: Bytes) {
        self.delivered += ack.bytes;
        self.delivered_packets += ack.packets.len() as u64;
        self.inflight = ack.inflight;
        if let Some(rtt) = ack.rtt_sample {
            let half = if ack.now < self.half { &mut self.early } else { &mut self.late };
            half.add(rtt.as_secs_f64());
            (self.min_rtt, self.smoothed_rtt) = (ack.rtt.min(), ack.rtt.smoothed());
        }
        match self.measures {
            Measures::Counts => {}
            Measures::Rates => self.take_rate(ack),
            Measures::Averages => self.average(ack, sent),
        }
    }

    /// Packets were lost.
    pub fn on_loss(&mut self, loss: &Loss<'_>) {
        self.lost += loss.bytes;
        self.inflight = loss.inflight;
    }

    /// Something was acknowledged.
    pub(super) fn has_samples(&self) -> bool {
        self.early.count + self.late.count > 0
    }

    /// The least RTT so far.
    pub(super) fn min_rtt(&self) -> Span {
        self.min_rtt
    }

    /// The results of the interval until now.
    pub fn interval(&self, now: Time, sent: Bytes, window: Bytes) -> Interval {
        let change = self.late.mean().zip(self.early.mean()).map(|(late, early)| late - early);
        let all = Samples { sum: self.early.sum + self.late.sum, count: self.early.count + self.late.count };
        Interval {
            length_s: now.since(self.began).as_secs_f64(),
            sent_bytes: (sent - self.sent_before).get(),
            delivered_bytes: self.delivered.get(),
            lost_bytes: self.lost.get(),
            delivered_packets: self.delivered_packets,
            rtt_mean_s: all.mean(),
            rtt_change_s: change.unwrap_or(0.0),
            min_rtt_s: self.min_rtt.as_secs_f64(),
            smoothed_rtt_s: self.smoothed_rtt.as_secs_f64(),
            window_bytes: window.get(),
            inflight_bytes: self.inflight.get(),
            rate_mean_bytes_per_s: self.rates.mean(),
            averages: self.averages.unwrap_or_default(),
        }
    }

    /// Linux takes no sample of an interval below the minimum RTT (tcp_rate.c, `tcp_rate_gen`).
    fn take_rate(&mut self, ack: &Ack<'_>) {
        let Some(sample) = ack.rate else { return };
        if sample.send_interval.max(sample.ack_interval) >= ack.rtt.min() {
            self.rates.add(sample.rate(Sampler::Min).as_bytes_per_sec() as f64);
        }
    }

    /// Indigo's receiver acknowledges each packet.
    fn average(&mut self, ack: &Ack<'_>, sent: Bytes) {
        let mbit_s =
            |bytes: Bytes, span: Span| bytes.as_f64() / 125_000.0 / span.max(INDIGO_GRAIN).as_secs_f64();
        for packet in ack.packets {
            let rtt = ack.now.since(packet.sent_at);
            let now = [
                rtt.saturating_sub(ack.rtt.min()).as_millis_f64(),
                mbit_s(ack.delivered.saturating_sub(packet.delivered), ack.now.since(packet.delivered_at)),
                mbit_s(sent.saturating_sub(Bytes::new(packet.tag)), rtt),
            ];
            let averages = self.averages.get_or_insert(now);
            for (average, now) in averages.iter_mut().zip(now) {
                *average += INDIGO_WEIGHT * (now - *average);
            }
        }
    }
}

/// Zero where there is nothing to divide by.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 && whole.is_finite() { part / whole } else { 0.0 }
}

//! The scalars of a Record. Every name ends in its unit; the definitions are those of docs/metrics.md.

use crate::{Distribution, MediaOutcome, Summary};
use cellcc_link::DualCounters;
use cellcc_units::{Bytes, Span, Time};
use serde::{Deserialize, Deserializer, Serialize};

/// The scalars of one flow, or of all flows of a run together. A value that does not exist (the RTT of a flow that got
/// no acknowledgement) is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are the documentation, and docs/metrics.md has the definitions")]
pub struct Metrics {
    /// Bytes (headers included) that left the link while the flow was active, per second of activity.
    pub throughput_mbit_s: f64,
    /// Bytes that left the link / bytes the link offered, while the flow was active. NaN, and null in a file, where
    /// nobody knows what the link offered.
    #[serde(deserialize_with = "nan_for_null")]
    pub utilisation: f64,
    pub queueing_delay_mean_ms: Option<f64>,
    pub queueing_delay_p50_ms: Option<f64>,
    pub queueing_delay_p95_ms: Option<f64>,
    pub queueing_delay_p99_ms: Option<f64>,
    pub queueing_delay_max_ms: Option<f64>,
    pub one_way_delay_mean_ms: Option<f64>,
    pub one_way_delay_p50_ms: Option<f64>,
    pub one_way_delay_p95_ms: Option<f64>,
    pub one_way_delay_p99_ms: Option<f64>,
    pub one_way_delay_max_ms: Option<f64>,
    pub rtt_mean_ms: Option<f64>,
    pub rtt_p50_ms: Option<f64>,
    pub rtt_p95_ms: Option<f64>,
    pub rtt_p99_ms: Option<f64>,
    pub rtt_max_ms: Option<f64>,
    pub sent_packets: u64,
    /// Dropped by the queue or lost at random, on the way to the receiver.
    pub lost_packets: u64,
    /// Lost packets / sent packets.
    pub loss_ratio: f64,
    /// Packets that arrived with a mark / packets that arrived; null where none was marked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking_ratio: Option<f64>,
    /// DualPI2's base probability p', mean over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_base_mean: Option<f64>,
    /// Seconds in which classic packets waited throughout and got less than a twentieth of what left DualPI2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classic_starvation_s: Option<f64>,
    /// Packets that carried data sent before.
    pub retransmitted_packets: u64,
    /// Acknowledgements that the receiver sent; null where nobody counted them.
    #[serde(default)]
    pub sent_acks: Option<u64>,
    /// Throughput in Mbit/s per ms of mean queueing delay; null at zero delay.
    pub power: Option<f64>,
    /// The same with the 95th percentile of the queueing delay.
    pub power95: Option<f64>,
    /// Mean RTT / DTT, for schemes that have a delay target (Reminis paper, section 5.5).
    pub d3: Option<f64>,
    /// From a sized source's start to the acknowledgement of its last byte.
    pub completion_time_s: Option<f64>,
    pub frames: Option<u64>,
    /// Share of frames that arrived later than their deadline, or not at all.
    pub deadline_miss_ratio: Option<f64>,
    /// The median from a frame's creation to the arrival of its last byte, of an adaptive stream as all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_delay_p50_ms: Option<f64>,
    /// The same, exceeded by a twentieth of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_delay_p95_ms: Option<f64>,
    /// Gaps between whole frames above three frame times and above a frame time and 150 ms; of a film in a browser, stalls after the
    /// first picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freezes: Option<u64>,
    /// Time in them / time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze_ratio: Option<f64>,
    /// What the frames aimed at, headers included; of a film in a browser, the rate of the segments that were shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_rate_mbit_s: Option<f64>,
    /// How often that changed by more than a tenth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_switches: Option<u64>,
    /// Frames given up in the sender's queue, in whole or in part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_discarded: Option<u64>,
    /// Of a film in a browser: from the player's begin to the first picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_s: Option<f64>,
    /// The linear quality of experience of a film, by segment, in Mbit/s: QoE_lin of Mao, Netravali and Alizadeh (Pensieve, SIGCOMM
    /// 2017), section 5.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qoe_lin: Option<f64>,
}

fn nan_for_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

impl Metrics {
    /// Fills in throughput and utilisation: `delivered` left the link of the `offered` bytes within `active`.
    pub(crate) fn set_throughput(&mut self, delivered: Bytes, offered: Bytes, active: Span) {
        let seconds = active.as_secs_f64();
        if seconds > 0.0 {
            self.throughput_mbit_s = delivered.as_f64() * 8.0 / seconds / 1e6;
        }
        if !offered.is_zero() {
            self.utilisation = delivered.as_f64() / offered.as_f64();
        }
    }

    /// Fills in what DualPI2 counted.
    pub(crate) fn set_dual(&mut self, dual: Option<DualCounters>) {
        let Some(DualCounters { until, base, starved }) = dual else { return };
        self.p_base_mean = Some(base.as_secs_f64() / until.since(Time::ZERO).as_secs_f64());
        self.classic_starvation_s = Some(starved.as_secs_f64());
    }

    /// Fills in what the viewer of an adaptive stream saw.
    pub(crate) fn set_media(&mut self, media: &MediaOutcome) {
        self.frame_delay_p50_ms = media.frame_delay_p50_ms;
        self.frame_delay_p95_ms = media.frame_delay_p95_ms;
        self.freezes = Some(media.freezes);
        self.freeze_ratio = Some(media.freeze_ratio);
        self.media_rate_mbit_s = Some(media.media_rate_mbit_s);
        self.rate_switches = Some(media.rate_switches);
        self.frames_discarded = Some(media.frames_discarded);
    }

    /// Fills in the delays, and power from them; set the throughput first.
    pub(crate) fn set_delays(&mut self, queueing: &Distribution, one_way: &Distribution, rtt: &Distribution) {
        let [mean, p50, p95, p99, max] = figures(queueing.summary());
        self.power = power(self.throughput_mbit_s, mean);
        self.power95 = power(self.throughput_mbit_s, p95);
        self.queueing_delay_mean_ms = mean;
        self.queueing_delay_p50_ms = p50;
        self.queueing_delay_p95_ms = p95;
        self.queueing_delay_p99_ms = p99;
        self.queueing_delay_max_ms = max;
        [
            self.one_way_delay_mean_ms,
            self.one_way_delay_p50_ms,
            self.one_way_delay_p95_ms,
            self.one_way_delay_p99_ms,
            self.one_way_delay_max_ms,
        ] = figures(one_way.summary());
        [self.rtt_mean_ms, self.rtt_p50_ms, self.rtt_p95_ms, self.rtt_p99_ms, self.rtt_max_ms] =
            figures(rtt.summary());
    }
}

fn figures(summary: Option<Summary>) -> [Option<f64>; 5] {
    match summary {
        Some(s) => [s.mean_ms, s.p50_ms, s.p95_ms, s.p99_ms, s.max_ms].map(Some),
        None => [None; 5],
    }
}

fn power(throughput_mbit_s: f64, delay_ms: Option<f64>) -> Option<f64> {
    delay_ms.filter(|&delay| delay > 0.0).map(|delay| throughput_mbit_s / delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_null_where_there_is_no_delay() {
        let mut metrics = Metrics { throughput_mbit_s: 12.0, ..Metrics::default() };
        let mut none = Distribution::default();
        metrics.set_delays(&none, &none, &none);
        assert_eq!((metrics.power, metrics.rtt_mean_ms), (None, None));
        none.add(Span::from_millis(4));
        metrics.set_delays(&none, &none, &none);
        assert_eq!((metrics.power, metrics.power95.is_some()), (Some(3.0), true));
    }
}

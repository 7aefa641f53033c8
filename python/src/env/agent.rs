//! What an agent observes, does and is rewarded for: the sets of published agents, and a plain one.

use super::external::{Interval, Steering};
use crate::error::InputError;
use cellcc_units::{Bytes, Rate};
use pyo3::PyErr;
use std::str::FromStr;

/// Whose observations, actions and rewards they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    /// Ours: what an interval showed, the window halved to doubled, use less delay less loss.
    Plain,
    /// Orca (SIGCOMM 2020), as its code at cafaf9a has them.
    Orca,
    /// Aurora (ICML 2019), as PCC-RL has them.
    Aurora,
    /// Indigo (USENIX ATC 2018), as its code at 463d89b has them; it learns from an oracle, so that the reward is the plain one.
    Indigo,
}

impl FromStr for Set {
    type Err = PyErr;

    fn from_str(text: &str) -> Result<Self, PyErr> {
        match text {
            "plain" => Ok(Self::Plain),
            "orca" => Ok(Self::Orca),
            "aurora" => Ok(Self::Aurora),
            "indigo" => Ok(Self::Indigo),
            _ => {
                Err(InputError::new_err(format!("agent={text:?}: there are plain, orca, aurora and indigo")))
            }
        }
    }
}

impl Set {
    /// How many numbers an interval gives, and how many intervals an observation holds.
    pub(crate) fn shape(self) -> (usize, usize) {
        match self {
            Self::Plain => (6, 1),
            Self::Orca => (7, 10),
            Self::Aurora => (3, 10),
            Self::Indigo => (5, 1),
        }
    }
}

/// The least and the largest window in packets (Orca's code: MIN_CWND, MAX_CWND).
const WINDOW_PACKETS: (f64, f64) = (4.0, 10_000.0);
/// The least rate in packets per second, of PCC-RL; the largest is 12 Gbit/s of full packets, beyond any link here (PCC-RL's
/// 1,000 would be 12 Mbit/s).
const RATE_PACKETS_PER_S: (f64, f64) = (40.0, 1e6);
/// The share of an action by which Aurora's rate changes (PCC-RL: DELTA_SCALE).
const AURORA_STEP: f64 = 0.025;
/// Indigo's five actions on the window in packets.
const INDIGO_ACTIONS: [fn(f64) -> f64; 5] = [|w| w / 2.0, |w| w - 10.0, |w| w, |w| w + 10.0, |w| w * 2.0];
/// The weight of the newest interval in Indigo's averages (its code: alpha of the EWMA).
const INDIGO_WEIGHT: f64 = 0.125;

/// An agent within an episode.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    set: Set,
    packet_bytes: f64,
    window_bytes: f64,
    rate_bytes_per_s: f64,
    /// The fastest interval so far.
    peak_bytes_per_s: f64,
    min_rtt_mean_s: f64,
    averages: [f64; 3],
    last_action: f64,
    observation: Vec<f32>,
}

impl Agent {
    /// Before anything was sent; `rtt_s` without any queue.
    pub(crate) fn new(set: Set, packet: Bytes, initial_window: Bytes, rtt_s: f64) -> Self {
        let (features, history) = set.shape();
        Self {
            set,
            packet_bytes: packet.as_f64(),
            window_bytes: initial_window.as_f64(),
            rate_bytes_per_s: initial_window.as_f64() / rtt_s,
            peak_bytes_per_s: 0.0,
            min_rtt_mean_s: f64::INFINITY,
            averages: [0.0; 3],
            last_action: 0.0,
            observation: vec![0.0; features * history],
        }
    }

    /// The last intervals, oldest first.
    pub(crate) fn observation(&self) -> &[f32] {
        &self.observation
    }

    /// What this action asks of the sender.
    pub(crate) fn act(&mut self, action: f64) -> Steering {
        let action = if action.is_finite() { action } else { 0.0 };
        self.last_action = action;
        let window = |packets: f64| packets.clamp(WINDOW_PACKETS.0, WINDOW_PACKETS.1) * self.packet_bytes;
        match self.set {
            Set::Plain => {
                self.window_bytes =
                    window(self.window_bytes / self.packet_bytes * libm::exp2(action.clamp(-1.0, 1.0)));
                Steering::Window(Bytes::new(self.window_bytes as u64))
            }
            Set::Indigo => {
                let change = INDIGO_ACTIONS[(action.max(0.0) as usize).min(INDIGO_ACTIONS.len() - 1)];
                self.window_bytes = window(change(self.window_bytes / self.packet_bytes));
                Steering::Window(Bytes::new(self.window_bytes as u64))
            }
            Set::Orca => {
                Steering::CubicTimes((libm::pow(4.0, action.clamp(-1.0, 1.0)) * 100.0).floor() / 100.0)
            }
            Set::Aurora => {
                let step = AURORA_STEP * action;
                let (least, most) = RATE_PACKETS_PER_S;
                self.rate_bytes_per_s = match step >= 0.0 {
                    true => self.rate_bytes_per_s * (1.0 + step),
                    false => self.rate_bytes_per_s / (1.0 - step),
                }
                .clamp(least * self.packet_bytes, most * self.packet_bytes);
                Steering::Rate(Rate::from_bytes_per_sec(self.rate_bytes_per_s as u64))
            }
        }
    }

    /// Takes in what an interval of `seconds` showed, in which the link could carry `capacity_bytes`. Gives the reward.
    pub(crate) fn observe(&mut self, interval: &Interval, seconds: f64, capacity_bytes: f64) -> f64 {
        let throughput = interval.delivered_bytes as f64 / seconds;
        self.peak_bytes_per_s = self.peak_bytes_per_s.max(throughput);
        if let Some(rtt) = interval.rtt_mean_s {
            self.min_rtt_mean_s = self.min_rtt_mean_s.min(rtt);
        }
        match self.set {
            Set::Plain => self.observe_plain(interval, seconds),
            Set::Orca => self.observe_orca(interval, seconds),
            Set::Aurora => self.observe_aurora(interval, seconds),
            Set::Indigo => self.observe_indigo(interval, seconds),
        }
        match self.set {
            Set::Plain | Set::Indigo => plain_reward(interval, capacity_bytes),
            Set::Orca => {
                let loss = interval.lost_bytes as f64 / seconds;
                ratio(throughput - 5.0 * loss, self.peak_bytes_per_s) * orca_delay(interval)
            }
            Set::Aurora => {
                let packets_per_s = throughput / self.packet_bytes;
                let latency_s = interval.rtt_mean_s.unwrap_or(interval.smoothed_rtt_s);
                0.001 * (10.0 * packets_per_s - 1e3 * latency_s - 2e3 * loss_ratio(interval))
            }
        }
    }

    fn observe_plain(&mut self, interval: &Interval, seconds: f64) {
        let throughput = interval.delivered_bytes as f64 / seconds;
        let bdp = self.peak_bytes_per_s * interval.min_rtt_s;
        let features = [
            ratio(throughput, self.peak_bytes_per_s),
            ratio(interval.sent_bytes as f64 / seconds, self.peak_bytes_per_s),
            loss_ratio(interval),
            queueing_rtts(interval),
            interval.rtt_change_s / seconds,
            ratio(interval.window_bytes as f64, bdp),
        ];
        self.push(&features);
    }

    fn observe_orca(&mut self, interval: &Interval, seconds: f64) {
        let peak = self.peak_bytes_per_s;
        // Linux paces at 1.2 times the window over the smoothed RTT in congestion avoidance.
        let pacing = ratio(1.2 * interval.window_bytes as f64, interval.smoothed_rtt_s);
        let window_packets = interval.window_bytes as f64 / self.packet_bytes;
        let features = [
            ratio(interval.delivered_bytes as f64 / seconds, peak),
            ratio(pacing, peak).min(10.0),
            5.0 * ratio(interval.lost_bytes as f64 / seconds, peak),
            ratio(interval.delivered_packets as f64, window_packets),
            seconds,
            ratio(interval.min_rtt_s, interval.smoothed_rtt_s),
            orca_delay(interval),
        ];
        self.push(&features);
    }

    fn observe_aurora(&mut self, interval: &Interval, seconds: f64) {
        let latency_ratio = interval.rtt_mean_s.map_or(1.0, |rtt| ratio(rtt, self.min_rtt_mean_s));
        // PCC-RL: below a thousandth of what was sent, the ratio says nothing.
        let send_ratio = match interval.delivered_bytes as f64 / interval.sent_bytes.max(1) as f64 {
            share if share < 1e-3 => 1.0,
            share => 1.0 / share,
        };
        self.push(&[interval.rtt_change_s / seconds, latency_ratio, send_ratio]);
    }

    fn observe_indigo(&mut self, interval: &Interval, seconds: f64) {
        const BYTES_PER_MBIT: f64 = 125_000.0;
        let rtt = interval.rtt_mean_s.unwrap_or(interval.min_rtt_s);
        let now = [
            (rtt - interval.min_rtt_s).max(0.0) * 1e3,
            interval.delivered_bytes as f64 / seconds / BYTES_PER_MBIT,
            interval.sent_bytes as f64 / seconds / BYTES_PER_MBIT,
        ];
        for (average, now) in self.averages.iter_mut().zip(now) {
            *average += INDIGO_WEIGHT * (now - *average);
        }
        let [delay_ms, delivered, sent] = self.averages;
        let window_packets = interval.window_bytes as f64 / self.packet_bytes;
        // The scales of its code, which bring each near one.
        self.push(&[
            delay_ms / 200.0,
            delivered / 200.0,
            sent / 200.0,
            window_packets / 5000.0,
            self.last_action,
        ]);
    }

    /// Appends the newest interval; the oldest goes.
    fn push(&mut self, features: &[f64]) {
        let kept = self.observation.len() - features.len();
        self.observation.copy_within(features.len().., 0);
        for (slot, feature) in self.observation[kept..].iter_mut().zip(features) {
            *slot = *feature as f32;
        }
    }
}

/// Use of the link, less the queueing delay in round-trip times (one at most), less the share of losses (our choice).
fn plain_reward(interval: &Interval, capacity_bytes: f64) -> f64 {
    let utilisation = ratio(interval.delivered_bytes as f64, capacity_bytes).min(1.0);
    utilisation - queueing_rtts(interval).min(1.0) - loss_ratio(interval)
}

/// The mean queueing delay in minimum round-trip times.
fn queueing_rtts(interval: &Interval) -> f64 {
    interval.rtt_mean_s.map_or(0.0, |rtt| (ratio(rtt, interval.min_rtt_s) - 1.0).max(0.0))
}

/// `min(1, 1.25 minRTT / sRTT)` of Orca's code.
fn orca_delay(interval: &Interval) -> f64 {
    if interval.smoothed_rtt_s > 0.0 {
        (1.25 * interval.min_rtt_s / interval.smoothed_rtt_s).min(1.0)
    } else {
        1.0
    }
}

fn loss_ratio(interval: &Interval) -> f64 {
    ratio(interval.lost_bytes as f64, (interval.lost_bytes + interval.delivered_bytes) as f64)
}

/// Zero where there is nothing to divide by.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 && whole.is_finite() { part / whole } else { 0.0 }
}

//! What an agent observes and does: the sets of published agents, and a plain one. The environments of the Python package and
//! the schemes of this folder have the same.

use super::meter::Interval;
use super::steering::{MAX_CWND, MIN_CWND, Steering};
use cellcc_units::{Bytes, Rate, Span};
use std::str::FromStr;

/// Whose observations and actions they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentKind {
    /// Ours: what an interval showed, the window halved to doubled.
    Plain,
    /// Ours: the last intervals by numbers from -1 to 1, the window halved to doubled.
    Bounded,
    /// Orca (SIGCOMM 2020), as its code at cafaf9a has them.
    Orca,
    /// Aurora (ICML 2019), as PCC-RL has them.
    Aurora,
    /// Indigo (USENIX ATC 2018), as its code at 463d89b has them.
    Indigo,
}

impl FromStr for AgentKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "plain" => Ok(Self::Plain),
            "bounded" => Ok(Self::Bounded),
            "orca" => Ok(Self::Orca),
            "aurora" => Ok(Self::Aurora),
            "indigo" => Ok(Self::Indigo),
            _ => Err(format!("there is no {text:?}; there are plain, bounded, orca, aurora and indigo")),
        }
    }
}

impl AgentKind {
    /// How many numbers an interval gives, and how many intervals an observation holds.
    pub fn shape(self) -> (usize, usize) {
        match self {
            Self::Plain => (6, 1),
            Self::Bounded => (6, 4),
            Self::Orca => (7, 10),
            Self::Aurora => (3, 10),
            Self::Indigo => (4 + INDIGO_ACTIONS.len(), 1),
        }
    }

    /// How many numbers its network gives: an action, or a score for each of its actions.
    pub(super) fn outputs(self) -> usize {
        if self == Self::Indigo { INDIGO_ACTIONS.len() } else { 1 }
    }

    /// The authors' programs decide when an acknowledgement has come. The others, trained in our environments, do not wait.
    pub(super) fn waits_for_acks(self) -> bool {
        matches!(self, Self::Orca | Self::Indigo)
    }
}

/// How long an interval between two decisions is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decides {
    /// So long.
    After(Span),
    /// So many minimum round-trip times.
    AfterRtts(f64),
}

/// No interval is shorter: the grain of traces.
const SHORTEST: Span = Span::from_millis(1);

impl Decides {
    /// The interval, where the least RTT so far is this.
    pub fn interval(self, min_rtt: Span) -> Span {
        match self {
            Self::After(span) => span,
            Self::AfterRtts(count) => min_rtt.mul_f64(count).max(SHORTEST),
        }
    }
}

impl FromStr for Decides {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(count) = text.strip_suffix("rtt") {
            let count: Option<f64> = count.trim().parse().ok().filter(|count| (0.1..=100.0).contains(count));
            return count.map(Self::AfterRtts).ok_or_else(|| {
                format!("{text:?}: write a time such as 20ms, or round-trip times from 0.1rtt to 100rtt")
            });
        }
        let span: Span = text.parse().map_err(|error| format!("{error}"))?;
        if (SHORTEST..=Span::from_secs(60)).contains(&span) {
            return Ok(Self::After(span));
        }
        Err(format!("{text:?} is out of range; write 1ms to 60s, such as 20ms"))
    }
}

/// Indigo's least window in packets (its code: `take_action`); the others have Orca's.
const INDIGO_MIN_CWND: f64 = 2.0;
/// The least rate in packets per second, of PCC-RL; the largest is 12 Gbit/s of full packets, beyond any link here (PCC-RL's
/// 1,000 would be 12 Mbit/s).
const RATE_PACKETS_PER_S: (f64, f64) = (40.0, 1e6);
/// The share of an action by which Aurora's rate changes (PCC-RL: DELTA_SCALE).
const AURORA_STEP: f64 = 0.025;
/// Indigo's five actions on the window in packets.
const INDIGO_ACTIONS: [fn(f64) -> f64; 5] = [|w| w / 2.0, |w| w - 10.0, |w| w, |w| w + 10.0, |w| w * 2.0];
/// A window of 2^4 bandwidth-delay products is one for a bounded agent.
const LARGEST_LOG_WINDOW: f64 = 4.0;
/// What Orca's state calls pacing counts headers, and its throughput does not: an MTU of 1500 bytes with 1448 of payload.
const MTU_PER_PAYLOAD: f64 = 1500.0 / 1448.0;
/// Packets per RTT sample of Orca's receiver, which is Linux' TCP and acknowledges every second one.
const PACKETS_PER_SAMPLE: f64 = 2.0;

/// An agent of one flow.
#[derive(Debug, Clone)]
pub struct Agent {
    kind: AgentKind,
    packet_bytes: f64,
    window_bytes: f64,
    rate_bytes_per_s: f64,
    /// The fastest interval so far.
    peak_bytes_per_s: f64,
    min_rtt_mean_s: f64,
    last_action: usize,
    observation: Vec<f32>,
}

impl Agent {
    /// Before anything was sent; `rtt_s` without any queue.
    pub fn new(kind: AgentKind, packet: Bytes, initial_window: Bytes, rtt_s: f64) -> Self {
        let (features, history) = kind.shape();
        Self {
            kind,
            packet_bytes: packet.as_f64(),
            window_bytes: initial_window.as_f64(),
            rate_bytes_per_s: initial_window.as_f64() / rtt_s,
            peak_bytes_per_s: 0.0,
            min_rtt_mean_s: f64::INFINITY,
            // Indigo's code begins with the last one (`prev_action`).
            last_action: INDIGO_ACTIONS.len() - 1,
            observation: vec![0.0; features * history],
        }
    }

    /// The last intervals, oldest first.
    pub fn observation(&self) -> &[f32] {
        &self.observation
    }

    /// What its interval brought at most.
    pub fn peak_bytes_per_s(&self) -> f64 {
        self.peak_bytes_per_s
    }

    /// The action that a network's numbers mean; `None` where one of them is no finite number.
    pub(super) fn choose(&self, outputs: &[f32]) -> Option<f64> {
        if outputs.iter().any(|output| !output.is_finite()) {
            return None;
        }
        match self.kind {
            AgentKind::Indigo => {
                // The first of equals, as argmax has it.
                let best =
                    (1..outputs.len()).fold(0, |best, i| if outputs[i] > outputs[best] { i } else { best });
                Some(best as f64)
            }
            _ => outputs.first().copied().map(f64::from),
        }
    }

    /// What this action asks of the sender.
    pub fn act(&mut self, action: f64) -> Steering {
        let action = if action.is_finite() { action } else { 0.0 };
        let least = if self.kind == AgentKind::Indigo { INDIGO_MIN_CWND } else { MIN_CWND };
        // Indigo itself has no largest window.
        let window = |packets: f64| packets.clamp(least, MAX_CWND) * self.packet_bytes;
        match self.kind {
            AgentKind::Plain | AgentKind::Bounded => {
                self.window_bytes =
                    window(self.window_bytes / self.packet_bytes * libm::exp2(action.clamp(-1.0, 1.0)));
                Steering::Window(Bytes::new(self.window_bytes as u64))
            }
            AgentKind::Indigo => {
                self.last_action = (action.max(0.0) as usize).min(INDIGO_ACTIONS.len() - 1);
                let change = INDIGO_ACTIONS[self.last_action];
                self.window_bytes = window(change(self.window_bytes / self.packet_bytes));
                // A packet leaves while fewer than the window, which has a fraction, are under way.
                let packets = (self.window_bytes / self.packet_bytes).ceil();
                Steering::Window(Bytes::new((packets * self.packet_bytes) as u64))
            }
            AgentKind::Orca => {
                // The code hands over whole per cent.
                Steering::CubicTimes((libm::pow(4.0, action.clamp(-1.0, 1.0)) * 100.0).floor() / 100.0)
            }
            AgentKind::Aurora => {
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

    /// Takes in what an interval showed.
    pub fn observe(&mut self, interval: &Interval) {
        let fastest = match self.kind {
            AgentKind::Orca => interval.rate_mean_bytes_per_s.unwrap_or(0.0),
            _ => interval.throughput_bytes_per_s(),
        };
        self.peak_bytes_per_s = self.peak_bytes_per_s.max(fastest);
        if let Some(rtt) = interval.rtt_mean_s {
            self.min_rtt_mean_s = self.min_rtt_mean_s.min(rtt);
        }
        match self.kind {
            AgentKind::Plain => self.observe_plain(interval),
            AgentKind::Bounded => self.observe_bounded(interval),
            AgentKind::Orca => self.observe_orca(interval),
            AgentKind::Aurora => self.observe_aurora(interval),
            AgentKind::Indigo => self.observe_indigo(interval),
        }
    }

    fn observe_plain(&mut self, interval: &Interval) {
        let bdp = self.peak_bytes_per_s * interval.min_rtt_s;
        let features = [
            ratio(interval.throughput_bytes_per_s(), self.peak_bytes_per_s),
            ratio(ratio(interval.sent_bytes as f64, interval.length_s), self.peak_bytes_per_s),
            interval.loss_ratio(),
            interval.queueing_rtts(),
            ratio(interval.rtt_change_s, interval.length_s),
            ratio(interval.window_bytes as f64, bdp),
        ];
        self.push(&features);
    }

    /// Where nothing was acknowledged, delay and window are as they were.
    fn observe_bounded(&mut self, interval: &Interval) {
        let (sent, delivered) = (interval.sent_bytes as f64, interval.delivered_bytes as f64);
        let [.., queueing, _, window] = self.observation[..] else { unreachable!("six numbers an interval") };
        let (queueing, window) = match delivered > 0.0 {
            true => {
                let queueing_rtts = interval.queueing_rtts();
                let bdp = interval.throughput_bytes_per_s() * interval.min_rtt_s;
                let windows = ratio(interval.window_bytes as f64, bdp);
                (queueing_rtts / (1.0 + queueing_rtts), libm::log2(windows) / LARGEST_LOG_WINDOW)
            }
            false => (f64::from(queueing), f64::from(window)),
        };
        let features = [
            ratio(interval.throughput_bytes_per_s(), self.peak_bytes_per_s),
            ratio(delivered, sent + delivered),
            interval.loss_ratio(),
            queueing,
            ratio(interval.rtt_change_s, interval.length_s).clamp(-1.0, 1.0),
            window.clamp(-1.0, 1.0),
        ];
        self.push(&features);
    }

    fn observe_orca(&mut self, interval: &Interval) {
        let peak = self.peak_bytes_per_s;
        let paced_bytes = interval.window_bytes.max(interval.inflight_bytes) as f64 * MTU_PER_PAYLOAD;
        let samples = interval.delivered_packets as f64 / PACKETS_PER_SAMPLE;
        let features = [
            ratio(interval.rate_mean_bytes_per_s.unwrap_or(0.0), peak),
            ratio(ratio(paced_bytes, interval.smoothed_rtt_s), peak).min(10.0),
            5.0 * ratio(ratio(interval.lost_bytes as f64, interval.length_s), peak),
            ratio(samples, interval.window_bytes as f64 / self.packet_bytes),
            interval.length_s,
            ratio(interval.min_rtt_s, interval.smoothed_rtt_s),
            interval.orca_delay(),
        ];
        self.push(&features);
    }

    fn observe_aurora(&mut self, interval: &Interval) {
        let latency_ratio = interval.rtt_mean_s.map_or(1.0, |rtt| ratio(rtt, self.min_rtt_mean_s));
        // PCC-RL: below a thousandth of what was sent, the ratio says nothing.
        let send_ratio = match interval.delivered_bytes as f64 / interval.sent_bytes.max(1) as f64 {
            share if share < 1e-3 => 1.0,
            share => 1.0 / share,
        };
        self.push(&[ratio(interval.rtt_change_s, interval.length_s), latency_ratio, send_ratio]);
    }

    fn observe_indigo(&mut self, interval: &Interval) {
        let [delay_ms, delivered_mbit_s, sent_mbit_s] = interval.averages;
        let mut features = [0.0; 4 + INDIGO_ACTIONS.len()];
        // The scales of its code (helpers.py, `normalize`), which bring each near one.
        features[..4].copy_from_slice(&[
            delay_ms / 200.0,
            delivered_mbit_s / 200.0,
            sent_mbit_s / 200.0,
            self.window_bytes / self.packet_bytes / 5000.0,
        ]);
        features[4 + self.last_action] = 1.0;
        self.push(&features);
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

/// Zero where there is nothing to divide by.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 && whole.is_finite() { part / whole } else { 0.0 }
}

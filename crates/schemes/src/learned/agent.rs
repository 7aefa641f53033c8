//! Observations and actions of an agent: the sets of published agents, and a plain one. The environments of the Python package and
//! the schemes of this folder have the same.

use super::meter::{Interval, Measures, Meter, ratio};
use super::sender::{MAX_CWND, MIN_CWND, Sender, Steering};
use cellcc_control::Context;
use cellcc_units::{Bytes, Rate};
use std::str::FromStr;

/// Whose observations and actions they are. A further kind is one row of `AGENTS` with its functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentKind {
    /// Ours: the results of an interval, the window halved to doubled.
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

/// Observation, action and reward of a kind of agent: a row of [`AGENTS`].
struct Rules {
    kind: AgentKind,
    name: &'static str,
    /// Numbers that an interval gives, and intervals that an observation holds.
    shape: (usize, usize),
    /// Numbers that its network gives: an action, or a score for each of its actions.
    outputs: usize,
    /// The authors' programs decide when an acknowledgement has come. The others, trained in our environments, do not wait.
    waits_for_acks: bool,
    measures: Measures,
    /// Its actions multiply CUBIC's window.
    steers_cubic: bool,
    /// The speed of an interval; the agent keeps the largest.
    speed_bytes_per_s: fn(&Interval) -> f64,
    observe: fn(&mut Agent, &Interval),
    act: fn(&mut Agent, f64) -> Steering,
    /// For an interval in which the link could carry so many bytes.
    reward: fn(&Agent, &Interval, f64) -> f64,
}

const PLAIN: Rules = Rules {
    kind: AgentKind::Plain,
    name: "plain",
    shape: (6, 1),
    outputs: 1,
    waits_for_acks: false,
    measures: Measures::Counts,
    steers_cubic: false,
    speed_bytes_per_s: Interval::throughput_bytes_per_s,
    observe: observe_plain,
    act: scale_window,
    reward: reward_plain,
};

/// The agents, in the order in which they are listed. A row states the differences from [`PLAIN`].
static AGENTS: [Rules; 5] = [
    PLAIN,
    Rules { kind: AgentKind::Bounded, name: "bounded", shape: (6, 4), observe: observe_bounded, ..PLAIN },
    Rules {
        kind: AgentKind::Orca,
        name: "orca",
        shape: (7, 10),
        waits_for_acks: true,
        measures: Measures::Rates,
        steers_cubic: true,
        speed_bytes_per_s: |interval| interval.rate_mean_bytes_per_s.unwrap_or(0.0),
        observe: observe_orca,
        act: act_orca,
        reward: reward_orca,
        ..PLAIN
    },
    Rules {
        kind: AgentKind::Aurora,
        name: "aurora",
        shape: (3, 10),
        observe: observe_aurora,
        act: act_aurora,
        reward: reward_aurora,
        ..PLAIN
    },
    Rules {
        kind: AgentKind::Indigo,
        name: "indigo",
        shape: (4 + INDIGO_ACTIONS.len(), 1),
        outputs: INDIGO_ACTIONS.len(),
        waits_for_acks: true,
        measures: Measures::Averages,
        observe: observe_indigo,
        act: act_indigo,
        ..PLAIN
    },
];

impl FromStr for AgentKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        AGENTS.iter().find(|rules| rules.name == text).map(|rules| rules.kind).ok_or_else(|| {
            let [others @ .., last] = AGENTS.each_ref().map(|rules| rules.name);
            format!("there is no {text:?}; there are {} and {last}", others.join(", "))
        })
    }
}

impl AgentKind {
    fn rules(self) -> &'static Rules {
        AGENTS.iter().find(|rules| rules.kind == self).expect("a row of each kind")
    }

    /// Numbers per interval, and intervals per observation.
    pub fn shape(self) -> (usize, usize) {
        self.rules().shape
    }

    /// Number of its network's outputs: one action, or a score for each action.
    pub(super) fn outputs(self) -> usize {
        self.rules().outputs
    }

    /// It decides only when an acknowledgement has come.
    pub(super) fn waits_for_acks(self) -> bool {
        self.rules().waits_for_acks
    }

    /// It observes the bytes that had left before each packet: the packet's tag.
    pub fn hears_departures(self) -> bool {
        self.rules().measures == Measures::Averages
    }

    /// Counts the observations of an agent of this kind.
    pub fn meter(self) -> Meter {
        Meter::new(self.rules().measures)
    }

    /// The sender that an agent of this kind steers, at the beginning of a flow.
    pub fn sender(self, context: &Context) -> Sender {
        Sender::new(self.rules().steers_cubic, context)
    }
}

/// Indigo's least window in packets (its code: `take_action`); the others have Orca's.
const INDIGO_MIN_CWND: f64 = 2.0;
/// The least rate in packets per second, of PCC-RL; the largest is 12 Gbit/s of full packets, beyond any link here (PCC-RL's
/// 1,000 would be 12 Mbit/s).
const RATE_PACKETS_PER_S: (f64, f64) = (40.0, 1e6);
/// The factor of an action on Aurora's rate (PCC-RL: DELTA_SCALE).
const AURORA_STEP: f64 = 0.025;
/// Indigo's five actions on the window in packets.
const INDIGO_ACTIONS: [fn(f64) -> f64; 5] = [|w| w / 2.0, |w| w - 10.0, |w| w, |w| w + 10.0, |w| w * 2.0];
/// A window of 2^4 bandwidth-delay products is one for a bounded agent.
const LARGEST_LOG_WINDOW: f64 = 4.0;
/// The pacing of Orca's state counts headers, and its throughput does not: an MTU of 1500 bytes with 1448 of payload.
const MTU_PER_PAYLOAD: f64 = 1500.0 / 1448.0;
/// Packets per RTT sample of Orca's receiver, which is Linux's TCP and acknowledges every second one.
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

    /// The action that a network's numbers mean; `None` where one of them is no finite number.
    pub(super) fn choose(&self, outputs: &[f32]) -> Option<f64> {
        if outputs.iter().any(|output| !output.is_finite()) {
            return None;
        }
        if self.kind.rules().outputs == 1 {
            return outputs.first().copied().map(f64::from);
        }
        // The first of equals, as argmax has it.
        let best = (1..outputs.len()).fold(0, |best, i| if outputs[i] > outputs[best] { i } else { best });
        Some(best as f64)
    }

    /// The sender's steering for this action.
    pub fn act(&mut self, action: f64) -> Steering {
        (self.kind.rules().act)(self, if action.is_finite() { action } else { 0.0 })
    }

    /// Takes in the results of an interval.
    pub fn observe(&mut self, interval: &Interval) {
        self.peak_bytes_per_s = self.peak_bytes_per_s.max((self.kind.rules().speed_bytes_per_s)(interval));
        if let Some(rtt) = interval.rtt_mean_s {
            self.min_rtt_mean_s = self.min_rtt_mean_s.min(rtt);
        }
        (self.kind.rules().observe)(self, interval);
    }

    /// The reward of an observed interval in which the link could carry `capacity_bytes`: that of the published environments;
    /// for our own agent, and for Indigo, which learns from an oracle, utilisation less delay less loss.
    pub fn reward(&self, interval: &Interval, capacity_bytes: f64) -> f64 {
        (self.kind.rules().reward)(self, interval, capacity_bytes)
    }

    /// The window of `packets`, within `least` and the largest, in bytes.
    fn window(&self, packets: f64, least: f64) -> f64 {
        packets.clamp(least, MAX_CWND) * self.packet_bytes
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

fn observe_plain(agent: &mut Agent, interval: &Interval) {
    let bdp = agent.peak_bytes_per_s * interval.min_rtt_s;
    let features = [
        ratio(interval.throughput_bytes_per_s(), agent.peak_bytes_per_s),
        ratio(ratio(interval.sent_bytes as f64, interval.length_s), agent.peak_bytes_per_s),
        interval.loss_ratio(),
        interval.queueing_rtts(),
        ratio(interval.rtt_change_s, interval.length_s),
        ratio(interval.window_bytes as f64, bdp),
    ];
    agent.push(&features);
}

fn scale_window(agent: &mut Agent, action: f64) -> Steering {
    let packets = agent.window_bytes / agent.packet_bytes * libm::exp2(action.clamp(-1.0, 1.0));
    agent.window_bytes = agent.window(packets, MIN_CWND);
    Steering::Window(Bytes::new(agent.window_bytes as u64))
}

/// Use of the link, less the queueing delay in round-trip times (one at most), less the share of losses (our choice).
fn reward_plain(_: &Agent, interval: &Interval, capacity_bytes: f64) -> f64 {
    let utilisation = ratio(interval.delivered_bytes as f64, capacity_bytes).min(1.0);
    utilisation - interval.queueing_rtts().min(1.0) - interval.loss_ratio()
}

/// Where nothing was acknowledged, delay and window are as they were.
fn observe_bounded(agent: &mut Agent, interval: &Interval) {
    let (sent, delivered) = (interval.sent_bytes as f64, interval.delivered_bytes as f64);
    let [.., queueing, _, window] = agent.observation[..] else { unreachable!("six numbers an interval") };
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
        ratio(interval.throughput_bytes_per_s(), agent.peak_bytes_per_s),
        ratio(delivered, sent + delivered),
        interval.loss_ratio(),
        queueing,
        ratio(interval.rtt_change_s, interval.length_s).clamp(-1.0, 1.0),
        window.clamp(-1.0, 1.0),
    ];
    agent.push(&features);
}

fn observe_orca(agent: &mut Agent, interval: &Interval) {
    let peak = agent.peak_bytes_per_s;
    let paced_bytes = interval.window_bytes.max(interval.inflight_bytes) as f64 * MTU_PER_PAYLOAD;
    let samples = interval.delivered_packets as f64 / PACKETS_PER_SAMPLE;
    let features = [
        ratio(interval.rate_mean_bytes_per_s.unwrap_or(0.0), peak),
        ratio(ratio(paced_bytes, interval.smoothed_rtt_s), peak).min(10.0),
        5.0 * ratio(ratio(interval.lost_bytes as f64, interval.length_s), peak),
        ratio(samples, interval.window_bytes as f64 / agent.packet_bytes),
        interval.length_s,
        ratio(interval.min_rtt_s, interval.smoothed_rtt_s),
        interval.orca_delay(),
    ];
    agent.push(&features);
}

/// The code hands over whole per cent.
fn act_orca(_: &mut Agent, action: f64) -> Steering {
    Steering::CubicTimes((libm::pow(4.0, action.clamp(-1.0, 1.0)) * 100.0).floor() / 100.0)
}

fn reward_orca(agent: &Agent, interval: &Interval, _: f64) -> f64 {
    let throughput = interval.rate_mean_bytes_per_s.unwrap_or(0.0);
    let good = throughput - 5.0 * (interval.lost_bytes as f64 / interval.length_s);
    ratio(good, agent.peak_bytes_per_s) * interval.orca_delay()
}

fn observe_aurora(agent: &mut Agent, interval: &Interval) {
    let latency_ratio = interval.rtt_mean_s.map_or(1.0, |rtt| ratio(rtt, agent.min_rtt_mean_s));
    // PCC-RL: below a thousandth of the sent data, the ratio has no meaning.
    let send_ratio = match interval.delivered_bytes as f64 / interval.sent_bytes.max(1) as f64 {
        share if share < 1e-3 => 1.0,
        share => 1.0 / share,
    };
    agent.push(&[ratio(interval.rtt_change_s, interval.length_s), latency_ratio, send_ratio]);
}

fn act_aurora(agent: &mut Agent, action: f64) -> Steering {
    let step = AURORA_STEP * action;
    let (least, most) = RATE_PACKETS_PER_S;
    agent.rate_bytes_per_s = match step >= 0.0 {
        true => agent.rate_bytes_per_s * (1.0 + step),
        false => agent.rate_bytes_per_s / (1.0 - step),
    }
    .clamp(least * agent.packet_bytes, most * agent.packet_bytes);
    Steering::Rate(Rate::from_bytes_per_sec(agent.rate_bytes_per_s as u64))
}

fn reward_aurora(_: &Agent, interval: &Interval, _: f64) -> f64 {
    let latency_s = interval.rtt_mean_s.unwrap_or(interval.smoothed_rtt_s);
    let packets_per_s = interval.delivered_packets as f64 / interval.length_s;
    0.001 * (10.0 * packets_per_s - 1e3 * latency_s - 2e3 * interval.loss_ratio())
}

fn observe_indigo(agent: &mut Agent, interval: &Interval) {
    let [delay_ms, delivered_mbit_s, sent_mbit_s] = interval.averages;
    let mut features = [0.0; 4 + INDIGO_ACTIONS.len()];
    // The scales of its code (helpers.py, `normalize`), which bring each near one.
    features[..4].copy_from_slice(&[
        delay_ms / 200.0,
        delivered_mbit_s / 200.0,
        sent_mbit_s / 200.0,
        agent.window_bytes / agent.packet_bytes / 5000.0,
    ]);
    features[4 + agent.last_action] = 1.0;
    agent.push(&features);
}

fn act_indigo(agent: &mut Agent, action: f64) -> Steering {
    agent.last_action = (action.max(0.0) as usize).min(INDIGO_ACTIONS.len() - 1);
    let change = INDIGO_ACTIONS[agent.last_action];
    // Indigo itself has no largest window.
    agent.window_bytes = agent.window(change(agent.window_bytes / agent.packet_bytes), INDIGO_MIN_CWND);
    // A packet leaves while fewer than the window, which has a fraction, are under way.
    let packets = (agent.window_bytes / agent.packet_bytes).ceil();
    Steering::Window(Bytes::new((packets * agent.packet_bytes) as u64))
}

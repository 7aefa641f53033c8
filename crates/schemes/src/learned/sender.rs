//! The sender under an agent: what it measures of an interval between two decisions, and how it carries out an action.

use cellcc_control::{
    Ack, Context, Event, Limits, Loss, Observer, Sampler,
    growth::{Cubic, CubicVariant, Growth, HystartMode},
};
use cellcc_units::{Bytes, Rate, Span, Time};

// What an interval between two decisions shows of a flow.

/// What an interval showed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// How long it was.
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
    /// Of the whole flow; zero before the first sample.
    pub min_rtt_s: f64,
    /// Of the whole flow; zero before the first sample.
    pub smoothed_rtt_s: f64,
    /// At its end.
    pub window_bytes: u64,
    /// At its last acknowledgement or loss.
    pub inflight_bytes: u64,
    /// The mean of Linux' delivery-rate samples; for Orca.
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

/// A sum of samples, and how many.
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
    /// Linux' delivery rates, for Orca.
    Rates,
    /// Moving averages of delay and rates, for Indigo.
    Averages,
}

/// Counts what an agent observes.
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
    /// Of the flow.
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

    /// What the interval has shown until now.
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

// What carries out an agent's actions: a window, a rate, or CUBIC whose window an agent multiplies.
//
// **Below Orca's agent** (its kernel patch and `orca-server-mahimahi.cc` at cafaf9a): Linux' CUBIC with HyStart. What it sends is
// paced at window / sRTT, or at in flight / sRTT where that is more. Until ssthresh is below the window for the first time,
// which HyStart's first sign of a queue brings about, the agent is not asked: a loop multiplies the window by 1.1 whenever it finds
// new RTT samples, and looks every 2 ms. Only the receiver's window bounds that, which Linux opens to four times what came in a
// round; without it the first second overflows any queue. So it is here.

/// How an agent steers the sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steering {
    /// The window is what the agent says, in bytes.
    Window(Bytes),
    /// The sending rate is; the window is out of the way.
    Rate(Rate),
    /// CUBIC's window times this; CUBIC goes on from there (Orca, SIGCOMM 2020, section 4).
    CubicTimes(f64),
}

/// What Orca's slow start multiplies the window by (`orca-server-mahimahi.cc`).
const SLOW_START_FACTOR: f64 = 1.1;
/// How often new samples are looked for, in slow start and where an interval had none: a tenth of the interval
/// (`usleep(report_period*100)`).
pub(super) const POLL: Span = Span::from_millis(2);
/// The packets that Linux' receiver allows at first (tcp_output.c, `tcp_default_init_rwnd`).
const FIRST_RECEIVE_WINDOW: u64 = 20;
/// It opens to so many times the data of a round where they have doubled (4.13: tcp_input.c, `tcp_rcv_space_adjust`), ...
const TIMES_A_ROUND: u64 = 4;
/// ... and so many packets beyond that.
const RECEIVE_MARGIN: u64 = 32;
/// The least window in packets (Orca's code).
pub(super) const MIN_CWND: f64 = 4.0;
/// The largest (Orca's code).
pub(super) const MAX_CWND: f64 = 10_000.0;

/// The sender that an agent steers.
#[derive(Debug, Clone)]
pub struct Sender {
    limits: Limits,
    under_agent: Option<OrcaSender>,
}

/// CUBIC below Orca's agent.
#[derive(Debug, Clone)]
struct OrcaSender {
    cubic: Cubic,
    packet: Bytes,
    inflight: Bytes,
    smoothed_rtt: Span,
    /// What had arrived when the round began.
    round_began_at: Bytes,
    receive_window: Bytes,
    /// When slow start looks for samples again; none once it is over.
    poll: Option<Time>,
    has_samples: bool,
}

impl Sender {
    /// At the beginning of a flow: of CUBIC, where the agent multiplies its window.
    pub(super) fn new(steers_cubic: bool, context: &Context) -> Self {
        let under_agent = steers_cubic.then(|| OrcaSender {
            cubic: Cubic::new(context, HystartMode::Linux).with_variant(CubicVariant::Linux),
            packet: context.packet,
            inflight: Bytes::ZERO,
            smoothed_rtt: Span::ZERO,
            round_began_at: Bytes::ZERO,
            receive_window: context.packet * FIRST_RECEIVE_WINDOW,
            poll: Some(Time::ZERO),
            has_samples: false,
        });
        Self { limits: Limits::window_only(context.initial_window), under_agent }
    }

    /// Packets were acknowledged.
    pub fn on_ack(&mut self, ack: &Ack<'_>) {
        let Some(orca) = &mut self.under_agent else { return };
        orca.cubic.on_ack(ack);
        (orca.packet, orca.inflight, orca.smoothed_rtt) = (ack.packet_size, ack.inflight, ack.rtt.smoothed());
        orca.has_samples |= ack.rtt_sample.is_some();
        orca.open_receive_window(ack);
        self.limits = orca.limits();
    }

    /// Packets were lost.
    pub fn on_loss(&mut self, loss: &Loss<'_>) {
        let Some(orca) = &mut self.under_agent else { return };
        orca.cubic.on_loss(loss);
        orca.inflight = loss.inflight;
        self.limits = orca.limits();
    }

    /// Something happened that is neither.
    pub fn on_event(&mut self, now: Time, event: Event) {
        let Some(orca) = &mut self.under_agent else { return };
        orca.cubic.on_event(now, event);
        self.limits = orca.limits();
    }

    /// Before the agent is asked for the first time: Orca's slow start.
    pub fn is_in_slow_start(&self) -> bool {
        self.under_agent.as_ref().is_some_and(|orca| orca.poll.is_some())
    }

    /// When [`on_timer`](Self::on_timer) wants to be called.
    pub fn next_timer(&self) -> Option<Time> {
        self.under_agent.as_ref().filter(|orca| orca.has_samples)?.poll
    }

    /// The time has come.
    pub fn on_timer(&mut self, now: Time) {
        let Some(orca) = &mut self.under_agent else { return };
        if orca.has_samples && orca.poll.is_some_and(|poll| poll <= now) {
            orca.has_samples = false;
            orca.slow_start(now);
            self.limits = orca.limits();
        }
    }

    /// Carries out an action. Slow start hears none.
    pub fn steer(&mut self, steering: Steering) {
        match (steering, &mut self.under_agent) {
            (Steering::Window(window), _) => self.limits = Limits::window_only(window),
            (Steering::Rate(rate), _) => self.limits = Limits::paced(Bytes::MAX, rate, Bytes::ZERO),
            (Steering::CubicTimes(factor), Some(orca)) if orca.poll.is_none() => {
                orca.multiply(factor);
                self.limits = orca.limits();
            }
            (Steering::CubicTimes(_), _) => {}
        }
    }

    /// The congestion window that an agent sees.
    pub fn window(&self) -> Bytes {
        self.under_agent.as_ref().map_or(self.limits.window, |orca| orca.cubic.window())
    }

    /// What the sender may do.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    pub(super) fn observe(&self, observer: &mut dyn Observer) {
        if let Some(orca) = &self.under_agent {
            orca.cubic.observe(observer);
        }
    }
}

impl OrcaSender {
    fn slow_start(&mut self, now: Time) {
        // The code asks for a window above ssthresh, which its next product is.
        if !self.cubic.in_slow_start() {
            self.poll = None;
            return;
        }
        self.poll = Some(now + POLL);
        self.multiply(SLOW_START_FACTOR);
    }

    fn open_receive_window(&mut self, ack: &Ack<'_>) {
        if ack.round_start {
            let arrived = ack.delivered.saturating_sub(self.round_began_at);
            self.round_began_at = ack.delivered;
            self.receive_window =
                self.receive_window.max(arrived * TIMES_A_ROUND + self.packet * RECEIVE_MARGIN);
        }
    }

    /// Of whole packets, as in the code.
    fn multiply(&mut self, factor: f64) {
        let packets = (self.cubic.window().in_packets(self.packet).floor() * factor).floor();
        let packets = packets.clamp(MIN_CWND, MAX_CWND);
        self.cubic.set_window(Bytes::from_packets(packets, self.packet));
    }

    /// Paced, as the kernel patch does it (`deepcc_update_pacing_rate`).
    fn limits(&self) -> Limits {
        let paced = self.cubic.window().max(self.inflight);
        let window = self.cubic.window().min(self.receive_window);
        match Rate::from_transfer(paced, self.smoothed_rtt) {
            Rate::MAX | Rate::ZERO => Limits::window_only(window),
            rate => Limits::paced(window, rate, Bytes::ZERO),
        }
    }
}

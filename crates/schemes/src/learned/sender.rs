//! The sender that carries out an agent's actions: a window, a rate, or CUBIC whose window an agent multiplies.
//!
//! **Below Orca's agent** (its kernel patch and `orca-server-mahimahi.cc` at cafaf9a): Linux's CUBIC with HyStart. Its packets
//! are paced at window / sRTT, or at in flight / sRTT if that is more. Until ssthresh is below the window for the first time,
//! which HyStart's first sign of a queue brings about, the agent is not asked: a loop multiplies the window by 1.1 whenever it
//! finds new RTT samples, and looks every 2 ms. Only the receiver's window bounds that, which Linux opens to four times the
//! arrivals of a round; without it the first second overflows any queue. So it is here.

use cellcc_control::{
    Ack, Context, Event, Limits, Loss, Observer,
    growth::{Cubic, CubicVariant, Growth, SlowStart},
};
use cellcc_units::{Bytes, Rate, Span, Time};

/// An agent's means to steer the sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steering {
    /// The agent's window, in bytes.
    Window(Bytes),
    /// The sending rate is; the window is out of the way.
    Rate(Rate),
    /// CUBIC's window times this; CUBIC goes on from there (Orca, SIGCOMM 2020, section 4).
    CubicTimes(f64),
}

/// The factor of Orca's slow start on the window (`orca-server-mahimahi.cc`).
const SLOW_START_FACTOR: f64 = 1.1;
/// Time between checks for new samples, in slow start and where an interval had none: a tenth of the interval
/// (`usleep(report_period*100)`).
pub(super) const POLL: Span = Span::from_millis(2);
/// The packets that Linux's receiver allows at first (tcp_output.c, `tcp_default_init_rwnd`).
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
    /// The arrivals when the round began.
    round_began_at: Bytes,
    receive_window: Bytes,
    /// Time of slow start's next check for samples; none once it is over.
    poll: Option<Time>,
    has_samples: bool,
}

impl Sender {
    /// At the beginning of a flow: of CUBIC, where the agent multiplies its window.
    pub(super) fn new(steers_cubic: bool, context: &Context) -> Self {
        let under_agent = steers_cubic.then(|| OrcaSender {
            cubic: Cubic::new(context, SlowStart::Linux4).with_variant(CubicVariant::Linux),
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

    /// True before the agent's first decision: Orca's slow start.
    pub fn is_in_slow_start(&self) -> bool {
        self.under_agent.as_ref().is_some_and(|orca| orca.poll.is_some())
    }

    /// Time of the next call of [`on_timer`](Self::on_timer).
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

    /// Carries out an action. Slow start takes none.
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

    /// The limits of the sender.
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

    /// In whole packets, as in the code.
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

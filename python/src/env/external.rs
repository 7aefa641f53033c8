//! A controller that is told its limits from outside, and keeps what an agent observes.

use cellcc_control::growth::{Cubic, Growth, HystartMode};
use cellcc_control::{Ack, Context, Controller, Event, Flow, Limits, Loss};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How an agent steers the sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Steering {
    /// The window is what the agent says, in bytes.
    Window(Bytes),
    /// The sending rate is; the window is out of the way.
    Rate(Rate),
    /// CUBIC's window times this; CUBIC goes on from there (Orca, SIGCOMM 2020, section 4).
    CubicTimes(f64),
}

/// What an agent and the controller of its flow share. One thread at a time has both.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    /// Taken at the beginning of the next interval.
    steering: Mutex<Option<Steering>>,
    next_decision_nanos: AtomicU64,
    interval: [AtomicU64; COUNTERS],
}

/// What is counted of the interval that goes on, beside what the flow itself knows.
#[derive(Debug, Clone, Copy)]
enum Counter {
    DeliveredBytes,
    DeliveredPackets,
    LostBytes,
    EarlyRttNanos,
    EarlySamples,
    LateRttNanos,
    LateSamples,
}

const COUNTERS: usize = 7;

/// What an interval showed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Interval {
    pub(crate) sent_bytes: u64,
    pub(crate) delivered_bytes: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) delivered_packets: u64,
    /// None where nothing was acknowledged.
    pub(crate) rtt_mean_s: Option<f64>,
    /// The mean of the second half of its time less that of the first; zero where either has no sample.
    pub(crate) rtt_change_s: f64,
    /// Of the whole flow; zero before the first sample.
    pub(crate) min_rtt_s: f64,
    pub(crate) smoothed_rtt_s: f64,
    pub(crate) window_bytes: u64,
}

impl Mailbox {
    /// Has the sender steered like this from now on, until `next` at least.
    pub(crate) fn steer(&self, steering: Steering, next: Time) {
        *self.steering.lock().unwrap_or_else(PoisonError::into_inner) = Some(steering);
        self.next_decision_nanos.store(next.as_nanos(), Ordering::Relaxed);
    }

    /// What the interval has shown so far of its flow, which had sent so much before it.
    pub(crate) fn interval(&self, flow: &Flow, sent_before: Bytes) -> Interval {
        let of = |counter: Counter| self.interval[counter as usize].load(Ordering::Relaxed);
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let (early, late) = (of(Counter::EarlySamples), of(Counter::LateSamples));
        let (early_s, late_s) = (seconds(of(Counter::EarlyRttNanos)), seconds(of(Counter::LateRttNanos)));
        let mean = |sum: f64, samples: u64| (samples > 0).then(|| sum / samples as f64);
        let change = mean(late_s, late).zip(mean(early_s, early)).map(|(late, early)| late - early);
        let rtt = flow.rtt().latest().map(|_| flow.rtt());
        Interval {
            sent_bytes: (flow.sent() - sent_before).get(),
            delivered_bytes: of(Counter::DeliveredBytes),
            lost_bytes: of(Counter::LostBytes),
            delivered_packets: of(Counter::DeliveredPackets),
            rtt_mean_s: mean(early_s + late_s, early + late),
            rtt_change_s: change.unwrap_or(0.0),
            min_rtt_s: rtt.map_or(0.0, |rtt| rtt.min().as_secs_f64()),
            smoothed_rtt_s: rtt.map_or(0.0, |rtt| rtt.smoothed().as_secs_f64()),
            window_bytes: flow.limits().window.get(),
        }
    }

    /// No other thread writes meanwhile, so that nothing is lost between reading and writing.
    fn add(&self, counter: Counter, value: u64) {
        let cell = &self.interval[counter as usize];
        cell.store(cell.load(Ordering::Relaxed) + value, Ordering::Relaxed);
    }

    fn begin_interval(&self) {
        self.interval.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

/// The controller of a flow that an agent steers.
pub(crate) struct External {
    mailbox: Arc<Mailbox>,
    cubic: Cubic,
    /// CUBIC grows the window between decisions.
    grows: bool,
    limits: Limits,
    timer: Time,
    /// The middle of the interval.
    half: Time,
}

/// Orca's slow start, by which it multiplies CUBIC's window every interval instead (Orca's code at cafaf9a).
const SLOW_START_FACTOR: f64 = 1.1;

/// After the time of a decision, by which the agent has seen all that happened until then.
const DECIDES_AFTER: Span = Span::from_nanos(1);

impl External {
    pub(crate) fn new(mailbox: Arc<Mailbox>, context: &Context) -> Self {
        let limits = Limits::window_only(context.initial_window);
        let cubic = Cubic::new(context, HystartMode::On);
        Self { mailbox, cubic, grows: false, limits, timer: Time::ZERO + DECIDES_AFTER, half: Time::ZERO }
    }

    fn follow_cubic(&mut self) {
        if self.grows {
            self.limits = Limits::window_only(self.cubic.window());
        }
    }
}

impl Controller for External {
    fn hears_departures(&self) -> bool {
        false
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let mailbox = &self.mailbox;
        mailbox.add(Counter::DeliveredBytes, ack.bytes.get());
        mailbox.add(Counter::DeliveredPackets, ack.packets.len() as u64);
        if let Some(rtt) = ack.rtt_sample {
            let nanos = rtt.as_nanos();
            let (sum, count) = match ack.now < self.half {
                true => (Counter::EarlyRttNanos, Counter::EarlySamples),
                false => (Counter::LateRttNanos, Counter::LateSamples),
            };
            mailbox.add(sum, nanos);
            mailbox.add(count, 1);
        }
        if self.grows {
            self.cubic.on_ack(ack);
            self.follow_cubic();
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.mailbox.add(Counter::LostBytes, loss.bytes.get());
        if self.grows {
            self.cubic.on_loss(loss);
            self.follow_cubic();
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        if self.grows {
            self.cubic.on_event(now, event);
            self.follow_cubic();
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.timer)
    }

    /// An interval begins.
    fn on_timer(&mut self, now: Time) {
        let next = Time::ZERO + Span::from_nanos(self.mailbox.next_decision_nanos.load(Ordering::Relaxed));
        self.timer = next.max(now) + DECIDES_AFTER;
        self.half = now + (next.max(now).since(now)) / 2;
        self.mailbox.begin_interval();
        let steering = self.mailbox.steering.lock().unwrap_or_else(PoisonError::into_inner).take();
        match steering {
            None => {}
            Some(Steering::Window(window)) => self.limits = Limits::window_only(window),
            Some(Steering::Rate(rate)) => {
                self.limits = Limits::paced(Bytes::MAX, rate, Bytes::ZERO);
            }
            Some(Steering::CubicTimes(factor)) => {
                self.grows = true;
                let factor = if self.cubic.in_slow_start() { SLOW_START_FACTOR } else { factor };
                self.cubic.set_window(self.cubic.window().mul_f64(factor));
                self.follow_cubic();
            }
        }
    }

    fn limits(&self) -> Limits {
        self.limits
    }
}

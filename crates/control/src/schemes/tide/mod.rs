//! Tide: the window of the delivery rate, and a queue as long as the link is unsteady.
//!
//! 1. A tick is a quarter of the base RTT. Each one measures the delivery rate, the queueing delay, and the swing of the RTT: a
//!    quantile of largest less smallest sample within a base RTT, in which no decision of the sender's shows.
//! 2. The target of the queueing delay is `delay`, the knob, and more in proportion to the swing.
//! 3. The window is the rate times base RTT and target, corrected by a share of the difference between target and queueing
//!    delay; two packets more; and more while the queue stays empty. Packets are paced a little faster than that.
//!    Frames that waited while the link paused leave at once, up to the restart window.
//! 4. Where the queue has not been empty for 10 s, the flow drains it for an RTT, so that the base RTT stays known.
//! 5. Lost packets take off what the window has beyond the base RTT. A queue that stands far above the target for many rounds is
//!    somebody else's or a longer path: the flow competes as CUBIC does, and sees whether anybody yields.
//!
//! ```text
//!           no nearly empty queue for 10 s             24 rounds (3 soon after) of a queue far above the target
//!  drain <---------------------------------- alone ------------------------------------------------------------> competing
//!        ---------------------------------->       <------------------------------------------------------------
//!                  after one RTT                     after 1, 2, 4 .. 16 s, to look; or nobody yields, and the path has
//!                                                    become longer
//! ```
//!
//! Source: this project; docs/algorithms/tide.md has the measurements. Where a constant says "prototype", they chose it.
//!
//! Kin. A window of rate times base RTT and a target: BBR, Vegas, FAST, PropRate, ExLL. Packets that do not depend on the rate, for
//! equal shares: Vegas, FAST. Two modes, by what the queue does: Copa, Nimbus. Drains: BBR's ProbeRTT. A target from the variation
//! of the delay: in spirit C2TCP and Sprout. That a quantile of the RTT's swing within a base RTT sets the target is what we have
//! not found elsewhere; no thorough search was made.
//!
//! | file | concept |
//! |---|---|
//! | `base_rtt` | the RTT of an empty queue, and the drains that show it |
//! | `delivery` | the delivery rate, over four ticks and over sixteen |
//! | `queue` | queueing delay, swing, and the target |
//! | `aggregation` | how much one acknowledgement tells of |
//! | `loss` | what lost packets change |
//! | `window` | from all these to window and pacing rate |
//! | `rivals` | whether others fill the queue |
//! | `sawtooth` | whether it rises and falls, as flows that answer losses make it |
//! | `competition` | the window against them |
//! | `settings` | the knob, its presets, and the constants |
//!
//! **Differences from the prototype.**
//! - Times are whole nanoseconds, and the cube root is `libm`'s, so that every machine decides the same.
//! - A round that begins with an acknowledgement without an RTT sample counts, too.
//! - The swing is that of four whole ticks. In the prototype rounding decided whether a fifth one counted.
//! - The mean of short and long rate counts where the queue is above 1.5 targets, not where it is above one, and packets are paced
//!   at 1.5 times what the window asks for instead of 1.25 times: so that two flows converge at high rates.
//! - The window holds what one acknowledgement tells of as well. A receiver that acknowledges every 16th packet stalled the flow.
//! - A millisecond's worth leaves at once, up to four packets, instead of four.
//! - An application that had nothing to send within the last second has at least the restart window: the rate of its last packets
//!   says nothing of the path, and what has piled up in a pause of the link waited in the sender for some RTTs.
//! - Where packets are lost they leave less fast, down to what the window asks for: a queue without room has none for what comes
//!   too fast.
//! - The queue may hold the extra packets of eight flows before the flow competes, and not its own alone, unless the queue rises and
//!   falls. Several flows on a slow link competed with each other.
//! - Competition does not end where the queue is empty for a moment. A flow that came after CUBIC then left it the link.
//! - A path that becomes longer is told from a rival: nobody yields. The prototype's window grew by half per RTT for a second and more,
//!   and on an unlimited queue the p95 of the queueing delay was 3 s.

mod aggregation;
mod base_rtt;
mod competition;
mod delivery;
#[cfg(test)]
mod fixed_point;
mod loss;
mod queue;
mod rivals;
mod sawtooth;
mod settings;
#[cfg(test)]
mod tests;
mod window;

pub(super) use settings::scheme;

use crate::contract::{Ack, Context, Controller, Limits, Loss, Observer};
use aggregation::Aggregation;
use base_rtt::BaseRtt;
use cellcc_units::{Bytes, Span, Time};
use delivery::{Delivery, TICKS_PER_BASE_RTT};
use loss::LossResponse;
use queue::Queue;
use rivals::{Rivals, Round};
use settings::Settings;
use window::{State, min_window, pacing_rate, send_quantum};

/// Prototype: a tick is no shorter.
const MIN_TICK: Span = Span::from_micros(500);
/// Prototype: what a drain leaves in flight, as a share of rate times base RTT.
const DRAIN_TO: f64 = 0.5;
/// Prototype: the queue is empty below this share of the target.
const EMPTY: f64 = 0.5;

struct Tide {
    settings: Settings,
    packet: Bytes,
    /// In bytes, as for a flow alone that does not drain.
    window: f64,
    /// In bytes per second; none before the first tick.
    rate: Option<f64>,
    /// None before the first RTT sample.
    ticks: Option<Ticks>,
    app_limited: bool,
    round: u64,
    base_rtt: BaseRtt,
    queue: Queue,
    aggregation: Aggregation,
    loss: LossResponse,
    rivals: Rivals,
}

/// What begins with the first RTT sample.
struct Ticks {
    next: Time,
    delivery: Delivery,
    delivered: Bytes,
    /// When the queue was last not empty, or the application had nothing to send; none if never.
    filled_at: Option<Time>,
    /// When the application last had nothing to send; none if never.
    app_limited_at: Option<Time>,
}

impl Tide {
    fn new(settings: Settings, context: &Context) -> Self {
        Self {
            settings,
            packet: context.packet,
            window: context.initial_window.as_f64(),
            rate: None,
            ticks: None,
            app_limited: false,
            round: 0,
            base_rtt: BaseRtt::new(),
            queue: Queue::default(),
            aggregation: Aggregation::default(),
            loss: LossResponse::new(),
            rivals: Rivals::new(),
        }
    }

    fn target(&self) -> Span {
        self.queue.target(&self.settings)
    }

    fn take_sample(&mut self, ack: &Ack<'_>, sample: Span) {
        self.base_rtt.add(ack.now, sample, self.settings.delay);
        self.queue.add(sample);
        self.rivals.add(sample);
        if self.ticks.is_none() {
            self.ticks = Some(Ticks {
                next: ack.now + sample / TICKS_PER_BASE_RTT,
                delivery: Delivery::since(ack.now - sample),
                delivered: Bytes::ZERO,
                filled_at: None,
                app_limited_at: None,
            });
        }
    }

    fn end_round(&mut self, now: Time) {
        self.aggregation.end_round();
        self.loss.end_round(self.packet, &self.settings);
        let round = Round {
            now,
            base_rtt: self.base_rtt.get(),
            target: self.target(),
            window: self.window,
            rate: self.rate.unwrap_or(0.0),
            app_limited: self.app_limited,
            packet: self.packet,
            is_settled: self.base_rtt.is_settled(now),
        };
        if let Some(base_rtt) = self.rivals.end_round(&round, &self.settings) {
            self.base_rtt.learn(base_rtt);
        }
    }
}

impl Controller for Tide {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet = ack.packet_size;
        self.app_limited = ack.packets.last().is_some_and(|packet| packet.app_limited);
        self.aggregation.on_ack(ack.bytes);
        self.loss.on_delivered(ack.bytes);
        if let Some(sample) = ack.rtt_sample {
            self.take_sample(ack, sample);
        }
        if let Some(ticks) = &mut self.ticks {
            ticks.delivered = ack.delivered;
        }
        if let Some(competition) = self.rivals.competition_mut() {
            competition.on_ack(ack.now, ack.rtt.smoothed(), ack.bytes, self.packet);
        }
        if ack.round != self.round {
            self.round = ack.round;
            self.end_round(ack.now);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.loss.on_lost(loss.bytes);
        if let Some(competition) = self.rivals.competition_mut().filter(|_| loss.new_episode) {
            competition.on_loss(loss.now, self.packet);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.ticks.as_ref().map(|ticks| ticks.next)
    }

    fn on_timer(&mut self, now: Time) {
        let Some(ticks) = &mut self.ticks else { return };
        let base_rtt = self.base_rtt.get();
        let tick = (base_rtt / TICKS_PER_BASE_RTT).max(MIN_TICK);
        ticks.next = now + tick;
        let rates = ticks.delivery.on_tick(now, ticks.delivered);

        self.queue.on_tick(base_rtt, &self.settings);
        let (queueing, target) = (self.queue.delay(), self.queue.target(&self.settings));
        if self.app_limited {
            ticks.app_limited_at = Some(now);
        }
        if self.app_limited || queueing > target.mul_f64(EMPTY) {
            ticks.filled_at = Some(now);
        }
        let is_long = queueing > target.mul_f64(self.settings.mean_above);
        let rate = if is_long { rates.mean() } else { rates.larger() };
        let rate = self.loss.sending_rate(rate, &self.settings);
        self.rivals.on_tick(rate, tick);
        let state = State {
            rate,
            base_rtt,
            target,
            queueing,
            empty_for: ticks.filled_at.map(|at| now.since(at)),
            app_limited_before: ticks.app_limited_at.map(|at| now.since(at)),
            share: self.loss.share(),
            packet: self.packet,
            aggregated: self.aggregation.beyond(self.packet),
        };
        let next_tick = ticks.next;
        let window = state.window(&self.settings);
        // What an application does not use says nothing of the path.
        let keeps = self.app_limited && queueing < target;
        self.window = if keeps { window.max(self.window) } else { window };
        self.rate = Some(rate);
        let competes = self.rivals.competition().is_some();
        self.base_rtt.on_tick(now, next_tick, queueing, competes, &self.settings);
    }

    fn limits(&self) -> Limits {
        let Some(rate) = self.rate else { return Limits::window_only(Bytes::new(self.window as u64)) };
        let base_rtt = self.base_rtt.get();
        let mut window =
            self.rivals.competition().map_or(self.window, |rival| rival.window().max(self.window));
        if self.base_rtt.is_draining() {
            let drained = DRAIN_TO * rate * base_rtt.as_secs_f64();
            window = drained.max(min_window(self.packet)).min(window);
        }
        let share = self.loss.share();
        let rtt = base_rtt + self.target().mul_f64(share);
        let pacing_rate = pacing_rate(window, rtt, self.packet, share, &self.settings);
        Limits::paced(Bytes::new(window as u64), pacing_rate, send_quantum(pacing_rate, self.packet))
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("competing", "", if self.rivals.competition().is_some() { 1.0 } else { 0.0 });
        let Some(rate) = self.rate else { return };
        observer.value("rate", "mbit_s", rate * 8e-6);
        observer.value("target", "ms", self.target().as_millis_f64());
        observer.value("swing", "ms", self.queue.swing().as_millis_f64());
        observer.value("base_rtt", "ms", self.base_rtt.get().as_millis_f64());
    }
}

//! Verus: learn the delay that each window causes, choose a delay every 5 ms, send as much as its window allows.
//!
//! 1. Every packet carries the window it was sent with; its acknowledgement gives a point (window, delay). A curve
//!    through the points is the delay profile, redrawn every second.
//! 2. Every epoch of 5 ms the largest delay of its packets is compared with the average so far.
//! 3. Delay rising: aim for 1 ms less. Not rising: for 2 ms more. Above R times the minimum delay: for 2 ms less.
//! 4. The window is the largest whose delay on the profile is no more than the delay aimed for.
//! 5. An epoch may send as much of it as keeps it in flight: a budget, not the window, says what leaves.
//!
//! ```text
//!                 RTT > 500 ms (or 15 x minimum), loss, time-out
//!   +------------+                            +-----------------------------+
//!   | slow start | -------------------------> | epochs: delay -> profile -> |
//!   | W += 1/ACK | <------------------------- | window -> budget, or pause  |
//!   +------------+   no window has the delay  +-----------------------------+
//!                    (authors, paper)           | a packet is lost:   ^ an ACK of a packet
//!                                               | W = M x its window; | sent with a window
//!                                               | time-out: D_min,    | of W or less
//!                                               v in `paper` W = M x W|
//!                                             +-----------------------------+
//!                                             | recovery: the points rest,  |
//!                                             | W grows by 1/W per ACK      |
//!                                             +-----------------------------+
//! ```
//!
//! Source: Y. Zaki, T. Pötsch, J. Chen, L. Subramanian, C. Görg, "Adaptive Congestion Control for Unpredictable Cellular
//! Networks", SIGCOMM 2015; and the authors' program (github.com/yzaki/verus, 4b1bbf0, June 2017), which knows more
//! than the paper does: `preset=authors` follows the program, `paper` the paper, `robust` neither.
//!
//! # Differences from the paper
//! With `preset=paper`:
//! - *The curve is the program's penalised regression spline.* The paper says "interpolation", but the curve of its
//!   Figure 5 passes next to its points, and a spline through points of a noisy link has no usable inverse.
//!   `fit=interpolated` is the letter.
//! - *W_i of equation 5 is the data in flight*, as in the program: with the window itself, nothing would ever limit the
//!   data in flight.
//! - *The delay aimed for never falls below the minimum*, also above R: equation 4's first line has no such bound, and a
//!   second of silence would take another second to climb out of.
//! - *Where no window has the delay, slow start begins again*, as in the program; the paper does not say.
//! - *An epoch without ACKs leaves D_max as it is*, so that equation 3 gives no change: equation 2 has no value for it. To hold
//!   also the delay aimed for would queue 58, 72 and 94 ms with R = 2, 4, 6 on 32 recordings (scenarios/verus/ratio.toml), not 165,
//!   442 and 430, at 0.761, 0.895 and 0.931 of the link, not 0.855, 0.952 and 0.971; but in Figure 11 it would use 0.19 and 0.20 of the
//!   link, not 0.29 and 0.23, further from the paper.
//! - *n of equation 5 is at least 2*: with an RTT of one epoch the equation divides by zero.
//! - *W_loss of a time-out is the window at that time*: equation 6 applies to both, and no one packet is the lost one.
//! - *Losses are found by the driver* (RFC 9002), then held back until Verus' own timer for them expires.
//! - *Losses are repeated by the driver.* The program never repeats anything; its data mean nothing.
//! - *An epoch that left some of its budget unused does not raise the delay aimed for*, and a flow without data has no
//!   epochs: the authors' flows always have data, and the window would grow without bound and mean nothing.
//! - alpha, the points' average and M have the program's values: the paper names none.
//!
//! With `preset=authors` (and, for the first four, `robust`) the program's rules replace the paper's:
//! - *A time-out aims for the minimum delay*, and takes its window on the profile, without M of equation 6; one in slow start
//!   ends it and cuts nothing.
//! - *Slow start that ends by delay* cuts the window to M times that of the packet, and begins recovery; the delay aimed for does
//!   not fall before recovery ends.
//! - *Silence stands for delay* in an epoch without ACKs, once it is longer than the average delay.
//! - *An RTT of one epoch* (n = 1 in equation 5) gets the window less the data in flight.
//!
//! With `preset=authors`, other than the program: the smoothed RTT begins with its first sample and not with zero; the epoch is
//! 5.0 ms and not 5 ms and the time it takes; a full socket buffer, which here does not exist, ends nothing.

mod epoch;
mod parameters;
mod profile;
mod settings;
mod signals;
mod spline;
#[cfg(test)]
mod tests;

use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, Packet, SchemeInfo, Sent, ShownValue, Tag,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use parameters::Rules;
use profile::Profile;
use settings::Settings;
use signals::{DelayEstimator, Inflight, LossShare, MinDelayProbe, PendingLosses};

/// Values that Verus reports.
const SHOWS: [ShownValue; 5] = [
    ShownValue::number("sending_window_pkt", "the window of the epoch"),
    ShownValue::switch("in_recovery", "the points of the profile rest after a loss"),
    ShownValue::number("delay_target_ms", "the delay that the epoch aims for"),
    ShownValue::number("delay_average_ms", "the moving average of the epochs' largest delays"),
    ShownValue::number("min_delay_ms", "the minimum delay"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "verus",
        "learns what delay each window costs and picks a delay every 5 ms",
        "Zaki et al., SIGCOMM 2015; the authors' program, 2017",
        |arguments, context| Box::new(Verus::new(Settings::read(arguments), context)),
    )
    .parameters(parameters::parameters())
    .presets(parameters::presets())
    .shows(&SHOWS)
    .over_udp()
}

struct Verus {
    settings: Settings,
    packet_size: Bytes,
    slow_start: bool,
    /// The points rest and losses cut nothing more.
    in_recovery: bool,
    /// Right after slow start ended by delay: the delay aimed for does not fall before a packet sent since is acknowledged.
    suspend_decrease: bool,
    /// W, packets.
    window: f64,
    /// D_est, ms; none before slow start has ended.
    target_ms: Option<f64>,
    /// Delay of the last acknowledgement of any kind, ms; the time-out follows it.
    last_delay_ms: Option<f64>,
    delays: DelayEstimator,
    probe: MinDelayProbe,
    profile: Profile,
    pending_losses: PendingLosses,
    loss_share: LossShare,
    inflight: Inflight,
    /// After a loss, where `bounded`: the target delay in ms from which on it rises slowly, and the end of that.
    ceiling: Option<(Time, f64)>,
    /// Data that may still leave in this epoch.
    budget: Bytes,
    /// The budget at the epoch's beginning.
    epoch_share: Bytes,
    epoch_ends_at: Option<Time>,
    refit_at: Time,
    time_out_at: Option<Time>,
    /// Where `bounded`: nothing has arrived since a time-out.
    is_silent: bool,
    /// Smallest delay of all acknowledgements, including those before slow start began again, ms.
    least_delay_ms: Option<f64>,
}

impl Verus {
    fn new(settings: Settings, context: &Context) -> Self {
        let mut verus = Self {
            settings,
            packet_size: context.packet,
            slow_start: true,
            in_recovery: false,
            suspend_decrease: false,
            window: settings.initial_window,
            target_ms: None,
            last_delay_ms: None,
            delays: DelayEstimator::new(
                settings.average_old_share,
                settings.rtt_old_share,
                settings.rules != Rules::Paper,
            ),
            probe: MinDelayProbe::new(settings.min_delay_lifetime),
            profile: Profile::new(settings.profile),
            pending_losses: PendingLosses::default(),
            loss_share: LossShare::default(),
            inflight: Inflight::default(),
            ceiling: None,
            budget: Bytes::ZERO,
            epoch_share: Bytes::ZERO,
            epoch_ends_at: None,
            refit_at: Time::ZERO,
            time_out_at: None,
            is_silent: false,
            least_delay_ms: None,
        };
        verus.fill_slow_start_budget();
        verus
    }

    /// Counts in packets of this size: a budget of less than a full packet would let none leave. The profile keeps the sizes
    /// that packets had when they were sent: sizes change in a flow's first round trips.
    fn count_in(&mut self, packet_size: Bytes) {
        if packet_size != self.packet_size {
            self.window = (self.window * self.packet_size.as_f64() / packet_size.as_f64()).max(1.0);
            self.packet_size = packet_size;
        }
    }

    fn packets_in_flight(&self) -> u64 {
        self.inflight.bytes.get() / self.packet_size.get().max(1)
    }

    fn is_idle(&self) -> bool {
        self.inflight.bytes.is_zero() && self.inflight.on_path.is_zero()
    }

    /// Less than the epoch allowed has left: the application had no more.
    fn has_unused_budget(&self) -> bool {
        self.budget >= self.packet_size
    }

    fn fill_slow_start_budget(&mut self) {
        let share = (self.window as u64).saturating_sub(self.packets_in_flight());
        self.budget = self.packet_size * share;
    }

    fn acknowledged(&mut self, now: Time, packet: &Packet, delay_ms: f64) {
        if packet.number < self.inflight.first_since_restart {
            return;
        }
        self.last_delay_ms = Some(delay_ms);
        self.least_delay_ms = Some(self.least_delay_ms.map_or(delay_ms, |least| least.min(delay_ms)));
        if std::mem::take(&mut self.is_silent) {
            self.inflight.learned_from = self.inflight.next_number;
        }
        if self.slow_start && self.is_slow_start_delay(delay_ms) {
            if self.settings.rules != Rules::Paper {
                self.window = (self.settings.decrease * packet.tag as f64).max(1.0);
                (self.in_recovery, self.suspend_decrease) = (true, true);
            }
            self.leave_slow_start(now);
        }
        if self.in_recovery && packet.tag as f64 <= self.window {
            self.leave_recovery();
        }
        if !self.inflight.counts(packet) {
            return;
        }
        self.inflight.remove(packet.bytes);
        self.loss_share.add(false);
        self.delays.heard_at(now);
        self.delays.add(delay_ms);
        self.probe.add(now, delay_ms);
        if self.in_recovery {
            self.grow_in_recovery();
        } else if packet.number >= self.inflight.learned_from {
            self.profile.add(now, packet.tag, delay_ms);
        }
        if self.slow_start {
            self.window = (self.window + 1.0).min(self.settings.profile.max_window as f64);
            self.fill_slow_start_budget();
        }
    }

    /// Slow start ends above this delay.
    fn is_slow_start_delay(&self, delay_ms: f64) -> bool {
        let min_ms = self.delays.min_ms().unwrap_or(delay_ms);
        delay_ms > self.settings.slow_start_delay_ms(min_ms)
    }

    fn leave_slow_start(&mut self, now: Time) {
        self.slow_start = false;
        self.budget = Bytes::ZERO;
        self.epoch_share = Bytes::ZERO;
        self.target_ms = self.profile.delay_ms(self.window);
        self.draw_profile(now);
    }

    fn draw_profile(&mut self, now: Time) {
        self.refit_at = now + self.settings.refit;
        if !self.profile.refit(now) && self.settings.restart {
            self.restart_slow_start();
        }
    }

    fn restart_slow_start(&mut self) {
        self.slow_start = true;
        (self.in_recovery, self.suspend_decrease) = (false, false);
        self.window = self.settings.initial_window;
        self.target_ms = None;
        self.delays.restart();
        self.probe = MinDelayProbe::new(self.settings.min_delay_lifetime);
        self.profile = Profile::new(self.settings.profile);
        self.pending_losses.forget();
        self.inflight.give_up();
        self.inflight.first_since_restart = self.inflight.next_number;
        self.fill_slow_start_budget();
    }

    fn rearm_time_out(&mut self, now: Time) {
        let span = self.settings.rto(self.last_delay_ms);
        self.time_out_at = (!self.is_idle()).then(|| now + span);
    }
}

impl Controller for Verus {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.count_in(sent.packet_size);
        if self.epoch_ends_at.is_none() {
            // After an idle time, in which no acknowledgement was due.
            self.delays.heard_at(sent.now);
            self.epoch_ends_at = Some(sent.now + self.settings.epoch);
        }
        self.inflight.bytes += sent.bytes;
        self.inflight.on_path = sent.inflight;
        self.inflight.next_number = sent.number.saturating_add(1);
        self.budget = self.budget.saturating_sub(sent.bytes);
        if self.time_out_at.is_none() {
            self.rearm_time_out(sent.now);
        }
        if self.settings.label_is_inflight { self.packets_in_flight().max(1) } else { self.window as u64 }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.count_in(ack.packet_size);
        self.inflight.on_path = ack.inflight;
        for packet in ack.packets {
            let delay = ack.now.since(packet.sent_at);
            // A clock too coarse for the path shows no time at all.
            if !delay.is_zero() {
                self.acknowledged(ack.now, packet, delay.as_millis_f64());
            } else if self.inflight.counts(packet) {
                self.inflight.remove(packet.bytes);
            }
        }
        self.rearm_time_out(ack.now);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.count_in(loss.packet_size);
        self.inflight.on_path = loss.inflight;
        let delay_ms = self.last_delay_ms.unwrap_or(0.0);
        let timer = Span::from_secs_f64(self.settings.loss_timer_ms(delay_ms) / 1e3);
        for packet in loss.packets.iter().filter(|packet| self.inflight.counts(packet)) {
            self.pending_losses.add(loss.now, timer, packet.tag, packet.bytes);
        }
    }

    fn on_event(&mut self, _now: Time, event: Event) {
        match event {
            Event::SpuriousLoss => self.inflight.remove(self.pending_losses.forget()),
            Event::Forgotten(packet) if self.inflight.counts(&packet) => {
                self.inflight.remove(packet.bytes);
            }
            _ => {}
        }
    }

    fn next_timer(&self) -> Option<Time> {
        match (self.epoch_ends_at, self.time_out_at) {
            (Some(epoch), Some(time_out)) => Some(epoch.min(time_out)),
            (epoch, time_out) => epoch.or(time_out),
        }
    }

    fn on_timer(&mut self, now: Time) {
        if self.time_out_at.is_some_and(|due| due <= now) {
            self.time_out(now);
            self.rearm_time_out(now);
        }
        if self.epoch_ends_at.is_some_and(|due| due <= now) {
            // A flow with nothing in flight that may send, and does not, has nothing to send.
            let without_data = self.is_idle() && self.has_unused_budget();
            if !without_data {
                self.end_epoch(now);
            }
            self.epoch_ends_at = (!without_data).then(|| now + self.settings.epoch);
        }
    }

    fn limits(&self) -> Limits {
        // The budget decides; the window shown is W, or the data in flight plus the budget if that is more.
        let allowed = self.inflight.on_path + self.budget;
        let window = Bytes::from_packets(self.window, self.packet_size).max(allowed).max(self.packet_size);
        // Nothing is paced in slow start: its budget comes with the acknowledgements.
        let paced = self.settings.pacing && !self.slow_start && !self.epoch_share.is_zero();
        let mut limits = Limits::window_only(window).with_budget(self.budget);
        limits.pacing_rate = paced.then(|| Rate::from_transfer(self.epoch_share, self.settings.epoch));
        limits.send_quantum = self.packet_size;
        limits
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("sending_window", "pkt", self.window);
        observer.switch("in_recovery", self.in_recovery);
        for (name, value) in [
            ("delay_target", self.target_ms),
            ("delay_average", self.delays.average_ms()),
            ("min_delay", self.delays.min_ms()),
        ] {
            if let Some(value) = value {
                observer.value(name, "ms", value);
            }
        }
        if let Some(least) = self.least_delay_ms
            && self.settings.restart
            && self.is_slow_start_delay(least)
        {
            observer.note(&format!(
                "no delay was below {least:.0} ms, and slow-start-delay is {:.0} ms: slow start ends with its first packet and begins \
                 anew, as in the authors' program",
                self.settings.slow_start_delay_ms(least)
            ));
        }
        if observer.wants_curves() {
            let points: Vec<_> = self.profile.points().collect();
            observer.curve("delay_points", "window_packets", "delay_ms", &points);
            if let Some(curve) = self.profile.curve() {
                let values = curve.values().iter().enumerate();
                let points: Vec<_> = values.map(|(place, &delay)| ((place + 1) as f64, delay)).collect();
                observer.curve("delay_profile", "window_packets", "delay_ms", &points);
            }
        }
    }
}

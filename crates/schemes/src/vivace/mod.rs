//! PCC Vivace: tries a little more and a little less, and moves its rate up the gradient of a utility.
//!
//! 1. A monitor interval lasts an RTT. Its rate, its share of lost packets and the slope of its RTTs give a utility.
//! 2. Slow start doubles the rate for as long as the utility rises.
//! 3. Then two intervals, in random order, try 5 % more and 5 % less than the rate; their utilities give a gradient.
//! 4. The rate moves by the gradient, times a factor that grows with each step in the same direction.
//! 5. A step is at most a share of the rate, which grows with each step that would have been larger.
//!
//! ```text
//!              the utility has fallen: half the rate
//!  slow start --------------------------------------> probing <--+  one step up or down
//!      ^                                                 |  |    |
//!      |                                                 |  +----+
//!      +-------------------------------------------------+
//!         persistent congestion: the smallest rate
//! ```
//!
//! Source: Dong et al., PCC Vivace, NSDI 2018. Profile `nsdi2018`: the authors' program, PCCproject/PCC-Uspace, its branch of
//! that name.
//!
//! | file | concept |
//! |---|---|
//! | `interval` | monitor intervals: the fate of each tried rate's packets |
//! | `utility` | the utility of an interval |
//! | `step` | from a gradient to a change of the rate |
//! | `settings` | parameters and profiles |
//!
//! **Differences from the paper.**
//! - Between the last packet of an interval and its last acknowledgement lies an RTT. Meanwhile packets leave at the rate
//!   itself, also in slow start: a doubling takes two RTTs, and the rate is at most twice too high (as in Chromium's port).
//! - A window of twice the rate times the smoothed RTT bounds the data in flight. The paper has none, and a sender without
//!   feedback would send for ever. It grows with the queue, and so bounds no queue (docs/algorithms/vivace.md, Seconds of
//!   queue).
//! - An interval in which the application, and not the rate, decided what to send is tried again.
//! - The smallest rate is two packets per RTT, PCC's first rate (Dong et al., NSDI 2015). After persistent congestion (RFC
//!   9002), which the paper does not cover, slow start begins there.
//! - A falling RTT earns nothing. By the formula it would (docs/algorithms/vivace.md, Limits).
//!
//! **The profile `nsdi2018`** tries two pairs, and repeats both where they disagree; one pair after a second step in the same
//! direction. Below 3 % loss counts an eleventh, the RTT's slope more than twelve times, in even
//! hundredths, and a falling one earns as much as a rising one costs; the rate is 1.3 Mbit/s at least,
//! 1,024 Mbit/s at most, and moves by 0.5 Mbit/s at least. An interval that lost half of its packets halves the rate. In slow
//! start the first 50 losses are forgiven.

mod interval;
mod settings;
#[cfg(test)]
mod tests;

use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Observer, Packet, SchemeInfo, Sent, ShownValue, Tag,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use interval::{Outcome, Steps, Trial};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use settings::{Profile, Settings};

/// PCC-Uspace, branch master: the RTT before it is known, so that a flow begins with the initial window in 100 ms.
const NOMINAL_RTT: Span = Span::from_millis(100);
/// Dong et al., NSDI 2015: the rate that PCC begins with, in packets per RTT.
const MIN_PACKETS_PER_RTT: u64 = 2;
/// Rates' worth of an RTT that may be in flight.
const WINDOW_GAIN: f64 = 2.0;

/// The values that it exposes.
const SHOWS: [ShownValue; 3] = [
    ShownValue::number("rate_mbit_s", "the rate that the trials are about"),
    ShownValue::switch("probing", "slow start is over, and rates above and below are tried"),
    ShownValue::number("steps", "steps of the rate in the present direction"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "vivace",
        "PCC Vivace: tries 5 % more and less, and moves its rate to where the utility is higher",
        "Dong et al., NSDI 2018",
        |arguments, context| Box::new(Vivace::new(Settings::read(arguments), context)),
    )
    .parameters(settings::parameters())
    .shows(&SHOWS)
    .over_udp()
}

struct Vivace {
    settings: Settings,
    packet_size: Bytes,
    initial_window: Bytes,
    random: Pcg32,
    /// In Mbit/s, as in the paper's formulas.
    rate: f64,
    phase: Phase,
    trial: Trial,
    steps: Steps,
    /// None before the first sample.
    srtt: Option<Span>,
    /// Losses that slow start still forgives, in packets.
    forgiven: u32,
}

/// State of a flow in the diagram.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    SlowStart {
        /// The utility of the last rate; none for the first.
        last: Option<f64>,
    },
    Probing,
}

impl Vivace {
    fn new(settings: Settings, context: &Context) -> Self {
        let rate = Rate::from_transfer(context.initial_window, NOMINAL_RTT).as_mbit_per_sec();
        Self {
            settings,
            packet_size: context.packet,
            initial_window: context.initial_window,
            random: Pcg32::seed_from_u64(context.seed),
            rate,
            phase: Phase::SlowStart { last: None },
            trial: Trial::new(0, vec![rate]),
            steps: Steps::new(settings.profile),
            srtt: None,
            forgiven: settings.forgiven_losses(),
        }
    }

    fn rtt(&self) -> Span {
        self.srtt.unwrap_or(NOMINAL_RTT)
    }

    fn min_rate(&self) -> f64 {
        match self.settings.profile {
            Profile::Paper => {
                let per_rtt = self.packet_size * MIN_PACKETS_PER_RTT;
                Rate::from_transfer(per_rtt, self.rtt()).as_mbit_per_sec()
            }
            Profile::Nsdi2018 => settings::NSDI2018_MIN_RATE,
        }
    }

    fn max_rate(&self) -> f64 {
        match self.settings.profile {
            Profile::Paper => f64::INFINITY,
            Profile::Nsdi2018 => settings::NSDI2018_MAX_RATE,
        }
    }

    /// The rate of the packets that leave now.
    fn present_rate(&self) -> Rate {
        let mbit = self.trial.present_rate().unwrap_or(self.rate);
        Rate::from_mbit_per_sec(mbit).max(Rate::from_bytes_per_sec(1))
    }

    /// Something became of packets: perhaps of the last that the trial waits for.
    fn conclude(&mut self) {
        if !self.trial.is_over() {
            return;
        }
        if !self.trial.is_app_limited() {
            self.decide();
        }
        let rates = match self.phase {
            Phase::SlowStart { .. } => vec![self.rate],
            Phase::Probing => self.pairs(),
        };
        self.trial = self.trial.next(rates);
    }

    fn decide(&mut self) {
        let utilities: Vec<(f64, f64)> =
            self.trial.outcomes().map(|outcome| (outcome.rate, self.settings.utility(&outcome))).collect();
        match self.phase {
            Phase::SlowStart { last } => {
                let utility = utilities.last().map_or(0.0, |&(_, utility)| utility);
                if last.is_none_or(|last| utility > last) {
                    self.phase = Phase::SlowStart { last: Some(utility) };
                    self.rate = (self.rate * 2.0).min(self.max_rate());
                } else {
                    self.phase = Phase::Probing;
                    self.rate = (self.rate / 2.0).max(self.min_rate());
                }
            }
            Phase::Probing => self.take_step(&utilities),
        }
    }

    fn take_step(&mut self, utilities: &[(f64, f64)]) {
        let lost_half = |outcome: Outcome| outcome.loss_rate > settings::NSDI2018_COLLAPSE;
        if self.settings.profile == Profile::Nsdi2018 && self.trial.outcomes().any(lost_half) {
            self.rate = (self.rate / 2.0).max(self.min_rate());
            return;
        }
        if let Some(gradient) = interval::gradient(utilities) {
            let change = self.steps.change(gradient, self.rate);
            self.rate = (self.rate + change).max(self.min_rate()).min(self.max_rate());
        }
    }

    /// The rates to try: pairs of more and less, each in random order.
    fn pairs(&mut self) -> Vec<f64> {
        let epsilon = self.settings.epsilon(self.rate);
        let mut rates = Vec::new();
        for _ in 0..self.settings.pairs(self.steps.in_one_direction()) {
            let [first, second] =
                if self.random.random_bool(0.5) { [epsilon, -epsilon] } else { [-epsilon, epsilon] };
            rates.extend([first, second].map(|share| (self.rate * (1.0 + share)).min(self.max_rate())));
        }
        rates
    }

    /// Slow start from the smallest rate.
    fn start_again(&mut self) {
        self.rate = match self.settings.profile {
            Profile::Paper => self.min_rate(),
            Profile::Nsdi2018 => settings::NSDI2018_HIBERNATE_RATE,
        };
        self.phase = Phase::SlowStart { last: None };
        self.steps = Steps::new(self.settings.profile);
        self.trial = self.trial.next(vec![self.rate]);
    }

    /// The lost `packets` that count.
    fn counted<'a>(&mut self, packets: &'a [Packet]) -> &'a [Packet] {
        if !matches!(self.phase, Phase::SlowStart { .. }) {
            return packets;
        }
        let count = packets.len().min(self.forgiven as usize);
        self.forgiven -= count as u32;
        let (forgiven, counted) = packets.split_at(count);
        forgiven.iter().for_each(|packet| self.trial.forget(packet));
        counted
    }
}

impl Controller for Vivace {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.packet_size = sent.packet_size;
        self.trial.on_sent(sent, self.rtt())
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        if ack.rtt.latest().is_some() {
            self.srtt = Some(ack.rtt.smoothed());
        }
        self.trial.on_ack(ack);
        self.conclude();
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        if loss.persistent {
            self.start_again();
            return;
        }
        let counted = self.counted(loss.packets);
        self.trial.on_loss(counted);
        self.conclude();
    }

    fn on_event(&mut self, _now: Time, event: Event) {
        if let Event::Forgotten(packet) = event {
            self.trial.forget(&packet);
            self.conclude();
        }
    }

    fn limits(&self) -> Limits {
        let rate = self.present_rate();
        let window = rate.bytes_in(self.rtt()).mul_f64(WINDOW_GAIN).max(self.initial_window);
        Limits::paced(window, rate, self.packet_size)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("rate", "mbit_s", self.rate);
        observer.switch("probing", self.phase == Phase::Probing);
        observer.value("steps", "", f64::from(self.steps.in_one_direction()));
    }
}

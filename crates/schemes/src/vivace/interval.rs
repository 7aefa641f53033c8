//! Monitor intervals: the rates under trial, and the fate of each one's packets.

#[cfg(test)]
mod tests;

use super::settings::{Profile, Settings, Utility};
use cellcc_control::{Ack, Packet, Sent, Tag};
use cellcc_units::{Bytes, Span, Time};

/// PCC-Uspace, branch master: an interval is long enough for so many packets.
const MIN_PACKETS: u32 = 5;
/// Intervals that a trial may have: the tag of a packet names trial and interval.
const MAX_INTERVALS: u64 = 8;

/// A few intervals, sent one after the other. It is over when something has become of all their packets.
#[derive(Debug)]
pub(super) struct Trial {
    number: u64,
    intervals: Vec<Interval>,
    /// The interval that packets leave in now; none of them once all have been sent.
    present: usize,
}

/// The result of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// In Mbit/s.
    pub(super) rate: f64,
    /// The share of the bytes that was lost.
    pub(super) loss_rate: f64,
    /// The slope of the RTT over the time at which packets left: seconds per second.
    pub(super) rtt_gradient: f64,
}

impl Trial {
    /// The trial of this number, at these rates in Mbit/s.
    pub(super) fn new(number: u64, rates: Vec<f64>) -> Self {
        Self { number, intervals: rates.into_iter().map(Interval::new).collect(), present: 0 }
    }

    /// The trial after this one; packets of this one no longer count.
    pub(super) fn next(&self, rates: Vec<f64>) -> Self {
        Self::new(self.number + 1, rates)
    }

    /// The rate of the interval that packets leave in; none where the trial only waits.
    pub(super) fn present_rate(&self) -> Option<f64> {
        self.intervals.get(self.present).map(|interval| interval.rate)
    }

    /// A packet leaves: in the present interval, or as the first of the next one.
    pub(super) fn on_sent(&mut self, sent: &Sent, rtt: Span) -> Tag {
        if self.intervals.get(self.present).is_some_and(|present| present.is_complete(sent.now, rtt)) {
            self.present += 1;
        }
        let Some(interval) = self.intervals.get_mut(self.present) else { return Tag::default() };
        interval.on_sent(sent);
        1 + self.number * MAX_INTERVALS + self.present as u64
    }

    /// Packets arrived.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>) {
        for packet in ack.packets {
            if let Some(interval) = self.interval_of(packet) {
                interval.outstanding -= 1;
                interval.acked += packet.bytes;
            }
        }
        if let (Some(newest), Some(sample)) = (ack.packets.last(), ack.rtt_sample)
            && let Some(interval) = self.interval_of(newest)
        {
            let sent_after = newest.sent_at.since(interval.began.unwrap_or(newest.sent_at));
            interval.rtts.add(sent_after.as_secs_f64(), sample.as_secs_f64());
        }
    }

    /// Packets were lost.
    pub(super) fn on_loss(&mut self, packets: &[Packet]) {
        for packet in packets {
            if let Some(interval) = self.interval_of(packet) {
                interval.outstanding -= 1;
                interval.lost += packet.bytes;
            }
        }
    }

    /// The fate of a packet is unknown, or it does not count.
    pub(super) fn forget(&mut self, packet: &Packet) {
        if let Some(interval) = self.interval_of(packet) {
            interval.outstanding -= 1;
        }
    }

    /// All intervals have been sent, and all is known of their packets.
    pub(super) fn is_over(&self) -> bool {
        self.present == self.intervals.len()
            && self.intervals.iter().all(|interval| interval.outstanding == 0)
    }

    /// The application limited one of the intervals.
    pub(super) fn is_app_limited(&self) -> bool {
        self.intervals.iter().any(|interval| interval.app_limited)
    }

    /// The results of the intervals, in the order of their rates.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.intervals.iter().map(Interval::outcome)
    }

    fn interval_of(&mut self, packet: &Packet) -> Option<&mut Interval> {
        let index = packet.tag.checked_sub(1 + self.number * MAX_INTERVALS)?;
        self.intervals.get_mut(usize::try_from(index).ok()?)
    }
}

#[derive(Debug)]
struct Interval {
    rate: f64,
    /// Departure of its first packet; none before.
    began: Option<Time>,
    packets: u32,
    /// Packets with an unknown fate.
    outstanding: u32,
    acked: Bytes,
    lost: Bytes,
    app_limited: bool,
    rtts: Regression,
}

impl Interval {
    fn new(rate: f64) -> Self {
        Self {
            rate,
            began: None,
            packets: 0,
            outstanding: 0,
            acked: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
            rtts: Regression::default(),
        }
    }

    fn is_complete(&self, now: Time, rtt: Span) -> bool {
        self.packets >= MIN_PACKETS && self.began.is_some_and(|began| now.since(began) >= rtt)
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.began.get_or_insert(sent.now);
        self.packets += 1;
        self.outstanding += 1;
        self.app_limited |= sent.app_limited;
    }

    fn outcome(&self) -> Outcome {
        let known = (self.acked + self.lost).as_f64();
        let loss_rate = if known > 0.0 { self.lost.as_f64() / known } else { 0.0 };
        Outcome { rate: self.rate, loss_rate, rtt_gradient: self.rtts.slope() }
    }
}

/// The line through points that are nearest to it by least squares.
#[derive(Debug, Default)]
struct Regression {
    count: f64,
    sum_x: f64,
    sum_y: f64,
    sum_xx: f64,
    sum_xy: f64,
}

impl Regression {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        self.sum_xx += x * x;
        self.sum_xy += x * y;
    }

    /// Its slope; zero where the points do not tell.
    fn slope(&self) -> f64 {
        let spread = self.count * self.sum_xx - self.sum_x * self.sum_x;
        let slope = (self.count * self.sum_xy - self.sum_x * self.sum_y) / spread;
        if slope.is_finite() { slope } else { 0.0 }
    }
}

// The utility of an interval: its rate, minus losses and delays.

/// Paper, utility function: the exponent of the rate (t).
const EXPONENT: f64 = 0.9;
/// Paper, utility function: the weight of the RTT's slope (b).
const LATENCY_WEIGHT: f64 = 900.0;
/// Paper, utility function: the weight of the share that is lost (c).
const LOSS_WEIGHT: f64 = 11.35;
/// Paper; WebRTC's port has the same: slopes below this are noise.
const NOISE: f64 = 0.01;
/// PCC-Uspace, branch NSDI-2018: the weight of the RTT's slope.
const NSDI2018_LATENCY_WEIGHT: f64 = 11_330.0;
/// PCC-Uspace, branch NSDI-2018: slopes count in even hundredths, cut towards zero.
const NSDI2018_SLOPE_STEP: f64 = 0.02;
/// PCC-Uspace, branch NSDI-2018: the weight of a loss of up to `NSDI2018_TOLERATED_LOSS`.
const NSDI2018_LOW_LOSS_WEIGHT: f64 = 1.0;
/// PCC-Uspace, branch NSDI-2018.
const NSDI2018_TOLERATED_LOSS: f64 = 0.03;

impl Settings {
    /// The utility of an interval.
    pub(super) fn utility(&self, outcome: &Outcome) -> f64 {
        let &Outcome { rate, loss_rate, rtt_gradient } = outcome;
        let rising = match self.profile {
            _ if self.utility == Utility::Loss => 0.0,
            Profile::Paper if rtt_gradient.abs() < NOISE => 0.0,
            Profile::Paper => LATENCY_WEIGHT * rtt_gradient.max(0.0),
            Profile::Nsdi2018 => {
                let steps = (rtt_gradient / NSDI2018_SLOPE_STEP).trunc();
                NSDI2018_LATENCY_WEIGHT * steps * NSDI2018_SLOPE_STEP
            }
        };
        let loss_weight = match self.profile {
            Profile::Nsdi2018 if loss_rate <= NSDI2018_TOLERATED_LOSS => NSDI2018_LOW_LOSS_WEIGHT,
            _ => LOSS_WEIGHT,
        };
        libm::pow(rate, EXPONENT) - rate * rising - loss_weight * rate * loss_rate
    }
}

// From the gradient of the utility to a change of the rate.

/// Paper, rate control; WebRTC's port has the same: Change of the rate, in Mbit/s, for a gradient of one (theta 0).
const CONVERSION: f64 = 1.0;
/// Paper, rate control; WebRTC's port has the same: the first step's largest share of the rate (omega 0).
const FIRST_BOUNDARY: f64 = 0.05;
/// Paper, rate control; WebRTC's port has the same: by how much that share grows with each step that it cut (delta).
const BOUNDARY_STEP: f64 = 0.1;
/// PCC-Uspace, `kMaximumProportionalChangeStepSize`: the same in the authors' program.
const NSDI2018_BOUNDARY_STEP: f64 = 0.06;
/// PCC-Uspace, branch NSDI-2018: the smallest change, in Mbit/s.
const NSDI2018_MIN_CHANGE: f64 = 0.5;

/// The gradient at the middle of pairs of rates, each of a larger and a smaller one, with their utilities; none where pairs
/// contradict each other.
pub(super) fn gradient(utilities: &[(f64, f64)]) -> Option<f64> {
    let gradients = utilities.chunks_exact(2).map(|pair| {
        let [(rate, utility), (other_rate, other_utility)] = [pair[0], pair[1]];
        (utility - other_utility) / (rate - other_rate)
    });
    let gradients: Vec<f64> = gradients.filter(|gradient| gradient.is_finite()).collect();
    let (&first, others) = gradients.split_first()?;
    let agree = others.iter().all(|other| (*other > 0.0) == (first > 0.0));
    agree.then(|| gradients.iter().sum::<f64>() / gradients.len() as f64)
}

/// The steps so far, as far as they decide on the size of the next.
#[derive(Debug)]
pub(super) struct Steps {
    profile: Profile,
    rises: bool,
    /// Steps in the present direction; none before the first, and after a gradient of zero.
    count: u32,
    /// Growth of the boundary, in steps.
    widened: u32,
}

impl Steps {
    pub(super) fn new(profile: Profile) -> Self {
        Self { profile, rises: true, count: 0, widened: 0 }
    }

    /// Steps in the present direction.
    pub(super) fn in_one_direction(&self) -> u32 {
        self.count
    }

    /// Change of `rate`, in Mbit/s.
    pub(super) fn change(&mut self, gradient: f64, rate: f64) -> f64 {
        if gradient == 0.0 || (gradient > 0.0) != self.rises {
            (self.rises, self.count, self.widened) = (gradient > 0.0, 0, 0);
        }
        if gradient == 0.0 {
            return 0.0;
        }
        self.count = self.count.saturating_add(1);
        let amplifier = match self.profile {
            Profile::Paper => amplifier(self.count),
            Profile::Nsdi2018 => nsdi2018_amplifier(self.count),
        };
        let change = self.bound(amplifier * CONVERSION * gradient.abs(), rate);
        let change = match self.profile {
            Profile::Paper => change,
            Profile::Nsdi2018 => change.max(NSDI2018_MIN_CHANGE),
        };
        if self.rises { change } else { -change }
    }

    /// Cuts a change to the boundary, which widens then; otherwise it narrows.
    fn bound(&mut self, change: f64, rate: f64) -> f64 {
        let boundary = self.boundary() * rate;
        if change > boundary {
            self.widened = self.widened.saturating_add(1);
            return boundary;
        }
        match self.profile {
            Profile::Paper => {
                // To the narrowest that leaves the change as it is.
                let steps = ((change / rate - FIRST_BOUNDARY) / BOUNDARY_STEP).ceil().max(0.0);
                self.widened = self.widened.min(steps as u32);
            }
            Profile::Nsdi2018 => self.widened = self.widened.saturating_sub(1),
        }
        change
    }

    fn boundary(&self) -> f64 {
        let step = match self.profile {
            Profile::Paper => BOUNDARY_STEP,
            Profile::Nsdi2018 => NSDI2018_BOUNDARY_STEP,
        };
        FIRST_BOUNDARY + f64::from(self.widened) * step
    }
}

/// Paper, the confidence amplifier: the factor of the `count`-th step in one direction.
fn amplifier(count: u32) -> f64 {
    let count = f64::from(count);
    if count <= 3.0 { count } else { 2.0 * count - 3.0 }
}

/// PCC-Uspace, `pcc_vivace_rate_controller.cpp`: the same in the authors' program.
fn nsdi2018_amplifier(count: u32) -> f64 {
    let before = f64::from(count - 1);
    match count - 1 {
        0..3 => before + 1.0,
        3..6 => 2.0 * before - 2.0,
        6..9 => 4.0 * before - 14.0,
        _ => 9.0 * before - 50.0,
    }
}

//! The rate by loss: of a few candidates for the link's rate and its inherent loss, the likeliest for the losses of the last seconds.
//! A packet is lost with the inherent probability, and each packet beyond the link's rate for certain.

use super::aimd::LEAST;
use crate::sent_history::Departed;
use cellcc_units::{Bytes, Span, Time};
use std::collections::VecDeque;

// Constants of `LossBasedBweV2` (libwebrtc, as of the port).

/// An observation lasts at least this; of so many, the older weigh less by this factor each, and the first ones show nothing.
const OBSERVATION: Span = Span::from_millis(250);
const OBSERVATIONS: usize = 20;
const WEIGHT: f64 = 0.9;
const LEAST_OBSERVATIONS: usize = 3;
/// Candidates relative to the best rate so far; the arriving rate and that by delay are others.
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
/// The inherent loss: at first, at least, and at most with this share in addition, which a rate of so many bit/s has.
const FIRST_LOSS: f64 = 0.01;
const LEAST_LOSS: f64 = 0.001;
const MOST_LOSS: f64 = 0.05;
const MOST_LOSS_RATE: f64 = 75e3;
const NEWTON_STEP: f64 = 0.75;
/// Preference for a high rate, per kbit/s and per its logarithm, while losses are below this share, with its smoothing.
const PREFERENCE: (f64, f64) = (0.0002, 0.02);
const PREFERRED_BELOW: f64 = 0.15;
const PREFERENCE_SMOOTHING: f64 = 0.002;
/// After a decrease the rate grows by at most this factor in this time.
const GROWTH: f64 = 1.3;
const GROWTH_WINDOW: Span = Span::from_millis(300);

/// The rate that holds the target back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// That by delay.
    ByDelay,
    /// That by loss, which grows.
    Increasing,
    /// That by loss, which falls or stays.
    Decreasing,
}

/// A link: its rate in bit/s, and the share that it loses below that rate.
#[derive(Debug, Clone, Copy)]
struct Channel {
    rate: f64,
    loss: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Observation {
    packets: f64,
    lost: f64,
    bytes: Bytes,
    /// In bit/s; not of one that goes on.
    rate: f64,
}

#[derive(Debug)]
pub(super) struct ByLoss {
    best: Option<Channel>,
    /// The newest first.
    observations: VecDeque<Observation>,
    current: Observation,
    observed_at: Option<Time>,
    /// The average share of losses.
    share: f64,
    pub(super) state: State,
    estimate: f64,
    /// Start and rate of the bound on growth.
    bounded: Option<(Time, f64)>,
}

/// A report: packets that it says are there, or lost, and other estimates in bit/s.
pub(super) struct Report<'a> {
    pub(super) arrived: &'a [Departed],
    pub(super) lost: &'a [Departed],
    pub(super) by_delay: f64,
    pub(super) arriving: Option<f64>,
    pub(super) is_idle: bool,
}

impl ByLoss {
    pub(super) fn new() -> Self {
        Self {
            best: None,
            observations: VecDeque::new(),
            current: Observation::default(),
            observed_at: None,
            share: 0.0,
            state: State::ByDelay,
            estimate: f64::INFINITY,
            bounded: None,
        }
    }

    /// The target, given the rate by delay. It is that of the last observation.
    pub(super) fn target(&self, by_delay: f64) -> f64 {
        if self.observations.len() < LEAST_OBSERVATIONS { by_delay } else { self.estimate.min(by_delay) }
    }

    pub(super) fn on_report(&mut self, report: &Report<'_>) {
        let Some(observed_at) = self.observe(report) else { return };
        let best = self.best.unwrap_or(Channel { rate: report.by_delay, loss: FIRST_LOSS });
        let mut likeliest = self.likeliest(best, report);
        if self.share > likeliest.loss {
            likeliest.rate = likeliest.rate.min(best.rate);
        }
        if let Some((since, most)) = self.bounded.filter(|_| self.state != State::ByDelay)
            && observed_at.since(since) < GROWTH_WINDOW
        {
            likeliest.rate = likeliest.rate.min(most);
        }
        self.best = Some(likeliest);
        let estimate = likeliest.rate.min(self.instant_bound()).min(report.by_delay).max(LEAST);
        let grows =
            estimate > self.estimate || (estimate == self.estimate && self.state == State::Increasing);
        self.state = match self.state {
            _ if estimate >= report.by_delay => State::ByDelay,
            State::Increasing | State::Decreasing if grows => State::Increasing,
            _ => State::Decreasing,
        };
        self.estimate = estimate;
        let over = self.bounded.is_none_or(|(since, _)| observed_at.since(since) > GROWTH_WINDOW);
        if self.state != State::ByDelay && over {
            self.bounded = Some((observed_at, (GROWTH * likeliest.rate).max(LEAST)));
        }
    }

    /// Adds a report's packets; the time at which an observation ends by them.
    fn observe(&mut self, report: &Report<'_>) -> Option<Time> {
        let packets = || report.arrived.iter().chain(report.lost);
        let newest = packets().map(|packet| packet.sent_at).max()?;
        self.current.packets += packets().count() as f64;
        self.current.lost += report.lost.len() as f64;
        self.current.bytes += packets().map(|packet| packet.bytes).sum();
        let oldest = packets().map(|packet| packet.sent_at).min()?;
        let took = newest.since(*self.observed_at.get_or_insert(oldest));
        if took < OBSERVATION {
            return None;
        }
        self.observed_at = Some(newest);
        let current = std::mem::take(&mut self.current);
        let rate = current.bytes.as_f64() * 8.0 / took.as_secs_f64();
        self.observations.push_front(Observation { rate, ..current });
        self.observations.truncate(OBSERVATIONS);
        let (packets, lost) = self.weighted().fold((0.0, 0.0), |(packets, lost), (weight, observation)| {
            (packets + weight * observation.packets, lost + weight * observation.lost)
        });
        self.share = lost / packets;
        Some(newest)
    }

    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        std::iter::successors(Some(1.0), |weight| Some(weight * WEIGHT)).zip(&self.observations)
    }

    fn likeliest(&self, best: Channel, report: &Report<'_>) -> Channel {
        let bound =
            self.bounded.filter(|_| self.state != State::ByDelay).map_or(f64::INFINITY, |(_, most)| most);
        let by_delay = Some(report.by_delay).filter(|rate| *rate > best.rate);
        let rates = CANDIDATES.iter().map(|factor| factor * best.rate);
        let candidates =
            rates.chain(report.arriving.filter(|_| !report.is_idle)).chain(by_delay).map(|rate| {
                let rate = rate.min(bound.max(best.rate));
                self.with_likely_loss(Channel { rate, loss: feasible(best.loss, rate) })
            });
        let judged = candidates.map(|channel| (channel, self.likelihood(channel)));
        // The first of equals.
        judged
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
            .map_or(best, |(channel, _)| channel)
    }

    /// One step by Newton's method to the likeliest inherent loss.
    fn with_likely_loss(&self, channel: Channel) -> Channel {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, observation) in self.weighted() {
            let probability = channel.loss_at(observation.rate);
            let arrived = observation.packets - observation.lost;
            let kept = 1.0 - probability;
            first += weight * (observation.lost / probability - arrived / kept);
            second -= weight * (observation.lost / (probability * probability) + arrived / (kept * kept));
        }
        // The second derivative of a likelihood is negative.
        let loss = channel.loss - NEWTON_STEP * first / second.min(-1e-6);
        Channel { loss: feasible(loss, channel.rate), ..channel }
    }

    fn likelihood(&self, channel: Channel) -> f64 {
        let below = PREFERRED_BELOW - self.share;
        let kbits = channel.rate / 1e3;
        let preference = below / (PREFERENCE_SMOOTHING + below.abs())
            * (PREFERENCE.0 * kbits + PREFERENCE.1 * libm::log(1.0 + kbits));
        self.weighted()
            .map(|(weight, observation)| {
                let probability = channel.loss_at(observation.rate);
                let arrived = observation.packets - observation.lost;
                let likelihood =
                    observation.lost * libm::log(probability) + arrived * libm::log(1.0 - probability);
                weight * (likelihood + preference * observation.packets)
            })
            .sum()
    }

    /// The bound while more than the inherent loss at most is lost.
    fn instant_bound(&self) -> f64 {
        if self.share > MOST_LOSS { MOST_LOSS_RATE / (self.share - MOST_LOSS) } else { f64::INFINITY }
    }
}

fn feasible(loss: f64, rate: f64) -> f64 {
    loss.max(LEAST_LOSS).min((MOST_LOSS + MOST_LOSS_RATE / rate).min(1.0))
}

impl Channel {
    /// The probability of a loss where this is sent.
    fn loss_at(self, sending: f64) -> f64 {
        let beyond = ((sending - self.rate) / sending).max(0.0);
        (self.loss + (1.0 - self.loss) * beyond).clamp(1e-6, 1.0 - 1e-6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Targets after 10 s of 300 packets a second at 3.6 Mbit/s; one in `every` is lost.
    fn target(every: u64) -> (f64, State) {
        let mut by_loss = ByLoss::new();
        let packet = |number: u64| Departed {
            sent_at: Time::from_nanos(number * 10_000_000 / 3),
            bytes: Bytes::new(1500),
        };
        for report in 0..200 {
            let (lost, arrived): (Vec<_>, Vec<_>) =
                (report * 15..report * 15 + 15).partition(|number| number % every == 0);
            let [lost, arrived] =
                [lost, arrived].map(|numbers| numbers.into_iter().map(packet).collect::<Vec<_>>());
            by_loss.on_report(&Report {
                arrived: &arrived,
                lost: &lost,
                by_delay: 3.6e6,
                arriving: Some(3.6e6),
                is_idle: false,
            });
        }
        (by_loss.target(3.6e6), by_loss.state)
    }

    #[test]
    fn a_little_loss_is_the_links_own_and_much_shows_a_slower_link() {
        assert_eq!(target(100), (3.6e6, State::ByDelay));
        let (rate, state) = target(4);
        assert!(rate < 0.5e6 && state != State::ByDelay, "{rate} {state:?}");
    }
}

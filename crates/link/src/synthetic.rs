//! Synthetic cellular links: a seed gives a rate over time that behaves like the real traces of a kind.
//!
//! Once a second, a normal deviate is drawn and turned into a rate through the distribution of the real 1-s rates.
//! The deviate is the sum of three independent normal parts, whose shares of the variance add up to 1:
//! - **place**, drawn once: some streets and operators are better than others;
//! - **drift**, a first-order autoregressive process: distance, shadowing and load change over many seconds;
//! - **step**, held until it is drawn again: blockage, handover and a change of beam or cell are sudden.
//!
//! Within a second, LTE and 3G are divided into slots of 10 ms: a Markov chain of silences, and between them
//! log-normal noise with a slow and a fast part, scaled so that the second keeps its rate. The 5G traces have one value per
//! second, so the 5G links are constant within a second: an assumption, not a finding.
//!
//! `docs/synthetic-links.md` shows real next to synthetic; `tools/fit-synthetic` prints the constants of `fitted.rs`.

mod fitted;
mod scripted;
#[cfg(test)]
mod statistics;
#[cfg(test)]
mod tests;

use crate::Capacity;
use crate::delay::repeating::Repeating;
use cellcc_units::{Rate, Span};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use scripted::Round;
use std::sync::{Arc, LazyLock};

/// Default length of a synthetic link: the length of the shortest 5G trace.
pub const DEFAULT_LENGTH: Span = Span::from_secs(180);

/// The longest synthetic link: one day (150 MB of 10-ms steps). A longer wish is cut to this; traces repeat.
pub const LONGEST: Span = Span::from_secs(86_400);

const SECOND: Span = Span::from_secs(1);
const SLOT: Span = Span::from_millis(10);
const SLOTS_PER_SECOND: usize = 100;

/// A named synthetic link.
#[derive(Debug)]
pub struct SyntheticLink {
    /// Its name for [`generate`].
    pub name: &'static str,
    /// Its meaning in one line.
    pub description: &'static str,
    /// The seed for a single run. That of a fitted link is the first whose link of [`DEFAULT_LENGTH`] has the mean rate of the
    /// kind within 5 % and its mean 1-s jump within 10 %. Seeds differ as much as real traces do.
    pub typical_seed: u64,
    model: Model,
}

#[derive(Debug)]
enum Model {
    Fitted(&'static Fitted),
    Scripted(&'static scripted::Script),
}

/// The numbers of a link that was fitted to recorded rates.
#[derive(Debug)]
struct Fitted {
    name: &'static str,
    description: &'static str,
    typical_seed: u64,
    /// Distribution of the 1-s rates: (share of the seconds that are slower, Mbit/s), straight lines between.
    rates: &'static [(f64, f64)],
    /// Share of the variance that is drawn once for the whole link.
    place: f64,
    /// Share of the variance that drifts.
    drift: f64,
    /// Correlation time of the drift in seconds: after it, 1/e is left.
    drift_s: f64,
    /// Mean time in seconds for which the remaining part of the variance is held before it is drawn again.
    step_s: f64,
    /// What happens within a second; `None`: nothing.
    bursts: Option<Bursts>,
}

/// The slots of 10 ms within a second.
#[derive(Debug)]
struct Bursts {
    /// Share of the slots in which nothing can be sent.
    silent_share: f64,
    /// Mean length of a silence in slots.
    silent_slots: f64,
    /// Standard deviation of the logarithm of the rate, slow part.
    slow: f64,
    /// Correlation time of the slow part in slots.
    slow_slots: f64,
    /// Standard deviation of the logarithm of the rate, the part that is new in every slot.
    fast: f64,
}

/// All synthetic links, with their names and descriptions.
pub fn names() -> &'static [SyntheticLink] {
    static LINKS: LazyLock<Vec<SyntheticLink>> = LazyLock::new(|| {
        let fitted = fitted::LINKS.iter().map(|link| SyntheticLink {
            name: link.name,
            description: link.description,
            typical_seed: link.typical_seed,
            model: Model::Fitted(link),
        });
        let scripted = scripted::SCRIPTS.iter().map(|link| SyntheticLink {
            name: link.name,
            description: link.description,
            typical_seed: link.typical_seed,
            model: Model::Scripted(link),
        });
        fitted.chain(scripted).collect()
    });
    &LINKS
}

/// The names of all of them, for messages.
pub(crate) fn known() -> String {
    names().iter().map(|link| link.name).collect::<Vec<_>>().join(", ")
}

/// The synthetic link of this name; `None` where there is none. It is one link: every run sees the same, whatever the
/// run's own seed.
pub fn link(name: &str) -> Option<Arc<Capacity>> {
    let seed = names().iter().find(|link| link.name == name)?.typical_seed;
    let Round { rates, delays } = round(name, seed, DEFAULT_LENGTH)?;
    let capacity = Capacity::from_steps(rates).ok()?;
    Some(Arc::new(Capacity { delay: Repeating::new(&delays), ..capacity }))
}

/// The synthetic link `name` as steps: how long each lasts, and its rate. `None` where there is no such link.
///
/// The steps last `length` together (at most [`LONGEST`]). Equal names and seeds give equal steps on every machine, and a
/// longer link begins with the steps of the shorter one, up to the step in which that one ends.
pub fn generate(name: &str, seed: u64, length: Span) -> Option<Vec<(Span, Rate)>> {
    round(name, seed, length).map(|round| round.rates)
}

fn round(name: &str, seed: u64, length: Span) -> Option<Round> {
    let (index, link) = (0_u64..).zip(names()).find(|(_, link)| link.name == name)?;
    // The upper bits keep one seed from giving every link the same ups and downs.
    let mut draws = Draws(Pcg64::seed_from_u64(seed ^ (index << 56)));
    let length = length.min(LONGEST);
    Some(match link.model {
        Model::Fitted(link) => Round { rates: link.rates(&mut draws, length), delays: Vec::new() },
        Model::Scripted(script) => {
            let Round { rates, delays } = script.play(&mut draws, length);
            Round { rates: first(rates, length), delays: first(delays, length) }
        }
    })
}

/// The steps of the first `length`.
fn first<V>(steps: Vec<(Span, V)>, length: Span) -> Vec<(Span, V)> {
    let mut left = length;
    let cut = steps.into_iter().map(|(span, value)| {
        let span = span.min(left);
        left = left.saturating_sub(span);
        (span, value)
    });
    cut.take_while(|(span, _)| !span.is_zero()).collect()
}

impl Fitted {
    fn rates(&self, draws: &mut Draws, length: Span) -> Vec<(Span, Rate)> {
        let mut level = Level::new(self, draws);
        let mut within = self.bursts.as_ref().map(|bursts| Within::new(bursts, draws));
        let (mut steps, mut left) = (Vec::new(), length);
        while !left.is_zero() {
            let mbit = quantile(self.rates, level.next(draws));
            match &mut within {
                None => push(&mut steps, &mut left, SECOND, mbit),
                Some(within) => {
                    for factor in within.second(draws) {
                        push(&mut steps, &mut left, SLOT, mbit * factor);
                    }
                }
            }
        }
        steps
    }
}

fn push(steps: &mut Vec<(Span, Rate)>, left: &mut Span, span: Span, mbit: f64) {
    let span = span.min(*left);
    if !span.is_zero() {
        steps.push((span, Rate::from_mbit_per_sec(mbit)));
        *left = left.saturating_sub(span);
    }
}

/// The rate in Mbit/s below which `share` of the seconds lie.
fn quantile(rates: &[(f64, f64)], share: f64) -> f64 {
    let above = rates.partition_point(|&(knot, _)| knot <= share).clamp(1, rates.len() - 1);
    let ((left, low), (right, high)) = (rates[above - 1], rates[above]);
    low + (high - low) * (share - left) / (right - left)
}

/// The parts of the 1-s level, each a standard normal deviate.
struct Level<'a> {
    link: &'a Fitted,
    place: f64,
    drift: Autoregressive,
    step: f64,
}

impl<'a> Level<'a> {
    fn new(link: &'a Fitted, draws: &mut Draws) -> Self {
        let place = draws.normal();
        Self { link, place, drift: Autoregressive::new(link.drift_s, draws), step: draws.normal() }
    }

    /// The share of all seconds that are slower than the coming one.
    fn next(&mut self, draws: &mut Draws) -> f64 {
        let link = self.link;
        let drift = self.drift.next(draws);
        if draws.happens(1.0 / link.step_s) {
            self.step = draws.normal();
        }
        let deviate = libm::sqrt(link.place) * self.place
            + libm::sqrt(link.drift) * drift
            + libm::sqrt(1.0 - link.place - link.drift) * self.step;
        // The normal distribution function.
        0.5 * libm::erfc(-deviate / core::f64::consts::SQRT_2)
    }
}

/// The state of the slots, kept from one second to the next.
struct Within<'a> {
    bursts: &'a Bursts,
    silent: bool,
    slow: Autoregressive,
}

impl<'a> Within<'a> {
    fn new(bursts: &'a Bursts, draws: &mut Draws) -> Self {
        let silent = draws.happens(bursts.silent_share);
        Self { bursts, silent, slow: Autoregressive::new(bursts.slow_slots, draws) }
    }

    /// Factors on the rate of the second, with a mean of 1.
    fn second(&mut self, draws: &mut Draws) -> [f64; SLOTS_PER_SECOND] {
        let bursts = self.bursts;
        let end = 1.0 / bursts.silent_slots;
        // As many silences must begin as end.
        let begin = end * bursts.silent_share / (1.0 - bursts.silent_share);
        let mut factors = [0.0; SLOTS_PER_SECOND];
        for factor in &mut factors {
            self.silent = if self.silent { !draws.happens(end) } else { draws.happens(begin) };
            let noise = bursts.slow * self.slow.next(draws) + bursts.fast * draws.normal();
            if !self.silent {
                *factor = libm::exp(noise);
            }
        }
        match factors.iter().sum::<f64>() / SLOTS_PER_SECOND as f64 {
            // A second that is all silence would lose its rate.
            0.0 => [1.0; SLOTS_PER_SECOND],
            mean => factors.map(|factor| factor / mean),
        }
    }
}

/// A first-order autoregressive process with a standard normal distribution. Its correlation time is in steps.
struct Autoregressive {
    value: f64,
    kept: f64,
}

impl Autoregressive {
    fn new(correlation_steps: f64, draws: &mut Draws) -> Self {
        Self { value: draws.normal(), kept: libm::exp(-1.0 / correlation_steps) }
    }

    fn next(&mut self, draws: &mut Draws) -> f64 {
        self.value = self.kept * self.value + libm::sqrt(1.0 - self.kept * self.kept) * draws.normal();
        self.value
    }
}

/// Random draws that are the same on every machine: rand_distr may use the platform's logarithm, libm does not.
struct Draws(Pcg64);

impl Draws {
    /// From 0 (never reached) to 1.
    fn uniform(&mut self) -> f64 {
        const TWO_TO_53: f64 = (1u64 << 53) as f64;
        ((self.0.next_u64() >> 11) + 1) as f64 / TWO_TO_53
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.uniform() <= probability
    }

    /// A standard normal deviate (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(core::f64::consts::TAU * self.uniform())
    }

    /// A Poisson deviate of this mean, by products of uniform ones (Knuth).
    fn poisson(&mut self, mean: f64) -> u32 {
        let end = libm::exp(-mean);
        let (mut count, mut product) = (0, self.uniform());
        while product > end {
            count += 1;
            product *= self.uniform();
        }
        count
    }
}

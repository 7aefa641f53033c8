//! Correlated jitter: a delay that wanders, so that packets close in time have nearly the same.
//!
//! A first-order autoregressive process in time: with `dt` between two packets, the deviate of the later one is `r` of the earlier one's
//! plus a new part, with `r = exp(-dt / memory)`. Deviates `dt` apart therefore have the correlation `r`: 0.72 for 10 ms and a memory of
//! 30 ms. The delay is log-normal in the deviate, as recordings are skewed, or normal, and then zero where it would be below.
//!
//! Recordings, above their smallest value (a script computed mean, standard deviation and the correlation with the next):
//!
//! | recording | mean | sd | correlation | skew; of the logarithm |
//! |---|---|---|---|---|
//! | cellular, half RTT (NUWiNS/pam2025-multi-carrier-dataset, `ping` each 0.2 s, 151 of them) | 15 ms | 19 ms | 0.05 after 200 ms | 2.4; 0.7 |
//! | Starlink, one way (SpaceNetLab/LeoCC, each 10 ms for 120 s) | 3.7 ms | 2.2 ms | 0.72, 0.50, 0.26 after 10, 20, 50 ms | |
//!
//! The defaults are the first one's mean and spread and the second one's memory, since pings 200 ms apart hardly show any; both
//! recordings agree with 30 ms.

use crate::queue::text::{Notation, Part, part, part_in, parts_form};
use crate::texture::Random;
use cellcc_units::{Span, Time};

/// Correlated jitter, as it is written: `mean=15ms, sd=19ms, memory=30ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorrelatedJitter {
    /// Mean of the extra delay; for a normal distribution, before negative values are cut to zero.
    pub mean: Span,
    /// Standard deviation of the extra delay, before the same cut.
    pub sd: Span,
    /// Time after which the correlation has fallen to 1/e.
    pub memory: Span,
    /// True for a normal distribution, false for a log-normal one.
    pub normal: bool,
}

/// The table above.
const DEFAULT: CorrelatedJitter = CorrelatedJitter {
    mean: Span::from_millis(15),
    sd: Span::from_millis(19),
    memory: Span::from_millis(30),
    normal: false,
};

/// The longest mean and standard deviation: our bound, as for `path.jitter`.
const LONGEST: Span = Span::from_secs(60);

/// Deviates are cut here (one of 16,000 is beyond), so that a longest delay exists.
const MOST_DEVIATIONS: f64 = 4.0;

impl Notation for CorrelatedJitter {
    const NAME: &'static str = "correlated_jitter";
    const BASES: &'static [(&'static str, Self)] = &[("", DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part_in("mean=15ms", "above 0s up to 60s", |own| &mut own.mean, |own| is_length(own.mean)),
        part_in("sd=19ms", "above 0s up to 60s", |own| &mut own.sd, |own| is_length(own.sd)),
        part_in("memory=30ms", "above 0s up to 60s", |own| &mut own.memory, |own| is_length(own.memory)),
        part("normal", |own| &mut own.normal),
    ];
}

fn is_length(span: Span) -> bool {
    !span.is_zero() && span <= LONGEST
}

parts_form!(
    CorrelatedJitter,
    "mean=15ms",
    "jitter: `mean=15ms, sd=19ms, memory=30ms`, and `normal` for a normal distribution; parts may be left out"
);

impl CorrelatedJitter {
    /// The extra delay of a standard normal deviate.
    fn delay(&self, deviate: f64) -> Span {
        let deviate = deviate.clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS);
        let (mean, sd) = (self.mean.as_secs_f64(), self.sd.as_secs_f64());
        let secs = if self.normal {
            mean + sd * deviate
        } else {
            // The parameters of the logarithm that give this mean and this standard deviation.
            let variance = libm::log1p((sd / mean) * (sd / mean));
            mean * libm::exp(libm::sqrt(variance) * deviate - variance / 2.0)
        };
        Span::from_secs_f64(secs.max(0.0))
    }

    /// The longest extra delay.
    pub(crate) fn longest(&self) -> Span {
        self.delay(MOST_DEVIATIONS)
    }
}

/// The delay over time.
#[derive(Debug, Clone)]
pub(crate) struct CorrelatedOverTime {
    jitter: CorrelatedJitter,
    deviate: f64,
    at: Time,
    random: Random,
}

/// Keeps the draws apart from those of other parts of a link with the same seed.
const STREAM: u64 = 0x7761_6e64_6572; // "wander"

impl CorrelatedOverTime {
    pub(crate) fn new(jitter: CorrelatedJitter, seed: u64) -> Self {
        let mut random = Random::new(seed ^ STREAM);
        Self { jitter, deviate: random.normal(), at: Time::ZERO, random }
    }

    /// The extra delay of a packet of `time`. Packets of one instant have the same.
    pub(crate) fn at(&mut self, time: Time) -> Span {
        if time > self.at {
            let kept = libm::exp(-time.since(self.at).as_secs_f64() / self.jitter.memory.as_secs_f64());
            self.deviate = kept * self.deviate + libm::sqrt(1.0 - kept * kept) * self.random.normal();
            self.at = time;
        }
        self.jitter.delay(self.deviate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation in ms of a million delays `every` apart, and the correlation of each with the next.
    fn statistics(text: &str, every: Span) -> [f64; 3] {
        const COUNT: u64 = 1_000_000;
        let mut jitter = CorrelatedOverTime::new(text.parse().unwrap(), 1);
        let delays = (1..=COUNT).map(|number| jitter.at(Time::ZERO + every * number).as_secs_f64() * 1e3);
        let delays: Vec<f64> = delays.collect();
        let mean = delays.iter().sum::<f64>() / COUNT as f64;
        let variance = delays.iter().map(|delay| (delay - mean) * (delay - mean)).sum::<f64>() / COUNT as f64;
        let together = delays.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        [mean, variance.sqrt(), together / (COUNT as f64 * variance)]
    }

    /// A million values with a memory of three of them are worth some 170,000: means are certain to 0.3 % of a standard deviation.
    #[test]
    fn a_normal_delay_has_the_mean_the_spread_and_the_correlation_that_are_written() {
        for (every_ms, correlation) in [(10, 0.7165), (30, 0.3679), (300, 0.0)] {
            let [mean, sd, found] =
                statistics("normal, mean=20ms, sd=4ms, memory=30ms", Span::from_millis(every_ms));
            assert!((mean - 20.0).abs() < 0.05 && (sd - 4.0).abs() < 0.05, "{mean} {sd}");
            assert!((found - correlation).abs() < 0.01, "{every_ms} ms: {found}");
        }
    }

    /// The cut at four deviations takes 0.3 % of the mean and 4 % of the spread.
    #[test]
    fn a_log_normal_delay_has_the_mean_and_the_spread_that_are_written_and_no_longer_than_its_longest() {
        let [mean, sd, _] = statistics("mean=15ms, sd=19ms", Span::from_millis(10));
        assert!((mean - 15.0).abs() < 0.3 && (sd - 19.0).abs() < 1.5, "{mean} {sd}");
        let jitter: CorrelatedJitter = "mean=15ms, sd=19ms".parse().unwrap();
        assert_eq!((jitter, jitter.delay(9.0)), (DEFAULT, jitter.longest()));
        assert!(jitter.delay(-4.0) < Span::from_millis(1));
    }

    #[test]
    fn it_is_written_as_it_is_read_and_what_has_no_length_is_refused() {
        for text in ["mean=15ms", "mean=4ms, sd=2ms", "memory=1s, normal", "normal"] {
            let read: CorrelatedJitter = text.parse().unwrap();
            assert_eq!(read.to_string().parse(), Ok(read), "{text}");
        }
        assert_eq!("".parse::<CorrelatedJitter>().ok(), None);
        for text in ["mean=0s", "sd=0s", "memory=61s", "mean=5", "correlation=70%", "mean=1ms, mean=2ms"] {
            assert!(text.parse::<CorrelatedJitter>().is_err(), "{text}");
        }
    }

    #[test]
    fn packets_of_one_instant_have_the_same_delay_and_another_seed_has_others() {
        let delay = |seed, millis: [u64; 3]| {
            let mut jitter = CorrelatedOverTime::new(DEFAULT, seed);
            millis.map(|millis| jitter.at(Time::ZERO + Span::from_millis(millis)))
        };
        let [first, same, earlier] = delay(1, [50, 50, 40]);
        assert_eq!((first, first), (same, earlier));
        assert_ne!(delay(2, [50, 50, 40])[0], first);
    }
}

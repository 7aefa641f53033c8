//! Jitter: a propagation delay that differs from packet to packet.

use super::correlated_jitter::{CorrelatedJitter, CorrelatedOverTime};
use cellcc_units::{Span, Time};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A random extra delay of each packet.
///
/// It applies to all packets. Where only some packets are late, as after a retransmission below IP, see
/// [`crate::Reordering`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jitter {
    /// The longest extra delay that is drawn for each packet alone, uniform between zero and this.
    pub up_to: Span,
    /// An extra delay that wanders: packets close in time have nearly the same.
    pub correlated: Option<CorrelatedJitter>,
    /// True if a packet may overtake the one before. Otherwise it arrives together with that one at the earliest, as
    /// over a radio link that delivers in order.
    pub reorders: bool,
}

impl Jitter {
    /// No packet is later than another.
    pub const NONE: Self = Self { up_to: Span::ZERO, correlated: None, reorders: false };

    /// True where no packet is later than another.
    pub fn is_none(&self) -> bool {
        self.up_to.is_zero() && self.correlated.is_none()
    }

    /// The longest extra delay.
    pub fn longest(&self) -> Span {
        self.up_to + self.correlated.map_or(Span::ZERO, |correlated| correlated.longest())
    }
}

/// Draws the extra delays.
#[derive(Debug, Clone)]
pub(crate) struct JitterOverTime {
    jitter: Jitter,
    generator: Pcg64Mcg,
    correlated: Option<CorrelatedOverTime>,
}

/// Keeps the draws apart from those of other parts of a link with the same seed.
const STREAM: u64 = 0x6a69_7474_6572; // "jitter"

impl JitterOverTime {
    /// `None` where no packet is later than another.
    pub(crate) fn new(jitter: Jitter, seed: u64) -> Option<Self> {
        (!jitter.is_none()).then(|| Self {
            jitter,
            generator: Pcg64Mcg::seed_from_u64(seed ^ STREAM),
            correlated: jitter.correlated.map(|correlated| CorrelatedOverTime::new(correlated, seed)),
        })
    }

    /// When a packet arrives that would arrive at `time` without jitter, the one before it having arrived at `before`.
    pub(crate) fn arrival(&mut self, time: Time, before: Time) -> Time {
        let ends = u128::from(self.jitter.up_to.as_nanos()) + 1;
        let extra = (u128::from(self.generator.next_u64()) * ends) >> 64;
        let mut late = time + Span::from_nanos(extra as u64); // at most `up_to`
        if let Some(correlated) = &mut self.correlated {
            late += correlated.at(time);
        }
        if self.jitter.reorders { late } else { late.max(before) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(reorders: bool, seed: u64) -> Vec<Time> {
        let jitter = Jitter { up_to: Span::from_millis(5), reorders, ..Jitter::NONE };
        let mut jitter = JitterOverTime::new(jitter, seed).unwrap();
        let mut before = Time::ZERO;
        let sent = |number| Time::ZERO + Span::from_millis(number);
        (0..10_000)
            .map(|number| {
                before = jitter.arrival(sent(number), before);
                before
            })
            .collect()
    }

    #[test]
    fn extra_delays_are_spread_evenly_up_to_the_jitter() {
        let extra =
            |(number, arrival): (usize, &Time)| arrival.since(Time::ZERO + Span::from_millis(number as u64));
        let extras: Vec<Span> = arrivals(true, 1).iter().enumerate().map(extra).collect();
        assert!(extras.iter().all(|&extra| extra <= Span::from_millis(5)));
        for fifth in 0..5 {
            let share = extras.iter().filter(|extra| extra.as_nanos() / 1_000_000 == fifth).count();
            // Binomial: 2000 with a standard deviation of 40.
            assert!((1840..=2160).contains(&share), "{fifth}: {share}");
        }
    }

    #[test]
    fn packets_overtake_each_other_only_where_they_may() {
        assert!(arrivals(false, 1).is_sorted());
        assert!(!arrivals(true, 1).is_sorted());
        assert_ne!(arrivals(true, 1), arrivals(true, 2));
    }
}

//! The noise of the RTT: its mean excess over the base RTT where the flow itself fills no queue.
//!
//! Jitter that keeps packets in order delays most of them nearly as long as the longest. A few packets find the base
//! RTT, and many stay far above it, so that a target below the jitter shrinks the window until few packets are left.
//! Only a drain tells jitter from a queue of the flow's own, and the first one does so before other measurements could
//! mislead: it begins with the flow's first queue. Later drains can only reduce the noise, and one that halves the
//! queue shows that flows made it: then there is none.

use crate::Micros;

/// Reciprocal of the part of the excess that must stay in a drain, a half. With 5/8, 20 Mbit/s with 30 ms of jitter at
/// 20 ms RTT have a utilisation of 0.40 instead of 0.91.
const STAYS: u64 = 2;

/// The noise, and the RTTs of this round.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub(super) struct Noise {
    /// The sum of this round's RTTs in microseconds.
    sum: u64,
    samples: u32,
    /// The mean RTT of the last round that no drain affects.
    usual_rtt: Micros,
    level: Micros,
    /// Not zero: a drain has shown the noise.
    is_known: u32,
}

impl Noise {
    pub(super) const START: Self =
        Self { sum: 0, samples: 0, usual_rtt: Micros::ZERO, level: Micros::ZERO, is_known: 0 };

    /// The mean excess of the RTT without a queue of the flow's own.
    #[inline(always)]
    pub(super) fn get(&self) -> Micros {
        self.level
    }

    #[inline(always)]
    pub(super) fn add(&mut self, rtt: Micros) {
        self.sum = self.sum.saturating_add(rtt.0 as u64);
        self.samples = self.samples.saturating_add(1);
    }

    /// Ends a round. `drained`: it shows packets sent in a drain. `settled`: no drain affects it.
    #[inline(always)]
    pub(super) fn end_round(&mut self, base_rtt: Micros, drained: bool, settled: bool) {
        let mean = self.sum.checked_div(self.samples as u64);
        (self.sum, self.samples) = (0, 0);
        let Some(mean) = mean else { return };
        let mean = Micros(mean.min(u32::MAX as u64) as u32);
        if settled {
            self.usual_rtt = mean;
        }
        if drained {
            let excess = Micros(mean.0.saturating_sub(base_rtt.0));
            let usual = self.usual_rtt.0.saturating_sub(base_rtt.0);
            self.level = if self.is_known == 0 {
                excess
            } else if excess.0 as u64 * STAYS >= usual as u64 {
                excess.min(self.level)
            } else {
                Micros::ZERO
            };
            self.is_known = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE_RTT: Micros = Micros(40_000);

    /// The noise after a round and a drain with these mean excesses.
    fn after(noise: &mut Noise, usual: u32, drained: u32) -> u32 {
        for (excess, is_drained) in [(usual, false), (drained, true)] {
            for excess in [excess - 1_000, excess + 1_000] {
                noise.add(Micros(BASE_RTT.0 + excess));
            }
            noise.end_round(BASE_RTT, is_drained, !is_drained);
        }
        noise.get().0
    }

    #[test]
    fn the_first_drain_shows_the_noise_and_later_ones_reduce_it() {
        let mut noise = Noise::START;
        let seen = [(30_000, 8_000), (12_000, 9_000), (12_000, 6_000), (12_000, 9_000)];
        assert_eq!(
            seen.map(|(usual, drained)| after(&mut noise, usual, drained)),
            [8_000, 8_000, 6_000, 6_000]
        );
    }

    #[test]
    fn a_queue_that_a_drain_halves_is_the_flows_own() {
        let mut noise = Noise::START;
        assert_eq!(after(&mut noise, 12_000, 8_000), 8_000);
        assert_eq!(after(&mut noise, 12_000, 5_000), 0);
        assert_eq!(after(&mut noise, 12_000, 8_000), 0);
    }

    #[test]
    fn a_round_without_samples_shows_nothing() {
        let mut noise = Noise::START;
        noise.end_round(BASE_RTT, true, false);
        assert_eq!(after(&mut noise, 12_000, 8_000), 8_000);
    }
}

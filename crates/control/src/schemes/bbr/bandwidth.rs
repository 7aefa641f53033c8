//! The bandwidth filter: the largest delivery rate of the last ten rounds.

use crate::contract::{RateSample, Sampler};
use crate::filters::WindowedMax;
use cellcc_units::Rate;

/// Rounds that the filter remembers: one gain cycle and two more (draft section 4.1.1.6, `BtlBwFilterLen`).
const FILTER_ROUNDS: u64 = 10;

/// The bottleneck's bandwidth as the delivery rates tell it.
#[derive(Debug, Clone)]
pub(super) struct Bandwidth {
    sampler: Sampler,
    filter: WindowedMax<Rate>,
}

impl Bandwidth {
    pub(super) fn new(sampler: Sampler) -> Self {
        Self { sampler, filter: WindowedMax::new(FILTER_ROUNDS) }
    }

    /// Takes a sample. One that the application limited is a lower bound, and counts only where it raises the estimate.
    pub(super) fn update(&mut self, round: u64, sample: &RateSample, app_limited: bool) {
        let rate = sample.rate(self.sampler);
        if !app_limited || rate >= self.estimate() {
            self.filter.add(round, rate);
        }
    }

    /// The estimate; zero before the first sample.
    pub(super) fn estimate(&self) -> Rate {
        self.filter.max().unwrap_or(Rate::ZERO)
    }
}

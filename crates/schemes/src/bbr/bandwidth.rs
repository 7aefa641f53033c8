//! The bandwidth that BBR goes by: where it comes from, and BBR's own filter, the largest delivery rate of ten rounds.

use cellcc_control::{Ack, RateSample, Sampler, filters::WindowedMax};
use cellcc_units::{Bytes, Rate};

/// Rounds that the filter remembers: one gain cycle and two more (draft section 4.1.1.6, `BtlBwFilterLen`).
const FILTER_ROUNDS: u64 = 10;

/// Where BBR's estimate of the bottleneck's bandwidth comes from: its own delivery rates, or somebody who knows more.
pub trait BandwidthSource: Clone + Send {
    /// An acknowledgement brings a delivery rate. One that the sender limited itself is a lower bound.
    fn on_sample(&mut self, ack: &Ack<'_>, sample: &RateSample, self_limited: bool);

    /// The estimate; zero before the first sample.
    fn estimate(&self) -> Rate;

    /// What the window is to hold besides the bandwidth-delay products, as far as the source knows.
    fn headroom(&self) -> Bytes {
        Bytes::ZERO
    }
}

/// The largest delivery rate of the last ten rounds.
#[derive(Debug, Clone)]
pub struct MaxFilter {
    sampler: Sampler,
    filter: WindowedMax<Rate>,
}

impl MaxFilter {
    /// A filter without a sample.
    pub fn new(sampler: Sampler) -> Self {
        Self { sampler, filter: WindowedMax::new(FILTER_ROUNDS) }
    }
}

impl BandwidthSource for MaxFilter {
    /// A lower bound counts only where it raises the estimate.
    fn on_sample(&mut self, ack: &Ack<'_>, sample: &RateSample, self_limited: bool) {
        let rate = sample.rate(self.sampler);
        if !self_limited || rate >= self.estimate() {
            self.filter.add(ack.round, rate);
        }
    }

    fn estimate(&self) -> Rate {
        self.filter.max().unwrap_or(Rate::ZERO)
    }
}

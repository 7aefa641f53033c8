//! The scalars that follow from amounts and distributions.

use crate::{Distribution, Metrics, Summary};
use cellcc_units::{Bytes, Span};

impl Metrics {
    /// Fills in throughput and utilisation: `delivered` left the link of the `offered` bytes within `active`.
    pub(crate) fn set_throughput(&mut self, delivered: Bytes, offered: Bytes, active: Span) {
        let seconds = active.as_secs_f64();
        if seconds > 0.0 {
            self.throughput_mbit_s = delivered.as_f64() * 8.0 / seconds / 1e6;
        }
        if !offered.is_zero() {
            self.utilisation = delivered.as_f64() / offered.as_f64();
        }
    }

    /// Fills in the queueing delays, and power from them; set the throughput first.
    pub fn set_queueing(&mut self, queueing: &Distribution) {
        [
            self.queueing_delay_mean_ms,
            self.queueing_delay_p50_ms,
            self.queueing_delay_p95_ms,
            self.queueing_delay_p99_ms,
            self.queueing_delay_max_ms,
        ] = figures(queueing.summary());
        self.set_power();
    }

    /// Fills in power from the throughput and the queueing delays.
    pub fn set_power(&mut self) {
        let power = |delay: Option<f64>| {
            delay.filter(|delay| *delay > 0.0).map(|delay| self.throughput_mbit_s / delay)
        };
        (self.power, self.power95) = (power(self.queueing_delay_mean_ms), power(self.queueing_delay_p95_ms));
    }

    /// Fills in the one-way delays.
    pub(crate) fn set_one_way(&mut self, one_way: &Distribution) {
        [
            self.one_way_delay_mean_ms,
            self.one_way_delay_p50_ms,
            self.one_way_delay_p95_ms,
            self.one_way_delay_p99_ms,
            self.one_way_delay_max_ms,
        ] = figures(one_way.summary());
    }

    /// Fills in the round-trip times.
    pub fn set_rtt(&mut self, rtt: &Distribution) {
        [self.rtt_mean_ms, self.rtt_p50_ms, self.rtt_p95_ms, self.rtt_p99_ms, self.rtt_max_ms] =
            figures(rtt.summary());
    }
}

fn figures(summary: Option<Summary>) -> [Option<f64>; 5] {
    match summary {
        Some(s) => [s.mean_ms, s.p50_ms, s.p95_ms, s.p99_ms, s.max_ms].map(Some),
        None => [None; 5],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_null_where_there_is_no_delay() {
        let mut metrics = Metrics { throughput_mbit_s: 12.0, ..Metrics::default() };
        let mut none = Distribution::default();
        metrics.set_queueing(&none);
        assert_eq!((metrics.power, metrics.queueing_delay_mean_ms), (None, None));
        none.add(Span::from_millis(4));
        metrics.set_queueing(&none);
        assert_eq!((metrics.power, metrics.power95.is_some()), (Some(3.0), true));
    }
}

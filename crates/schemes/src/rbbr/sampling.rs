//! Rate samples: what arrived, over the time that really passed (paper, equations 10 and 11).

use cellcc_units::{Bytes, Rate, Span, Time};

/// Packets that an interval holds at least: fewer make a sample of the packet's size rather than of the rate ...
const LEAST_PACKETS: u32 = 4;
/// ... unless they take longer than this, where a slow link needs an answer all the same.
const LONGEST: Span = Span::from_millis(100);

/// Cuts the arrivals into intervals. An interval begins and ends with an arrival, so that a silent link makes one long
/// interval instead of many empty ones; the packet that begins it does not count, since it was sent before.
#[derive(Debug, Clone)]
pub(super) struct Sampling {
    interval: Span,
    open: Option<Interval>,
}

#[derive(Debug, Clone)]
struct Interval {
    began: Time,
    bytes: Bytes,
    packets: u32,
    lost: u64,
}

/// What an interval tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) rate: Rate,
    pub(super) span: Span,
    pub(super) packets: u32,
    /// Packets that are missing from the numbers.
    pub(super) lost: u64,
}

impl Sampling {
    /// Samples over `interval` at least.
    pub(super) fn new(interval: Span) -> Self {
        Self { interval, open: None }
    }

    /// A packet arrived, after `lost` others that did not; gives the sample of the interval that it ends.
    pub(super) fn on_packet(&mut self, now: Time, bytes: Bytes, lost: u64) -> Option<Sample> {
        let Some(open) = &mut self.open else {
            self.begin(now);
            return None;
        };
        open.bytes += bytes;
        open.packets += 1;
        open.lost += lost;
        let span = now.since(open.began);
        let is_over = if open.packets >= LEAST_PACKETS {
            span >= self.interval
        } else {
            span >= LONGEST.max(self.interval)
        };
        if !is_over {
            return None;
        }
        let (packets, lost) = (open.packets, open.lost);
        let sample = Sample { rate: Rate::from_transfer(open.bytes, span), span, packets, lost };
        self.begin(now);
        Some(sample)
    }

    /// What has arrived in the open interval tells nothing; the next packet begins a new one.
    pub(super) fn discard(&mut self) {
        self.open = None;
    }

    fn begin(&mut self, now: Time) {
        self.open = Some(Interval { began: now, bytes: Bytes::ZERO, packets: 0, lost: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1500);

    /// The rates (Mbit/s) of the samples that packets at these times (in ms) give.
    fn rates(interval_ms: u64, arrivals_ms: impl IntoIterator<Item = u64>) -> Vec<f64> {
        let mut sampling = Sampling::new(Span::from_millis(interval_ms));
        arrivals_ms
            .into_iter()
            .filter_map(|ms| sampling.on_packet(Time::ZERO + Span::from_millis(ms), PACKET, 0))
            .map(|sample| sample.rate.as_mbit_per_sec())
            .collect()
    }

    #[test]
    fn one_packet_a_millisecond_is_12_mbit_per_second() {
        assert_eq!(rates(10, 0..=30), [12.0, 12.0, 12.0]);
    }

    #[test]
    fn the_time_that_passed_counts_and_not_the_nominal_interval() {
        // Eight packets at once every 16 ms: 6 Mbit/s, whatever the interval.
        let bursts = (0..=40).map(|packet| packet / 8 * 16);
        let rates = rates(10, bursts);
        assert_eq!(rates, [6.0; 5]);
    }

    #[test]
    fn a_slow_link_gets_longer_intervals_and_an_answer_within_100_ms() {
        // A packet per 5 ms: four of them take 20 ms. A packet per 60 ms: two of them take more than 100 ms.
        assert_eq!(rates(10, (0..=8).map(|packet| packet * 5)), [2.4, 2.4]);
        assert_eq!(rates(10, (0..=4).map(|packet| packet * 60)), [0.2, 0.2]);
    }

    #[test]
    fn a_discarded_interval_leaves_no_trace() {
        let mut sampling = Sampling::new(Span::from_millis(10));
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        for ms in 0..9 {
            assert!(sampling.on_packet(at(ms), PACKET, 0).is_none());
        }
        sampling.discard();
        // After a silence that would have spoiled it.
        let samples: Vec<_> = (500..=510).filter_map(|ms| sampling.on_packet(at(ms), PACKET, 0)).collect();
        assert_eq!(samples.len(), 1);
        assert_eq!(samples[0].rate.as_mbit_per_sec(), 12.0);
    }
}

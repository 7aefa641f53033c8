//! The rate: arrivals, the link's capacity, and additive or multiplicative increase.

use super::delay::Usage;
use cellcc_units::{Bytes, Span, Time};

/// Windows of the throughput (libwebrtc): the first, and all others.
const FIRST_WINDOW: Span = Span::from_millis(500);
const THROUGHPUT_WINDOW: Span = Span::from_millis(150);
/// Constants of its estimate (libwebrtc): first variance, its growth per step, and the uncertainty of a sample.
const FIRST_VARIANCE: f64 = 50.0;
const STEP_VARIANCE: f64 = 5.0;
const SAMPLE_SCALE: f64 = 10.0;
/// Constants of the rate (libwebrtc's `AimdRateControl`), in bit/s.
const BACK_OFF: f64 = 0.85;
const BELOW: f64 = 5000.0;
const GROWTH: f64 = 1.08;
const LEAST_GROWTH: f64 = 1000.0;
const LEAST_ADDITION: f64 = 4000.0;
/// A probe takes the rate no lower than this share of the arrivals (libwebrtc's `kProbeDropThroughputFraction`).
const LEAST_FOUND: f64 = 0.85;
pub(super) const LEAST: f64 = 5000.0;
/// Constants of the capacity (libwebrtc's `LinkCapacityEstimator`), in kbit/s.
const CAPACITY_GAIN: f64 = 0.05;
const DEVIATIONS: (f64, f64) = (0.4, 2.5);

/// Bytes that arrive, as a Bayesian estimate of a rate.
#[derive(Debug)]
pub(super) struct Throughput {
    sum: Bytes,
    began: Option<Time>,
    arrived: Time,
    kbits: Option<f64>,
    variance: f64,
}

impl Throughput {
    pub(super) fn new() -> Self {
        Self { sum: Bytes::ZERO, began: None, arrived: Time::ZERO, kbits: None, variance: FIRST_VARIANCE }
    }

    /// In bit/s.
    pub(super) fn rate(&self) -> Option<f64> {
        self.kbits.map(|kbits| kbits * 1e3)
    }

    pub(super) fn on_arrival(&mut self, arrived: Time, bytes: Bytes) {
        let window = if self.kbits.is_none() { FIRST_WINDOW } else { THROUGHPUT_WINDOW };
        let began = *self.began.get_or_insert(arrived);
        if arrived.since(self.arrived) > window && self.arrived > Time::ZERO {
            // Nothing for a window: it says nothing of the link.
            self.sum = Bytes::ZERO;
            self.began = Some(arrived);
        } else if arrived.since(began) >= window {
            let sample = self.sum.as_f64() * 8.0 / window.as_millis_f64();
            self.add(sample);
            self.sum = Bytes::ZERO;
            self.began = Some(began + window);
        }
        self.sum += bytes;
        self.arrived = self.arrived.max(arrived);
    }

    fn add(&mut self, sample: f64) {
        let Some(estimate) = self.kbits else {
            self.kbits = Some(sample);
            return;
        };
        let deviation = SAMPLE_SCALE * (estimate - sample).abs() / (estimate + sample).max(1.0);
        let (variance, predicted) = (deviation * deviation, self.variance + STEP_VARIANCE);
        self.kbits = Some((variance * estimate + predicted * sample) / (variance + predicted));
        self.variance = variance * predicted / (variance + predicted);
    }
}

/// The link's observed rate at over-use, in kbit/s.
#[derive(Debug)]
struct Capacity {
    estimate: Option<f64>,
    deviation: f64,
}

impl Capacity {
    /// The estimate less and plus three standard deviations.
    fn bounds(&self) -> Option<(f64, f64)> {
        let estimate = self.estimate?;
        let apart = 3.0 * (self.deviation * estimate).sqrt();
        Some(((estimate - apart).max(0.0), estimate + apart))
    }

    fn on_overuse(&mut self, sample: f64) {
        let estimate = self.estimate.map_or(sample, |last| last + CAPACITY_GAIN * (sample - last));
        let error = estimate - sample;
        self.deviation += CAPACITY_GAIN * (error * error / estimate.max(1.0) - self.deviation);
        self.deviation = self.deviation.clamp(DEVIATIONS.0, DEVIATIONS.1);
        self.estimate = Some(estimate);
    }
}

/// The direction of the rate until the delay changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Hold,
    Increase,
}

/// The rate by delay.
#[derive(Debug)]
pub(super) struct Aimd {
    /// In bit/s.
    pub(super) rate: f64,
    pub(super) state: State,
    capacity: Capacity,
    changed_at: Option<Time>,
    throughput: f64,
}

impl Aimd {
    pub(super) fn new(rate: f64) -> Self {
        Self {
            rate,
            state: State::Hold,
            capacity: Capacity { estimate: None, deviation: DEVIATIONS.0 },
            changed_at: None,
            throughput: rate,
        }
    }

    /// A report came that shows this; `found`: by a probe.
    pub(super) fn on_report(
        &mut self,
        now: Time,
        usage: Usage,
        throughput: Option<f64>,
        found: Option<f64>,
        rtt: Span,
    ) {
        match (usage, found) {
            (Usage::Over, _) => match throughput {
                Some(throughput) if self.may_reduce(now, throughput, rtt) => self.decrease(now, throughput),
                None if self.may_reduce(now, self.rate, rtt) => self.set(now, self.rate / 2.0),
                _ => {}
            },
            (_, Some(found)) => {
                let least = throughput.map_or(0.0, |throughput| (LEAST_FOUND * throughput).min(self.rate));
                self.set(now, found.max(least));
            }
            (Usage::Under, None) => {
                self.remember(throughput);
                self.state = State::Hold;
            }
            (Usage::Normal, None) => {
                self.remember(throughput);
                if self.state == State::Hold {
                    self.state = State::Increase;
                    self.changed_at = Some(now);
                }
                self.increase(now, rtt);
            }
        }
    }

    fn remember(&mut self, throughput: Option<f64>) {
        self.throughput = throughput.unwrap_or(self.throughput);
    }

    fn may_reduce(&self, now: Time, throughput: f64, rtt: Span) -> bool {
        let apart = rtt.clamp(Span::from_millis(10), Span::from_millis(200));
        self.changed_at.is_none_or(|changed| now.since(changed) >= apart) || throughput < self.rate / 2.0
    }

    fn set(&mut self, now: Time, rate: f64) {
        self.rate = rate.max(LEAST);
        self.changed_at = Some(now);
    }

    fn increase(&mut self, now: Time, rtt: Span) {
        if self.capacity.bounds().is_some_and(|(_, upper)| self.throughput > upper * 1e3) {
            self.capacity.estimate = None;
        }
        let most = 1.5 * self.throughput + 10_000.0;
        let seconds = now.since(self.changed_at.unwrap_or(now)).as_secs_f64();
        let more = if self.capacity.estimate.is_some() {
            addition(self.rate, rtt) * seconds
        } else {
            (self.rate * (libm::pow(GROWTH, seconds.min(1.0)) - 1.0)).max(LEAST_GROWTH)
        };
        let rate = if self.rate < most { (self.rate + more).min(most) } else { self.rate };
        self.set(now, rate);
    }

    fn decrease(&mut self, now: Time, throughput: f64) {
        self.throughput = throughput;
        let mut lower = BACK_OFF * throughput;
        if lower > BELOW {
            lower -= BELOW;
        }
        if lower > self.rate
            && let Some(capacity) = self.capacity.estimate
        {
            lower = BACK_OFF * capacity * 1e3;
        }
        if self.capacity.bounds().is_some_and(|(least, _)| throughput < least * 1e3) {
            self.capacity.estimate = None;
        }
        self.capacity.on_overuse(throughput / 1e3);
        self.state = State::Hold;
        self.set(now, lower.min(self.rate));
    }
}

/// Growth of the rate per second near the capacity, in bit/s: half a packet per response time, which is an RTT and 100 ms for
/// the detector. A packet is a part of a frame at 30 frames/s, cut into 1200 bytes.
fn addition(rate: f64, rtt: Span) -> f64 {
    let frame = rate / 30.0;
    let packet = frame / (frame / 8.0 / 1200.0).ceil().max(1.0);
    (packet / (2.0 * (rtt.as_secs_f64() + 0.1))).max(LEAST_ADDITION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_the_capacity_the_rate_grows_by_half_a_packet_in_a_response_time() {
        for (kbits, rtt_ms, grows) in
            [(30.0, 200, 4000.0), (90.0, 200, 5000.0), (60.0, 100, 5000.0), (1000.0, 50, 27_777.78)]
        {
            let found = addition(kbits * 1e3, Span::from_millis(rtt_ms));
            assert!((found - grows).abs() < 0.01, "{kbits} kbit/s, {rtt_ms} ms: {found}");
        }
    }

    #[test]
    fn overuse_sets_the_rate_to_085_of_what_arrives_less_5_kbits_and_never_upwards() {
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let rtt = Span::from_millis(50);
        let mut aimd = Aimd::new(1e6);
        aimd.on_report(at(1000), Usage::Over, Some(800_000.0), None, rtt);
        assert!((aimd.rate - 675_000.0).abs() < 1e-6, "{}", aimd.rate);
        aimd.on_report(at(1020), Usage::Over, Some(500_000.0), None, rtt);
        assert!((aimd.rate - 675_000.0).abs() < 1e-6, "within an RTT");
        aimd.on_report(at(1030), Usage::Over, Some(300_000.0), None, rtt);
        assert!((aimd.rate - 250_000.0).abs() < 1e-6, "less than half arrives: {}", aimd.rate);
        aimd.on_report(at(1200), Usage::Over, Some(900_000.0), None, rtt);
        assert!(aimd.rate <= 250_000.0, "{}", aimd.rate);
    }

    #[test]
    fn without_a_capacity_the_rate_grows_by_8_percent_a_second() {
        let mut aimd = Aimd::new(1e6);
        for tick in 0..=20 {
            let now = Time::from_nanos(1_000_000_000 + tick * 50_000_000);
            aimd.on_report(now, Usage::Normal, Some(1e6), None, Span::from_millis(50));
        }
        assert!((aimd.rate / 1e6 - 1.08).abs() < 0.002, "{}", aimd.rate);
    }

    #[test]
    fn a_steady_stream_has_its_rate_and_an_odd_sample_counts_for_less() {
        let mut throughput = Throughput::new();
        for packet in 0..=1000 {
            throughput.on_arrival(Time::from_nanos(1 + packet * 10_000_000), Bytes::new(1250));
        }
        assert!((throughput.rate().unwrap() / 1e6 - 1.0).abs() < 0.01, "{:?}", throughput.rate());
        let before = throughput.kbits.unwrap();
        let variance = throughput.variance + STEP_VARIANCE;
        throughput.add(before / 3.0);
        // The deviation of a sample of a third is 10 * (2/3) / (4/3) = 5.
        let expected = (25.0 * before + variance * before / 3.0) / (25.0 + variance);
        assert!((throughput.kbits.unwrap() - expected).abs() < 1e-9);
    }
}

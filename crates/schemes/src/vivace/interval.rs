//! Monitor intervals: the rates that are being tried, and what became of the packets of each.

use cellcc_control::{Ack, Packet, Sent, Tag};
use cellcc_units::{Bytes, Span, Time};

/// PCC-Uspace, branch master: an interval is long enough for so many packets.
const MIN_PACKETS: u32 = 5;
/// Intervals that a trial may have: the tag of a packet names trial and interval.
const MAX_INTERVALS: u64 = 8;

/// A few intervals, sent one after the other. It is over when something has become of all their packets.
#[derive(Debug)]
pub(super) struct Trial {
    number: u64,
    intervals: Vec<Interval>,
    /// The interval that packets leave in now; none of them once all have been sent.
    present: usize,
}

/// What an interval came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// In Mbit/s.
    pub(super) rate: f64,
    /// The share of the bytes that was lost.
    pub(super) loss_rate: f64,
    /// The slope of the RTT over the time at which packets left: seconds per second.
    pub(super) rtt_gradient: f64,
}

impl Trial {
    /// The trial of this number, at these rates in Mbit/s.
    pub(super) fn new(number: u64, rates: Vec<f64>) -> Self {
        Self { number, intervals: rates.into_iter().map(Interval::new).collect(), present: 0 }
    }

    /// The trial after this one; packets of this one no longer count.
    pub(super) fn next(&self, rates: Vec<f64>) -> Self {
        Self::new(self.number + 1, rates)
    }

    /// The rate of the interval that packets leave in; none where the trial only waits.
    pub(super) fn present_rate(&self) -> Option<f64> {
        self.intervals.get(self.present).map(|interval| interval.rate)
    }

    /// A packet leaves: in the present interval, or as the first of the next one.
    pub(super) fn on_sent(&mut self, sent: &Sent, rtt: Span) -> Tag {
        if self.intervals.get(self.present).is_some_and(|present| present.is_complete(sent.now, rtt)) {
            self.present += 1;
        }
        let Some(interval) = self.intervals.get_mut(self.present) else { return Tag::default() };
        interval.on_sent(sent);
        1 + self.number * MAX_INTERVALS + self.present as u64
    }

    /// Packets arrived.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>) {
        for packet in ack.packets {
            if let Some(interval) = self.interval_of(packet) {
                interval.outstanding -= 1;
                interval.acked += packet.bytes;
            }
        }
        if let (Some(newest), Some(sample)) = (ack.packets.last(), ack.rtt_sample)
            && let Some(interval) = self.interval_of(newest)
        {
            let sent_after = newest.sent_at.since(interval.began.unwrap_or(newest.sent_at));
            interval.rtts.add(sent_after.as_secs_f64(), sample.as_secs_f64());
        }
    }

    /// Packets were lost.
    pub(super) fn on_loss(&mut self, packets: &[Packet]) {
        for packet in packets {
            if let Some(interval) = self.interval_of(packet) {
                interval.outstanding -= 1;
                interval.lost += packet.bytes;
            }
        }
    }

    /// Nobody knows what became of a packet, or it does not count.
    pub(super) fn forget(&mut self, packet: &Packet) {
        if let Some(interval) = self.interval_of(packet) {
            interval.outstanding -= 1;
        }
    }

    /// All intervals have been sent, and all is known of their packets.
    pub(super) fn is_over(&self) -> bool {
        self.present == self.intervals.len()
            && self.intervals.iter().all(|interval| interval.outstanding == 0)
    }

    /// The application limited one of the intervals.
    pub(super) fn is_app_limited(&self) -> bool {
        self.intervals.iter().any(|interval| interval.app_limited)
    }

    /// What the intervals came to, in the order of their rates.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.intervals.iter().map(Interval::outcome)
    }

    fn interval_of(&mut self, packet: &Packet) -> Option<&mut Interval> {
        let index = packet.tag.checked_sub(1 + self.number * MAX_INTERVALS)?;
        self.intervals.get_mut(usize::try_from(index).ok()?)
    }
}

#[derive(Debug)]
struct Interval {
    rate: f64,
    /// When its first packet left; none before.
    began: Option<Time>,
    packets: u32,
    /// Packets of which nothing is known yet.
    outstanding: u32,
    acked: Bytes,
    lost: Bytes,
    app_limited: bool,
    rtts: Regression,
}

impl Interval {
    fn new(rate: f64) -> Self {
        Self {
            rate,
            began: None,
            packets: 0,
            outstanding: 0,
            acked: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
            rtts: Regression::default(),
        }
    }

    fn is_complete(&self, now: Time, rtt: Span) -> bool {
        self.packets >= MIN_PACKETS && self.began.is_some_and(|began| now.since(began) >= rtt)
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.began.get_or_insert(sent.now);
        self.packets += 1;
        self.outstanding += 1;
        self.app_limited |= sent.app_limited;
    }

    fn outcome(&self) -> Outcome {
        let known = (self.acked + self.lost).as_f64();
        let loss_rate = if known > 0.0 { self.lost.as_f64() / known } else { 0.0 };
        Outcome { rate: self.rate, loss_rate, rtt_gradient: self.rtts.slope() }
    }
}

/// The line through points that are nearest to it by least squares.
#[derive(Debug, Default)]
struct Regression {
    count: f64,
    sum_x: f64,
    sum_y: f64,
    sum_xx: f64,
    sum_xy: f64,
}

impl Regression {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        self.sum_xx += x * x;
        self.sum_xy += x * y;
    }

    /// Its slope; zero where the points do not tell.
    fn slope(&self) -> f64 {
        let spread = self.count * self.sum_xx - self.sum_x * self.sum_x;
        let slope = (self.count * self.sum_xy - self.sum_x * self.sum_y) / spread;
        if slope.is_finite() { slope } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_that_of_the_line_and_zero_where_there_is_none() {
        let mut line = Regression::default();
        assert_eq!(line.slope(), 0.0);
        line.add(0.1, 0.05);
        assert_eq!(line.slope(), 0.0);
        for (x, noise) in [(0.2, 0.001), (0.3, -0.001), (0.4, -0.001), (0.5, 0.001)] {
            line.add(x, 0.02 + 0.3 * x + noise);
        }
        assert!((line.slope() - 0.3).abs() < 0.01, "{}", line.slope());
    }
}

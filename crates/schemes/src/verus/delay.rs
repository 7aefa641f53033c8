//! The delay estimator (paper, equations 2 and 3): the largest delay of an epoch, its moving average and its change.

use cellcc_units::{Span, Time};

/// The program takes a rise of up to 0.0001 ms for none.
const NO_CHANGE_MS: f64 = 1e-4;

/// What an epoch showed of the delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EpochDelay {
    /// The moving average before this epoch, ms.
    pub(super) before_ms: f64,
    /// The moving average with it, ms.
    pub(super) after_ms: f64,
    /// The largest delay has risen.
    pub(super) rising: bool,
}

/// The delays of a flow's epochs, and their minimum.
#[derive(Debug, Clone)]
pub(super) struct DelayEstimator {
    /// Share of the old value in the moving average of the epochs' largest delays (the paper's alpha).
    old_share: f64,
    /// Share of the old value in the smoothed RTT.
    rtt_old_share: f64,
    largest_ms: Option<f64>,
    average_ms: Option<f64>,
    smoothed_ms: Option<f64>,
    min_ms: Option<f64>,
    last_ack_at: Time,
}

impl DelayEstimator {
    pub(super) fn new(old_share: f64, rtt_old_share: f64) -> Self {
        Self {
            old_share,
            rtt_old_share,
            largest_ms: None,
            average_ms: None,
            smoothed_ms: None,
            min_ms: None,
            last_ack_at: Time::ZERO,
        }
    }

    /// A packet was acknowledged `delay_ms` after it had left.
    pub(super) fn add(&mut self, delay_ms: f64) {
        self.largest_ms = Some(self.largest_ms.map_or(delay_ms, |largest| largest.max(delay_ms)));
        let share = self.rtt_old_share;
        self.smoothed_ms =
            Some(self.smoothed_ms.map_or(delay_ms, |old| share * old + (1.0 - share) * delay_ms));
        self.min_ms = Some(self.min_ms.map_or(delay_ms, |min| min.min(delay_ms)));
    }

    /// Silence counts from `now` on: an acknowledgement came, or the flow begins to send again.
    pub(super) fn heard_at(&mut self, now: Time) {
        self.last_ack_at = now;
    }

    /// Forgets every delay, as at the beginning.
    pub(super) fn restart(&mut self) {
        *self = Self { last_ack_at: self.last_ack_at, ..Self::new(self.old_share, self.rtt_old_share) };
    }

    /// Drops the delays of the epoch under way.
    pub(super) fn forget_epoch(&mut self) {
        self.largest_ms = None;
    }

    /// A delay has been added in the epoch under way.
    pub(super) fn has_heard(&self) -> bool {
        self.largest_ms.is_some()
    }

    /// The epoch ends; none before the first delay. Without a delay in it, the time since the last acknowledgement
    /// stands for the delay, once it is longer than that was.
    pub(super) fn end_epoch(&mut self, now: Time) -> Option<EpochDelay> {
        let largest = match (self.largest_ms.take(), self.average_ms) {
            (Some(largest), _) => largest,
            (None, Some(average)) => average.max(self.silence(now).as_millis_f64()),
            (None, None) => return None,
        };
        let before_ms = self.average_ms.unwrap_or(largest);
        let after_ms = self.old_share * before_ms + (1.0 - self.old_share) * largest;
        self.average_ms = Some(after_ms);
        Some(EpochDelay { before_ms, after_ms, rising: largest - before_ms > NO_CHANGE_MS })
    }

    /// Time since the last acknowledgement.
    fn silence(&self, now: Time) -> Span {
        now.since(self.last_ack_at)
    }

    /// The smallest delay, ms.
    pub(super) fn min_ms(&self) -> Option<f64> {
        self.min_ms
    }

    /// Sets the smallest delay; a smaller one that is measured takes its place.
    pub(super) fn set_min_ms(&mut self, min_ms: f64) {
        self.min_ms = Some(min_ms);
    }

    /// The smoothed delay, ms.
    pub(super) fn smoothed_ms(&self) -> Option<f64> {
        self.smoothed_ms
    }

    /// The moving average of the epochs' largest delays, ms.
    pub(super) fn average_ms(&self) -> Option<f64> {
        self.average_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_average_follows_the_largest_delays_and_its_change_has_their_sign() {
        let mut delays = DelayEstimator::new(0.2, 0.875);
        assert_eq!(delays.end_epoch(at(5)), None);
        for (epoch, before, after, rising) in [
            ([40.0, 30.0], 40.0, 40.0, false),
            ([35.0, 50.0], 40.0, 48.0, true),
            ([45.0, 20.0], 48.0, 45.6, false),
        ] {
            epoch.into_iter().for_each(|delay| delays.add(delay));
            let found = delays.end_epoch(at(10)).expect("delays");
            assert!(
                (found.before_ms - before).abs() < 1e-9 && (found.after_ms - after).abs() < 1e-9,
                "{found:?}"
            );
            assert_eq!(found.rising, rising);
        }
        assert_eq!(delays.min_ms(), Some(20.0));
    }

    #[test]
    fn silence_counts_as_delay_once_it_is_longer() {
        let mut delays = DelayEstimator::new(0.0, 0.875);
        delays.add(40.0);
        delays.heard_at(at(100));
        let ended = |delays: &mut DelayEstimator, ms| delays.end_epoch(at(ms)).expect("delays");
        assert!(!ended(&mut delays, 105).rising);
        assert!(!ended(&mut delays, 135).rising, "35 ms of silence are no more than the 40 ms before");
        let silent = ended(&mut delays, 150);
        assert!(silent.rising && (silent.after_ms - 50.0).abs() < 1e-9);
    }

    #[test]
    fn the_smoothed_delay_begins_with_the_first() {
        let mut delays = DelayEstimator::new(0.2, 0.875);
        delays.add(80.0);
        delays.add(160.0);
        assert!((delays.smoothed_ms().expect("set") - 90.0).abs() < 1e-9);
    }
}

//! Random loss.

use super::burst_loss::{BurstLoss, Channel};
use crate::capacity::schedule::StepCursor;
use crate::share::{Loss, ShareOverTime};
use cellcc_units::{Ratio, Time};

/// Loss whose probability follows a [`ShareOverTime`], and losses in bursts.
#[derive(Debug, Clone)]
pub(crate) struct LossOverTime {
    rate: ShareOverTime,
    now: StepCursor<Ratio>,
    loss: Loss,
    bursts: Option<Channel>,
}

impl LossOverTime {
    /// `None` where nothing is ever lost.
    pub(crate) fn new(rate: ShareOverTime, bursts: Option<BurstLoss>, seed: u64) -> Option<Self> {
        if bursts.is_none() && rate.is_never() {
            return None;
        }
        let mut now = rate.0.start();
        let loss = Loss::new(now.value_at(&rate.0, Time::ZERO), seed);
        Some(Self { rate, now, loss, bursts: bursts.map(|bursts| Channel::new(bursts, seed)) })
    }

    /// True if a packet at `now` is lost.
    #[inline]
    pub(crate) fn strikes(&mut self, now: Time) -> bool {
        if self.now.is_over(now) {
            self.loss.set(self.now.value_at(&self.rate.0, now));
        }
        // The channel goes on with every packet, lost otherwise or not.
        let in_burst = self.bursts.as_mut().is_some_and(Channel::strikes);
        self.loss.strikes() || in_burst
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::tests::losses;
    use cellcc_units::Span;

    #[test]
    fn the_share_changes_with_time() {
        let mut loss = LossOverTime::new("0%@5s,100%@5s,0%@1s".parse().unwrap(), None, 1).unwrap();
        let lost = [0, 4, 5, 9, 10, 100].map(|secs| loss.strikes(Time::ZERO + Span::from_secs(secs)));
        assert_eq!(lost, [false, false, true, true, false, false]);
    }

    /// A draw more or less changes every loss after it.
    #[test]
    fn while_nothing_can_be_lost_the_generator_stands_still() {
        let mut late = LossOverTime::new("0%@5s,10%@5s,0%@5s,10%@1s".parse().unwrap(), None, 1).unwrap();
        let mut strikes = |secs, count| -> Vec<bool> {
            (0..count).map(|_| late.strikes(Time::ZERO + Span::from_secs(secs))).collect()
        };
        let struck = [(0, 700), (5, 1000), (10, 700), (15, 1000)].map(|(secs, count)| strikes(secs, count));
        assert_eq!([&struck[1][..], &struck[3]].concat(), losses(0.1, 1)[..2000]);
        assert!(!struck[0].contains(&true) && !struck[2].contains(&true));
    }

    #[test]
    fn a_link_that_never_loses_anything_has_no_generator() {
        let has_one = |text: &str| LossOverTime::new(text.parse().unwrap(), None, 1).is_some();
        assert_eq!(["0%", "0%@5s,0%@1s", "1%", "0%@5s,1%@1s"].map(has_one), [false, false, true, true]);
    }
}

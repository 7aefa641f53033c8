//! Startup's end: the pipe is full when three rounds in a row have not raised the bandwidth by a quarter.

use cellcc_units::Rate;

/// A rise of the bandwidth that counts (draft section 4.3.2.2).
const GROWTH: f64 = 1.25;
/// Rounds without such a rise: receive-window growth takes one, filling it another, the third one measures
/// (draft section 4.3.2.2).
const ROUNDS: u32 = 3;

#[derive(Debug, Clone, Default)]
pub(crate) struct FullPipe {
    bandwidth: Rate,
    rounds: u32,
    /// Three rounds have not raised the bandwidth since the last [`reset`](Self::reset).
    full_now: bool,
    reached: bool,
}

impl FullPipe {
    /// A round ended that the application did not limit. `conserved`: the rate of packets that left under packet conservation. Where
    /// that held them below what the path has carried before, the round says nothing of the path.
    pub(crate) fn on_round(&mut self, bandwidth: Rate, conserved: Option<Rate>) {
        let held_back = conserved.is_some_and(|rate| rate.mul_f64(GROWTH) < bandwidth);
        if self.full_now || held_back || self.grows(bandwidth) {
            return;
        }
        self.rounds += 1;
        if self.rounds >= ROUNDS {
            self.reach();
        }
    }

    /// Takes a bandwidth within a round; true where it has risen.
    pub(crate) fn grows(&mut self, bandwidth: Rate) -> bool {
        let grown = !self.full_now && bandwidth >= self.bandwidth.mul_f64(GROWTH);
        if grown {
            self.bandwidth = bandwidth;
            self.rounds = 0;
        }
        grown
    }

    /// The pipe is full, whatever the bandwidth did.
    pub(crate) fn reach(&mut self) {
        (self.full_now, self.reached) = (true, true);
    }

    /// Looks whether the bandwidth rises above this one: a probe begins.
    pub(crate) fn reset(&mut self, bandwidth: Rate) {
        (self.bandwidth, self.rounds, self.full_now) = (bandwidth, 0, false);
    }

    /// Startup's end was a mistake.
    pub(crate) fn undo(&mut self) {
        self.reached = false;
    }

    /// The losses that slowed the flow down were none: look again (Linux `bbr_undo_cwnd`).
    pub(crate) fn look_again(&mut self) {
        self.bandwidth = Rate::ZERO;
        self.rounds = 0;
    }

    /// Since the last [`reset`](Self::reset).
    pub(crate) fn is_full_now(&self) -> bool {
        self.full_now
    }

    /// At some time of the flow.
    pub(crate) fn is_reached(&self) -> bool {
        self.reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_of_less_than_a_quarter_more_fill_the_pipe() {
        let mut pipe = FullPipe::default();
        for (mbit, reached) in [(10.0, false), (20.0, false), (24.0, false), (24.5, false), (24.9, true)] {
            pipe.on_round(Rate::from_mbit_per_sec(mbit), None);
            assert_eq!(pipe.is_reached(), reached, "at {mbit}");
        }
    }

    #[test]
    fn a_rise_in_between_starts_the_count_again() {
        let mut pipe = FullPipe::default();
        for mbit in [10.0, 11.0, 12.0, 12.5, 13.0, 14.0] {
            pipe.on_round(Rate::from_mbit_per_sec(mbit), None);
            assert!(!pipe.is_reached());
        }
        pipe.on_round(Rate::from_mbit_per_sec(15.0), None);
        assert!(pipe.is_reached());
    }

    #[test]
    fn a_round_that_conservation_held_back_does_not_count_and_one_at_the_paths_rate_does() {
        let mut pipe = FullPipe::default();
        let (bandwidth, half) = (Rate::from_mbit_per_sec(10.0), Rate::from_mbit_per_sec(5.0));
        pipe.on_round(bandwidth, None);
        (0..10).for_each(|_| pipe.on_round(bandwidth, Some(half)));
        assert!(!pipe.is_reached());
        (0..3).for_each(|_| pipe.on_round(bandwidth, Some(bandwidth)));
        assert!(pipe.is_reached());
    }
}

//! Startup's end: the pipe is full when three rounds in a row have not raised the bandwidth by a quarter.

use cellcc_units::Rate;

/// A rise of the bandwidth that counts (draft section 4.3.2.2).
const GROWTH: f64 = 1.25;
/// Rounds without such a rise: receive-window growth takes one, filling it another, the third one measures
/// (draft section 4.3.2.2).
const ROUNDS: u32 = 3;

#[derive(Debug, Clone, Default)]
pub(in crate::schemes) struct FullPipe {
    bandwidth: Rate,
    rounds: u32,
    reached: bool,
}

impl FullPipe {
    /// A round ended that the application did not limit.
    pub(in crate::schemes) fn on_round(&mut self, bandwidth: Rate) {
        if self.reached {
            return;
        }
        if bandwidth >= self.bandwidth.mul_f64(GROWTH) {
            self.bandwidth = bandwidth;
            self.rounds = 0;
        } else {
            self.rounds += 1;
            self.reached = self.rounds >= ROUNDS;
        }
    }

    /// The losses that slowed the flow down were none: look again (Linux `bbr_undo_cwnd`).
    pub(in crate::schemes) fn look_again(&mut self) {
        self.bandwidth = Rate::ZERO;
        self.rounds = 0;
    }

    pub(in crate::schemes) fn is_reached(&self) -> bool {
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
            pipe.on_round(Rate::from_mbit_per_sec(mbit));
            assert_eq!(pipe.is_reached(), reached, "at {mbit}");
        }
    }

    #[test]
    fn a_rise_in_between_starts_the_count_again() {
        let mut pipe = FullPipe::default();
        for mbit in [10.0, 11.0, 12.0, 12.5, 13.0, 14.0] {
            pipe.on_round(Rate::from_mbit_per_sec(mbit));
            assert!(!pipe.is_reached());
        }
        pipe.on_round(Rate::from_mbit_per_sec(15.0));
        assert!(pipe.is_reached());
    }
}

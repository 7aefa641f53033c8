//! ProbeBW's gain cycle: probe with 1.25, drain with 0.75, cruise for six phases, again.

use cellcc_units::{Bytes, Span, Time};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

/// The pacing gains of the phases (draft section 4.3.4.1).
const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The cycle starts in any phase but the draining one: flows that start together do not probe together.
const START_PHASES: usize = 7;

#[derive(Debug, Clone)]
pub(super) struct GainCycle {
    phase: usize,
    began: Time,
    random: Pcg32,
}

/// The inputs for deciding that a phase is over.
pub(super) struct PhaseEnd {
    pub(super) now: Time,
    pub(super) min_rtt: Span,
    /// Before the acknowledgement that is at hand.
    pub(super) inflight: Bytes,
    pub(super) lost: bool,
}

impl GainCycle {
    pub(super) fn new(seed: u64) -> Self {
        Self { phase: 0, began: Time::ZERO, random: Pcg32::seed_from_u64(seed) }
    }

    pub(super) fn gain(&self) -> f64 {
        GAINS[self.phase]
    }

    pub(super) fn is_probing(&self) -> bool {
        self.gain() > 1.0
    }

    /// Enters the cycle in a random phase.
    pub(super) fn start(&mut self, now: Time) {
        let last = GAINS.len() - 1;
        self.phase = last - self.random.random_range(0..START_PHASES);
        self.advance(now);
    }

    /// True where this phase is over. `target` gives the target of data in flight at a gain; few acknowledgements need it.
    pub(super) fn is_over(&self, end: &PhaseEnd, target: impl Fn(f64) -> Bytes) -> bool {
        let full_length = end.now.since(self.began) > end.min_rtt;
        if self.is_probing() {
            // Until the probe is in flight, unless the queue cannot hold it.
            full_length && (end.lost || end.inflight >= target(self.gain()))
        } else if self.gain() < 1.0 {
            full_length || end.inflight <= target(1.0)
        } else {
            full_length
        }
    }

    /// Goes on to the next phase.
    pub(super) fn advance(&mut self, now: Time) {
        self.phase = (self.phase + 1) % GAINS.len();
        self.began = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cycle_starts_in_every_phase_but_the_draining_one() {
        let mut seen = [false; GAINS.len()];
        for seed in 0..200 {
            let mut cycle = GainCycle::new(seed);
            cycle.start(Time::ZERO);
            seen[cycle.phase] = true;
        }
        assert_eq!(seen, [true, false, true, true, true, true, true, true]);
    }

    #[test]
    fn a_drained_queue_ends_the_draining_phase_early_and_a_loss_ends_the_probe() {
        let ms = |ms| Time::ZERO + Span::from_millis(ms);
        let end = |now, inflight, lost| PhaseEnd {
            now,
            min_rtt: Span::from_millis(20),
            inflight: Bytes::new(inflight),
            lost,
        };
        let update = |cycle: &mut GainCycle, end: PhaseEnd| {
            if cycle.is_over(&end, |_| Bytes::new(10_000)) {
                cycle.advance(end.now);
            }
        };
        let mut cycle = GainCycle::new(0);
        update(&mut cycle, end(ms(30), 9_000, false));
        assert_eq!(cycle.gain(), 1.25, "not yet in flight");
        update(&mut cycle, end(ms(31), 9_000, true));
        assert_eq!(cycle.gain(), 0.75);
        update(&mut cycle, end(ms(32), 12_000, false));
        assert_eq!(cycle.gain(), 0.75, "not yet drained");
        update(&mut cycle, end(ms(33), 10_000, false));
        assert_eq!(cycle.gain(), 1.0);
    }
}

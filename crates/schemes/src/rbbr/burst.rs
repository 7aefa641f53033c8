//! Aggregation as the receiver sees it: how much more than the estimate arrives at once. The path's ACKs have no part
//! in it, unlike in BBR's compensation at the sender (paper, section V.A.1: "a different aggregation compensation
//! mechanism must be applied").

use cellcc_units::{Bytes, Span, Time};

/// A burst is remembered for one to two of these: about ten round trips of a cellular path, as BBR remembers ACKs.
const SLOT: Span = Span::from_millis(300);

#[derive(Debug, Clone, Default)]
pub(super) struct Burst {
    /// The largest of the slot before and of this one.
    slots: [f64; 2],
    slot_began: Time,
}

impl Burst {
    /// A sample of `rate` over `span`, where `estimate` was expected (bytes per second).
    pub(super) fn on_sample(&mut self, now: Time, rate: f64, span: Span, estimate: f64) {
        if now.since(self.slot_began) > SLOT {
            self.slots = [self.slots[1], 0.0];
            self.slot_began = now;
        }
        let extra = (rate - estimate) * span.as_secs_f64();
        self.slots[1] = self.slots[1].max(extra);
    }

    /// The largest recent burst.
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::new(self.slots[0].max(self.slots[1]) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_what_exceeds_the_estimate_and_is_forgotten_within_two_slots() {
        let mut burst = Burst::default();
        let span = Span::from_millis(10);
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        burst.on_sample(at(10), 3_000_000.0, span, 1_000_000.0);
        assert_eq!(burst.bytes(), Bytes::new(20_000));
        for ms in (20..=600).step_by(10) {
            burst.on_sample(at(ms), 1_000_000.0, span, 1_000_000.0);
            assert!(ms > 320 || burst.bytes() == Bytes::new(20_000), "at {ms} ms");
        }
        burst.on_sample(at(630), 1_000_000.0, span, 1_000_000.0);
        assert_eq!(burst.bytes(), Bytes::ZERO);
    }
}

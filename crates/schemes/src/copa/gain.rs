//! Whether a larger share of the queue brings a flow more, as it does where others fill the rest.

use cellcc_units::{Bytes, Rate, Time};

/// Twice the packets in the queue of others double a flow's rate, unless most of the queue was its own before: with nine tenths of
/// it they bring 5 % more, and alone nothing.
const LEAST_GAIN: f64 = 1.05;

/// What was delivered from one doubling of `1/delta` to the next.
#[derive(Debug)]
pub(super) struct Gain {
    began: Time,
    delivered: Bytes,
    /// `1/delta` when it began, in packets.
    packets: f64,
    /// The rate of the doubling before.
    before: Option<Rate>,
}

impl Gain {
    /// Begins with `1/delta` of `packets`.
    pub(super) fn new(now: Time, delivered: Bytes, packets: f64) -> Self {
        Self { began: now, delivered, packets, before: None }
    }

    /// A round is over. Whether `packets` are a doubling that brought nothing.
    pub(super) fn is_none(&mut self, now: Time, delivered: Bytes, packets: f64) -> bool {
        if packets < 2.0 * self.packets {
            return false;
        }
        let rate = Rate::from_transfer(delivered.saturating_sub(self.delivered), now.since(self.began));
        let is_none = self.before.is_some_and(|before| rate < before.mul_f64(LEAST_GAIN));
        *self = Self { before: Some(rate), ..Self::new(now, delivered, packets) };
        is_none
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Span;

    /// Whether each of eight rounds of 100 ms, in which so many bytes more are delivered than in the one before, shows that nothing
    /// is gained; `1/delta` begins with two packets and grows by one.
    fn shows(more: u64) -> [bool; 8] {
        let mut now = Time::ZERO;
        let mut delivered = Bytes::ZERO;
        let mut gain = Gain::new(now, delivered, 2.0);
        std::array::from_fn(|round| {
            now += Span::from_millis(100);
            delivered += Bytes::new(10_000 + more * round as u64);
            gain.is_none(now, delivered, 3.0 + round as f64)
        })
    }

    #[test]
    fn nothing_is_gained_where_twice_the_packets_in_the_queue_bring_no_more_than_the_doubling_before() {
        // From two packets to four and from four to eight: the second doubling is held against the first.
        assert_eq!(shows(0), [false, false, false, false, false, true, false, false]);
        assert_eq!(shows(1_000), [false; 8]);
    }
}

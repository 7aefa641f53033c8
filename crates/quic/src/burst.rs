//! Holds bursts to the scheme's send quantum where noq's pacer would let more leave.
//!
//! noq's bucket holds ten packets or two milliseconds of the rate, ten milliseconds at most, whatever the quantum. That is
//! right for what a late timer missed. But it fills as well while the window or the application, not the rate, keeps
//! packets back, and before a scheme has a rate; then all of it leaves at once, and where a scheme paces at the link's
//! rate that burst stands in the link's queue for long. noq spills what a lower rate's bucket has no room for: after the
//! first packet of such a burst it is asked for the rate whose bucket holds what is left of the quantum, until the next.
//!
//! Only where the bucket is full beyond doubt: asked for a lower rate with less in it, noq would wait for the rest.

use cellcc_units::{Bytes, Rate, Span, Time};

/// noq's `TARGET_BURST_INTERVAL`.
const TARGET: Span = Span::from_millis(2);
/// noq's `MAX_BURST_INTERVAL`.
const MAX: Span = Span::from_millis(10);
/// noq's `MIN_BURST_SIZE` and `MAX_BURST_SIZE`, packets.
const PACKETS: (u64, u64) = (10, 256);

/// Where noq's bucket is full, and what of it is to be spilled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Burst {
    /// When the last packet left, and the rate asked for since; `None` while there is no rate: the bucket is full.
    last: Option<(Time, Rate)>,
    /// Something else than the rate has kept packets back since the last.
    was_kept_back: bool,
    /// What the bucket is to hold until the next packet leaves.
    rest: Option<Bytes>,
}

impl Default for Burst {
    fn default() -> Self {
        Self { last: None, was_kept_back: true, rest: None }
    }
}

impl Burst {
    /// The window or the application keeps packets back.
    pub(crate) fn on_kept_back(&mut self) {
        self.was_kept_back = true;
    }

    /// A packet leaves without a pacing rate.
    pub(crate) fn on_sent_unpaced(&mut self) {
        *self = Self::default();
    }

    /// A packet leaves at a rate of which `quantum` may leave at once. All amounts are payload; `packet`: a full one's.
    pub(crate) fn on_sent(&mut self, now: Time, payload: Bytes, rate: Rate, quantum: Bytes, packet: Bytes) {
        let capacity = capacity(rate, packet);
        let is_full = self.last.is_none_or(|(at, before)| {
            // Of rates and roundings in between twice the time is proof.
            rate.min(before).bytes_in(now.since(at)) >= capacity * 2
        });
        let rest = quantum.saturating_sub(payload).max(packet);
        let spills = std::mem::take(&mut self.was_kept_back) && is_full && capacity > payload + rest;
        self.rest = spills.then_some(rest);
        self.last = Some((now, self.rate(rate, packet)));
    }

    /// The rate to ask noq for where the next packet may leave at `rate`.
    pub(crate) fn rate(&self, rate: Rate, packet: Bytes) -> Rate {
        let Some(rest) = self.rest else { return rate };
        let interval = if rest > packet * PACKETS.0 { TARGET } else { MAX };
        Rate::from_transfer(rest, interval).min(rate)
    }
}

/// What noq's bucket holds at a rate (`rate_capacity`).
fn capacity(rate: Rate, packet: Bytes) -> Bytes {
    let target = rate.bytes_in(TARGET).max(packet * PACKETS.0).min(packet * PACKETS.1);
    rate.bytes_in(MAX).max(packet).min(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1472);
    const QUANTUM: Bytes = Bytes::new(2 * 1472);

    fn rate() -> Rate {
        Rate::from_mbit_per_sec(12.0)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_first_burst_is_a_quantum() {
        let mut burst = Burst::default();
        burst.on_sent(at(0), PACKET, rate(), QUANTUM, PACKET);
        let asked = burst.rate(rate(), PACKET);
        assert_eq!(capacity(asked, PACKET), PACKET, "one of two packets is left");
        burst.on_sent(at(0), PACKET, rate(), QUANTUM, PACKET);
        assert_eq!(burst.rate(rate(), PACKET), rate());
    }

    /// A burst of two packets, a pause, and whether the first packet after it has the bucket spilled.
    fn spills_after(pause_ms: u64, kept_back: bool) -> bool {
        let mut burst = Burst::default();
        for _ in 0..2 {
            burst.on_sent(at(0), PACKET, rate(), QUANTUM, PACKET);
        }
        if kept_back {
            burst.on_kept_back();
        }
        burst.on_sent(at(pause_ms), PACKET, rate(), QUANTUM, PACKET);
        burst.rate(rate(), PACKET) < rate()
    }

    #[test]
    fn what_gathered_behind_the_window_is_spilled_and_what_a_late_timer_missed_is_not() {
        assert!(spills_after(50, true));
        assert!(!spills_after(50, false));
    }

    #[test]
    fn a_bucket_that_may_not_be_full_is_left_alone() {
        assert!(!spills_after(10, true));
    }
}

//! Spreads packets over time.

use cellcc_units::{Bytes, Rate, Time};

/// A bucket that fills at the pacing rate, and from which whole packets leave. The next one waits as long as the rate says
/// at which the last left: a rate that rises meanwhile does not shorten that.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pacer {
    ready_at: Time,
}

impl Pacer {
    /// When the bucket is, or was, full enough for one packet.
    #[inline]
    pub fn ready_at(&self) -> Time {
        self.ready_at
    }

    /// `bytes` leave at `now`. A bucket that has been ready for a while holds `spare` beyond them, at most.
    #[inline]
    pub fn on_sent(&mut self, now: Time, bytes: Bytes, rate: Rate, spare: Bytes) {
        if self.ready_at < now {
            self.ready_at = self.ready_at.max(now - rate.time_for(spare));
        }
        self.ready_at += rate.time_for(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Span;

    const PACKET: Bytes = Bytes::new(1500);

    fn rate() -> Rate {
        Rate::from_mbit_per_sec(12.0)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// How many packets leave at once at `now`.
    fn burst(pacer: &mut Pacer, now: Time, spare: Bytes) -> usize {
        let leave = || {
            let is_ready = pacer.ready_at() <= now;
            is_ready.then(|| pacer.on_sent(now, PACKET, rate(), spare))
        };
        std::iter::from_fn(leave).count()
    }

    #[test]
    fn packets_leave_at_the_rate() {
        let mut pacer = Pacer::default();
        for ms in 0..10 {
            assert_eq!(burst(&mut pacer, at(ms), Bytes::ZERO), 1);
            assert_eq!(pacer.ready_at(), at(ms + 1));
        }
    }

    #[test]
    fn what_a_pause_has_filled_leaves_at_once_and_no_more() {
        let mut pacer = Pacer::default();
        assert_eq!(burst(&mut pacer, at(100), PACKET * 2), 3);
        assert_eq!(burst(&mut pacer, at(102), PACKET * 2), 2, "what has filled since");
    }
}

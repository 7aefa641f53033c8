//! Holds rates at which noq's pacer has room for one packet only.
//!
//! noq's bucket holds ten milliseconds of a slow rate, one packet at least. Where that is one packet, whatever a timer
//! fires late is lost: tokens beyond the packet spill. tokio's timers are up to a millisecond late, 8 % of the gap at
//! 1 Mbit/s. Here each packet has a due time by the rate alone, and what one leaves late the next is asked for earlier.

use cellcc_units::{Bytes, Rate, Span, Time};

/// noq's longest burst (its `MAX_BURST_INTERVAL`, 10 ms) less what a timer may be late, with a margin.
const BUCKET: Span = Span::from_millis(8);
/// No packet is asked for earlier than at this many times the rate: 2 ms of lateness in 10.
const MAX_GAIN: f64 = 1.25;

/// When the next packet is due by the rate alone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SlowPacing {
    due: Time,
}

impl SlowPacing {
    /// A packet leaves; `rate` counts its payload.
    pub(crate) fn on_sent(&mut self, now: Time, payload: Bytes, rate: Rate) {
        let gap = rate.time_for(payload);
        // Whoever had nothing to send for longer than a gap was not late.
        let begins = if now.since(self.due) > gap { now } else { self.due };
        self.due = begins + gap;
    }

    /// The rate to ask noq for after a packet that left at `sent_at`, so that the next full one leaves when it is due.
    pub(crate) fn rate(&self, sent_at: Time, payload: Bytes, rate: Rate) -> Rate {
        if rate.bytes_in(BUCKET) >= payload {
            return rate;
        }
        let left = self.due.since(sent_at).max(rate.mul_f64(MAX_GAIN).time_for(payload));
        Rate::from_transfer(payload, left).max(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: Bytes = Bytes::new(1250);

    fn rate(kbit_s: u64) -> Rate {
        Rate::from_bytes_per_sec(kbit_s * 125)
    }

    /// Sends `packets` the way noq does, each by a timer that fires `late`, and gives the time that it took.
    fn time_for(packets: u64, rate: Rate, late: Span) -> Span {
        let mut pacing = SlowPacing::default();
        let mut now = Time::ZERO;
        pacing.on_sent(now, PAYLOAD, rate);
        for _ in 0..packets {
            now = now + pacing.rate(now, PAYLOAD, rate).time_for(PAYLOAD) + late;
            pacing.on_sent(now, PAYLOAD, rate);
        }
        now.since(Time::ZERO)
    }

    #[test]
    fn late_timers_do_not_lower_a_slow_rate() {
        let ideal = Span::from_secs(10);
        for late in [Span::ZERO, Span::from_micros(500), Span::from_millis(1)] {
            let took = time_for(1000, rate(1000), late);
            assert!(took.abs_diff(ideal) <= Span::from_millis(2), "{late:?}: {took:?}");
        }
    }

    #[test]
    fn a_rate_with_room_in_the_bucket_is_left_alone() {
        let pacing = SlowPacing { due: Time::ZERO };
        assert_eq!(pacing.rate(Time::ZERO + Span::from_secs(1), PAYLOAD, rate(2000)), rate(2000));
    }

    #[test]
    fn a_pause_is_not_made_good() {
        let mut pacing = SlowPacing::default();
        pacing.on_sent(Time::ZERO, PAYLOAD, rate(1000));
        let later = Time::ZERO + Span::from_secs(5);
        pacing.on_sent(later, PAYLOAD, rate(1000));
        assert_eq!(pacing.rate(later, PAYLOAD, rate(1000)), rate(1000));
    }
}

//! Departure times of packets for a scheme that paces.
//!
//! The simulator's token bucket replaces noq's pacer wherever a task serves the flow between its acknowledgements. While
//! the bucket is empty, the window that noq sees equals the bytes in flight. noq's pacer has four faults: its bucket holds
//! ten packets whatever the scheme's quantum; it loses a byte or two with every acknowledgement; at slow rates it loses
//! the lateness of timers; and it releases three packets with every acknowledgement, in a system call of their own.
//!
//! ```text
//!           no packet is left in the bucket
//!     open ---------------------------------> closed
//!          <---------------------------------
//!           there is one (in virtual time), or what
//!           half a millisecond fills (in real time)
//! ```

use cellcc_control::{Limits, Pacer};
use cellcc_units::{Bytes, Span, Time};

/// The source of the flow's timer calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timers {
    /// No bucket: noq's pacer keeps the rate.
    #[default]
    None,
    /// A driver in virtual time, to the nanosecond.
    Exact,
    /// A task with the system's timers.
    System,
}

/// Packets of this time leave as one burst with the system's timers, which resolve one millisecond (tokio): they share
/// system calls.
const BURST_INTERVAL: Span = Span::from_micros(500);
/// Lateness of a timer that is made up for, at most, because it leaves in one burst: a timer fires up to two milliseconds
/// late, and this is twice that for a task that waits for a processor.
const MAX_CATCH_UP: Span = Span::from_millis(4);

impl Timers {
    /// The time whose packets leave as one burst.
    fn burst_interval(self) -> Span {
        if self == Self::System { BURST_INTERVAL } else { Span::ZERO }
    }

    /// The lateness that is made up for.
    fn max_catch_up(self) -> Span {
        if self == Self::System { MAX_CATCH_UP } else { Span::ZERO }
    }
}

/// A flow's pacing. All amounts count whole packets on the link.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pacing {
    timers: Timers,
    pacer: Pacer,
    /// `None`: open.
    closed_until: Option<Time>,
    /// Something other than the rate held packets back since the last one was sent: that time is not made up for.
    was_limited: bool,
}

impl Pacing {
    pub(crate) fn set_timers(&mut self, timers: Timers) {
        self.timers = timers;
    }

    /// The window or the application holds packets back.
    pub(crate) fn on_limited(&mut self) {
        self.was_limited = true;
    }

    /// A packet leaves; full ones have `packet` bytes.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: Bytes, limits: &Limits, packet: Bytes) {
        self.closed_until = None;
        let Some(rate) = limits.pacing_rate else { return };
        let late = if std::mem::take(&mut self.was_limited) {
            self.timers.burst_interval()
        } else {
            self.timers.max_catch_up()
        };
        let spare = limits.send_quantum.saturating_sub(packet).max(rate.bytes_in(late));
        self.pacer.on_sent(now, bytes, rate, spare);
        let ready_at = self.pacer.ready_at();
        if ready_at > now {
            self.closed_until =
                Some(ready_at + self.timers.burst_interval().saturating_sub(rate.time_for(packet)));
        }
    }

    pub(crate) fn on_time(&mut self, now: Time) {
        self.closed_until = self.closed_until.filter(|&until| until > now);
    }

    /// The time at which [`on_time`](Self::on_time) lets packets leave again; `None` if they may leave now.
    pub(crate) fn closed_until(&self, limits: &Limits) -> Option<Time> {
        self.closed_until.filter(|_| limits.pacing_rate.is_some() && !self.is_left_to_noq())
    }

    /// True if noq's pacer keeps the rate.
    pub(crate) fn is_left_to_noq(&self) -> bool {
        self.timers == Timers::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Rate;

    const PACKET: Bytes = Bytes::new(1500);

    /// A flow in which a packet lasts `packet_us`, with a quantum of two packets.
    struct Paced {
        pacing: Pacing,
        limits: Limits,
    }

    impl Paced {
        fn new(timers: Timers, packet_us: u64) -> Self {
            let rate = Rate::from_transfer(PACKET, Span::from_micros(packet_us));
            let mut pacing = Pacing::default();
            pacing.set_timers(timers);
            Self { pacing, limits: Limits::paced(Bytes::MAX, rate, PACKET * 2) }
        }

        /// The number of packets that leave at once at `now`.
        fn burst(&mut self, now: Time) -> usize {
            self.pacing.on_time(now);
            let leave = || {
                let is_open = self.pacing.closed_until(&self.limits).is_none();
                is_open.then(|| self.pacing.on_sent(now, PACKET, &self.limits, PACKET))
            };
            std::iter::from_fn(leave).count()
        }

        fn opens_at(&self) -> Time {
            self.pacing.closed_until(&self.limits).unwrap()
        }
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    #[test]
    fn in_virtual_time_packets_leave_one_by_one() {
        let mut flow = Paced::new(Timers::Exact, 10);
        assert_eq!(flow.burst(at(1000)), 2, "a quantum");
        for _ in 0..3 {
            let now = flow.opens_at();
            assert_eq!(flow.burst(now), 1);
            assert_eq!(flow.opens_at(), now + Span::from_micros(10));
        }
    }

    #[test]
    fn in_real_time_a_fast_flow_gathers_bursts_of_half_a_millisecond() {
        let mut flow = Paced::new(Timers::System, 10);
        flow.burst(at(100_000));
        for _ in 0..3 {
            let now = flow.opens_at();
            assert_eq!(flow.burst(now - Span::from_micros(1)), 0);
            assert_eq!(flow.burst(now), 50);
            assert_eq!(flow.opens_at(), now + BURST_INTERVAL);
        }
    }

    #[test]
    fn a_slow_flow_waits_for_a_packet_and_no_longer() {
        let mut flow = Paced::new(Timers::System, 5000);
        assert_eq!(flow.burst(at(100_000)), 2);
        assert_eq!(flow.opens_at(), at(105_000));
    }

    #[test]
    fn what_a_timer_is_late_is_made_good() {
        for packet_us in [10, 400, 3000, 12_000] {
            let mut flow = Paced::new(Timers::System, packet_us);
            let mut sent = flow.burst(at(100_000));
            for _ in 0..200 {
                sent += flow.burst(flow.opens_at() + Span::from_micros(1900));
            }
            let elapsed = flow.opens_at().since(at(100_000)).as_nanos() as f64;
            let ideal = elapsed / 1e3 / packet_us as f64;
            assert!(
                (sent as f64 / ideal - 1.0).abs() < 0.02,
                "{packet_us}: {sent} packets, {ideal} at the rate"
            );
        }
    }

    #[test]
    fn what_something_else_kept_back_does_not_leave_at_once() {
        let mut flow = Paced::new(Timers::System, 1000);
        flow.burst(at(100_000));
        flow.pacing.on_limited();
        assert_eq!(flow.burst(at(150_000)), 2, "a quantum");
        assert_eq!(flow.burst(at(200_000)), 5, "what four milliseconds fill, and the packet that is due");
    }

    #[test]
    fn a_scheme_that_paces_no_longer_does_not_wait_for_what_it_said_before() {
        let mut flow = Paced::new(Timers::System, 1000);
        flow.burst(at(100_000));
        flow.limits.pacing_rate = None;
        assert_eq!(flow.pacing.closed_until(&flow.limits), None);
    }

    #[test]
    fn a_flow_that_nobody_serves_is_never_closed() {
        let mut flow = Paced::new(Timers::System, 1000);
        flow.burst(at(100_000));
        flow.pacing.set_timers(Timers::None);
        assert_eq!(flow.pacing.closed_until(&flow.limits), None);
        assert!(flow.pacing.is_left_to_noq());
    }
}

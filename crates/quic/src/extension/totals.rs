//! Derives arrivals from totals: QUIC stacks report how much has arrived so far, not each packet.
//!
//! The loss of information for a receiver-side component: arrival times are spread evenly between two polls, so the edges of a
//! sample are off by up to one [`POLL_INTERVAL`](super::POLL_INTERVAL); packet sizes are means; and packet numbers count
//! arrivals, because QUIC's numbers stay in the stack. So no number is ever missing, and losses cannot be seen (RBBR's `bias`).

use cellcc_control::{Arrival, Ecn, ReceiverComponent, Signal, Verdict};
use cellcc_units::{Bytes, Span, Time};

/// A connection's totals so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// UDP datagrams received.
    pub received_datagrams: u64,
    /// Bytes of them on the link: with IP and UDP headers.
    pub received: Bytes,
    /// Upper bound of the bytes sent on the link: datagrams with the largest headers, because a translator on the path
    /// (RFC 6145) may turn IPv4 into IPv6.
    pub sent: Bytes,
}

/// Derives arrivals from totals.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    looked_at: Time,
    totals: Totals,
    /// Since the beginning.
    bytes: Bytes,
    count: u64,
}

/// Arrivals between two polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) bytes: Bytes,
    pub(super) datagrams: u64,
    /// The component's verdict on the signal that came with them.
    pub(super) signal: Option<Verdict>,
}

impl Arrivals {
    /// Counts from now on.
    pub(super) fn new(now: Time, totals: Totals) -> Self {
        Self { looked_at: now, totals, bytes: Bytes::ZERO, count: 0 }
    }

    /// Passes the arrivals since the last poll to `component`. The last packet also brings `signal`, which is taken then.
    pub(super) fn show(
        &mut self,
        now: Time,
        totals: Totals,
        component: &mut dyn ReceiverComponent,
        signal: &mut Option<Signal>,
    ) -> Arrived {
        let datagrams = totals.received_datagrams.saturating_sub(self.totals.received_datagrams);
        let bytes = totals.received.saturating_sub(self.totals.received);
        let elapsed = now.since(self.looked_at);
        let mut verdict = None;
        for index in 0..datagrams {
            if index + 1 == datagrams {
                verdict = signal.take().map(|signal| component.on_signal(&signal));
            }
            // Rounded so that the shares add up to the whole.
            let share = part(bytes.get(), index + 1, datagrams) - part(bytes.get(), index, datagrams);
            let after = Span::from_nanos(part(elapsed.as_nanos(), index + 1, datagrams));
            let arrival = Arrival::new(self.looked_at + after, self.count, Bytes::new(share), Ecn::NotEct);
            self.count += 1;
            self.bytes += arrival.bytes;
            component.on_user_arrivals(arrival.now, self.bytes);
            component.on_packet(&arrival);
        }
        self.looked_at = now;
        self.totals = totals;
        Arrived { bytes, datagrams, signal: verdict }
    }
}

/// `whole` times `index` over `count`, without overflow.
fn part(whole: u64, index: u64, count: u64) -> u64 {
    (u128::from(whole) * u128::from(index) / u128::from(count)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorder {
        arrivals: Vec<Arrival>,
        /// The number of packets that had arrived before each signal.
        signals: Vec<usize>,
    }

    impl ReceiverComponent for Recorder {
        fn on_packet(&mut self, arrival: &Arrival) {
            self.arrivals.push(*arrival);
        }

        fn on_signal(&mut self, _signal: &Signal) -> Verdict {
            self.signals.push(self.arrivals.len());
            Verdict::Taken
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn totals(received_datagrams: u64, received: u64) -> Totals {
        Totals { received_datagrams, received: Bytes::new(received), sent: Bytes::ZERO }
    }

    #[test]
    fn packets_lie_evenly_between_two_looks_and_add_up() {
        let mut arrivals = Arrivals::new(at(10), totals(7, 7000));
        let mut recorder = Recorder::default();
        let arrived = arrivals.show(at(16), totals(10, 11_000), &mut recorder, &mut None);
        assert_eq!(arrived, Arrived { bytes: Bytes::new(4000), datagrams: 3, signal: None });
        let seen: Vec<_> =
            recorder.arrivals.iter().map(|arrival| (arrival.now, arrival.bytes.get())).collect();
        assert_eq!(seen, [(at(12), 1333), (at(14), 1333), (at(16), 1334)]);
    }

    #[test]
    fn a_signal_comes_with_the_last_packet_and_waits_for_one() {
        let mut arrivals = Arrivals::new(at(0), totals(0, 0));
        let mut recorder = Recorder::default();
        let signal = Signal::new(&[1]);
        let mut pending = signal;
        arrivals.show(at(2), totals(0, 0), &mut recorder, &mut pending);
        assert_eq!(pending, signal);
        let arrived = arrivals.show(at(4), totals(2, 3000), &mut recorder, &mut pending);
        assert_eq!((pending, arrived.signal), (None, Some(Verdict::Taken)));
        assert_eq!((recorder.arrivals.len(), recorder.signals), (2, vec![1]));
    }

    #[test]
    fn totals_that_run_backwards_are_no_arrivals() {
        let mut arrivals = Arrivals::new(at(0), totals(5, 5000));
        let mut recorder = Recorder::default();
        assert_eq!(arrivals.show(at(2), totals(3, 3000), &mut recorder, &mut None).datagrams, 0);
        assert!(recorder.arrivals.is_empty());
    }
}

//! Arrivals from totals: QUIC stacks tell how much has come in so far, not each packet.
//!
//! What this costs a half: packets have the times that lie evenly between two looks, hence sampling edges are off by up
//! to one look's time ([`POLL`](super::POLL)); their sizes are the mean; and their numbers are a count of
//! what arrived, since QUIC's packet numbers do not leave the stack. A number that is missing would be a lost packet:
//! none ever is, so that what goes by losses (RBBR's `bias`) sees none.

use cellcc_control::{Arrival, ReceiverHalf, Signal};
use cellcc_units::{Bytes, Span, Time};

/// What has come in and gone out of a connection so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// UDP datagrams received.
    pub received_datagrams: u64,
    /// Bytes of them on the link: with IP and UDP headers.
    pub received: Bytes,
    /// The most that the link has carried for us: datagrams sent, with the largest headers, since a translator on the
    /// way (RFC 6145) may have made IPv6 of IPv4.
    pub sent: Bytes,
}

/// Makes arrivals of totals.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    looked_at: Time,
    totals: Totals,
    /// Since the beginning.
    bytes: Bytes,
    count: u64,
}

/// What arrived between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) bytes: Bytes,
    pub(super) datagrams: u64,
}

impl Arrivals {
    /// What has come in before does not count.
    pub(super) fn new(now: Time, totals: Totals) -> Self {
        Self { looked_at: now, totals, bytes: Bytes::ZERO, count: 0 }
    }

    /// Shows `half` what has arrived since the last look; the last packet of it brings `signal`, which is taken where
    /// there is one.
    pub(super) fn show(
        &mut self,
        now: Time,
        totals: Totals,
        half: &mut dyn ReceiverHalf,
        signal: &mut Option<Signal>,
    ) -> Arrived {
        let datagrams = totals.received_datagrams.saturating_sub(self.totals.received_datagrams);
        let bytes = totals.received.saturating_sub(self.totals.received);
        let elapsed = now.since(self.looked_at);
        for index in 0..datagrams {
            let is_last = index + 1 == datagrams;
            // Shares that add up to the whole.
            let share = part(bytes.get(), index + 1, datagrams) - part(bytes.get(), index, datagrams);
            let after = Span::from_nanos(part(elapsed.as_nanos(), index + 1, datagrams));
            let arrival = Arrival {
                now: self.looked_at + after,
                number: self.count,
                bytes: Bytes::new(share),
                signal: if is_last { signal.take() } else { None },
            };
            self.count += 1;
            self.bytes += arrival.bytes;
            half.on_user_arrivals(arrival.now, self.bytes);
            half.on_packet(&arrival);
        }
        self.looked_at = now;
        self.totals = totals;
        Arrived { bytes, datagrams }
    }
}

/// `whole` times `index` over `count`, without overflow.
fn part(whole: u64, index: u64, count: u64) -> u64 {
    (u128::from(whole) * u128::from(index) / u128::from(count)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Recorder(Vec<Arrival>);

    impl ReceiverHalf for Recorder {
        fn on_packet(&mut self, arrival: &Arrival) {
            self.0.push(*arrival);
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
        let mut half = Recorder::default();
        let arrived = arrivals.show(at(16), totals(10, 11_000), &mut half, &mut None);
        assert_eq!(arrived, Arrived { bytes: Bytes::new(4000), datagrams: 3 });
        let seen: Vec<_> = half.0.iter().map(|arrival| (arrival.now, arrival.bytes.get())).collect();
        assert_eq!(seen, [(at(12), 1333), (at(14), 1333), (at(16), 1334)]);
    }

    #[test]
    fn a_signal_comes_with_the_last_packet_and_waits_for_one() {
        let mut arrivals = Arrivals::new(at(0), totals(0, 0));
        let mut half = Recorder::default();
        let signal = Signal { estimation: cellcc_control::Estimation::Run, epoch: 1 };
        let mut pending = Some(signal);
        arrivals.show(at(2), totals(0, 0), &mut half, &mut pending);
        assert_eq!(pending, Some(signal));
        arrivals.show(at(4), totals(2, 3000), &mut half, &mut pending);
        assert_eq!(pending, None);
        assert_eq!(half.0.iter().map(|arrival| arrival.signal).collect::<Vec<_>>(), [None, Some(signal)]);
    }

    #[test]
    fn totals_that_run_backwards_are_no_arrivals() {
        let mut arrivals = Arrivals::new(at(0), totals(5, 5000));
        let mut half = Recorder::default();
        assert_eq!(arrivals.show(at(2), totals(3, 3000), &mut half, &mut None).datagrams, 0);
        assert!(half.0.is_empty());
    }
}

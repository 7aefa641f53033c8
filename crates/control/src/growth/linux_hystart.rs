//! HyStart as Linux has it: slow start that ends at the first sign of a queue.
//!
//! 1. From a window of 16 packets on, ACKs that follow each other within 2 ms are a train. One that lasts longer than half the
//!    minimum RTT ends slow start: the window fills the path.
//! 2. The first eight RTTs of a round that all lie an eighth (4 to 16 ms) above the minimum RTT end it, too.
//!
//! Source: Ha and Rhee, "Taming the elephants", Computer Networks 55(9), 2011; Linux 4.13: tcp_cubic.c, `hystart_update`, whose
//! clock counts milliseconds.
//!
//! Differences: none that is known. The newer HyStart++ is that of RFC 9406.

use crate::contract::Ack;
use cellcc_units::{Bytes, Span, Time};

/// `hystart_low_window`, in packets.
const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta`, in milliseconds.
const ACK_DELTA_MS: u64 = 2;
/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;

/// The state of a flow.
#[derive(Debug, Clone, Default)]
pub(super) struct LinuxHystart {
    round: Option<u64>,
    round_start_ms: u64,
    last_ack_ms: u64,
    samples: u32,
    round_min: Option<Span>,
}

impl LinuxHystart {
    /// An acknowledgement in slow start: true where it ends it.
    pub(super) fn leaves(&mut self, ack: &Ack<'_>, window: Bytes) -> bool {
        let now_ms = milliseconds(ack.now.since(Time::ZERO));
        if self.round.replace(ack.round) != Some(ack.round) {
            (self.round_start_ms, self.last_ack_ms) = (now_ms, now_ms);
            (self.samples, self.round_min) = (0, None);
        }
        let Some(sample) = ack.rtt_sample.filter(|_| window >= ack.packet_size * LOW_WINDOW) else {
            return false;
        };
        self.is_long_train(now_ms, ack.rtt.min()) || self.is_delayed(sample, ack.rtt.min())
    }

    fn is_long_train(&mut self, now_ms: u64, min_rtt: Span) -> bool {
        if now_ms - self.last_ack_ms > ACK_DELTA_MS {
            return false;
        }
        self.last_ack_ms = now_ms;
        now_ms - self.round_start_ms > milliseconds(min_rtt / 2)
    }

    fn is_delayed(&mut self, sample: Span, min_rtt: Span) -> bool {
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            self.round_min = Some(self.round_min.map_or(sample, |min| min.min(sample)));
            return false;
        }
        self.round_min.is_some_and(|min| min > min_rtt + super::hystart::threshold(min_rtt))
    }
}

fn milliseconds(span: Span) -> u64 {
    span.as_nanos() / Span::from_millis(1).as_nanos()
}

#[cfg(test)]
mod tests {
    use crate::growth::{Cubic, Growth, HystartMode};
    use crate::{Ack, Context, Rtt};
    use cellcc_units::{Bytes, Span, Time};

    const MS: Span = Span::from_millis(1);
    const PACKET: Bytes = Bytes::new(1500);

    /// CUBIC whose ACKs come this far apart, each of a packet, in rounds of 100; the window of each round's end, until slow start
    /// is over.
    fn windows(gap: Span, rtt_of_round: impl Fn(u64) -> Span) -> Vec<f64> {
        let context = Context { packet: PACKET, initial_window: PACKET * 20, seed: 1 };
        let mut cubic = Cubic::new(&context, HystartMode::Linux);
        let (mut rtt, mut now, mut windows) = (Rtt::default(), Time::ZERO, Vec::new());
        for number in 0..1000 {
            let round = number / 100;
            now += if number % 100 == 0 { MS * 100 } else { gap };
            let sample = rtt_of_round(round);
            rtt.add(sample);
            cubic.on_ack(&Ack {
                now,
                packets: &[],
                bytes: PACKET,
                rtt: &rtt,
                rtt_sample: Some(sample),
                rate: None,
                inflight_before: Bytes::ZERO,
                inflight: Bytes::ZERO,
                delivered: Bytes::ZERO,
                cwnd_limited: true,
                round,
                round_start: false,
                in_recovery: false,
                ecn: None,
                packet_size: PACKET,
            });
            if !cubic.in_slow_start() {
                windows.push(cubic.window().in_packets(PACKET));
                break;
            }
            if number % 100 == 99 {
                windows.push(cubic.window().in_packets(PACKET));
            }
        }
        windows
    }

    #[test]
    fn a_train_of_acks_that_is_longer_than_half_the_minimum_rtt_ends_slow_start() {
        // 21 ms after the first of the round, of 40 ms: the 22nd ACK.
        assert_eq!(windows(MS, |_| MS * 40), [20.0 + 22.0]);
        assert_eq!(windows(MS * 3, |_| MS * 40).len(), 10, "3 ms are no train");
        assert_eq!(windows(Span::ZERO, |_| MS * 40).len(), 10, "a burst is no train");
    }

    #[test]
    fn a_round_whose_first_eight_rtts_lie_an_eighth_above_the_minimum_ends_slow_start() {
        // The ninth decides.
        assert_eq!(windows(Span::ZERO, |round| MS * if round < 2 { 80 } else { 91 }), [120.0, 220.0, 229.0]);
        assert_eq!(windows(Span::ZERO, |round| MS * if round < 2 { 80 } else { 90 }).len(), 10);
    }
}

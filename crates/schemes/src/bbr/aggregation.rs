//! ACK aggregation: how much more than expected arrives at once, to be kept in flight besides the BDP, so that the sender
//! does not fall silent while the path holds ACKs back.

use cellcc_control::filters::WindowedMax;
use cellcc_units::{Bytes, Rate, Span, Time};

/// Rounds per slot. With two slots the maximum is that of the last 5 to 10 rounds (Linux `bbr_extra_acked_win_rtts`).
const SLOT_ROUNDS: u32 = 5;
/// Rounds of the exact filter (draft-ietf-ccwg-bbr, section 2.12, `ExtraAckedFilterLen`).
const FILTER_ROUNDS: u64 = 10;
/// The window grows by this much of the bandwidth at most (Linux `bbr_extra_acked_max_us`).
const MAX_SPAN: Span = Span::from_millis(100);
/// An epoch that has counted so many packets begins anew (Linux `bbr_ack_epoch_acked_reset_thresh`).
const MAX_EPOCH_PACKETS: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub(crate) struct Aggregation {
    max_epoch: Bytes,
    began: Time,
    acked: Bytes,
    largest: Largest,
}

/// The largest excess of the last rounds.
#[derive(Debug, Clone)]
enum Largest {
    /// Linux: two slots of rounds, and a limit in time.
    Slots { slots: [Bytes; 2], slot: usize, rounds: u32 },
    /// The draft of v3: exactly.
    Rounds { filter: WindowedMax<Bytes>, round: u64 },
}

impl Aggregation {
    pub(crate) fn new(packet: Bytes) -> Self {
        Self {
            max_epoch: packet * MAX_EPOCH_PACKETS,
            began: Time::ZERO,
            acked: Bytes::ZERO,
            largest: Largest::Slots { slots: [Bytes::ZERO; 2], slot: 0, rounds: 0 },
        }
    }

    /// The maximum of exactly ten rounds, without a limit in time.
    pub(crate) fn exact(packet: Bytes) -> Self {
        Self {
            largest: Largest::Rounds { filter: WindowedMax::new(FILTER_ROUNDS), round: 0 },
            ..Self::new(packet)
        }
    }

    /// Forgets all rounds of the exact filter but the present one.
    pub(crate) fn forget_rounds(&mut self) {
        if let Largest::Rounds { filter, .. } = &mut self.largest {
            *filter = WindowedMax::new(FILTER_ROUNDS);
        }
    }

    /// Full packets have another size.
    pub(crate) fn set_packet_size(&mut self, packet_size: Bytes) {
        self.max_epoch = packet_size * MAX_EPOCH_PACKETS;
    }

    /// `acked` bytes were acknowledged under an estimated bandwidth and a window.
    pub(crate) fn update(
        &mut self,
        now: Time,
        round_start: bool,
        acked: Bytes,
        bandwidth: Rate,
        window: Bytes,
    ) {
        if round_start {
            self.largest.start_round();
        }
        let mut expected = bandwidth.bytes_in(now.since(self.began));
        if self.acked <= expected || self.acked + acked >= self.max_epoch {
            self.restart(now);
            expected = Bytes::ZERO;
        }
        self.acked += acked;
        let extra = self.acked.saturating_sub(expected).min(window);
        self.largest.add(extra);
    }

    /// A new epoch begins.
    pub(crate) fn restart(&mut self, now: Time) {
        self.acked = Bytes::ZERO;
        self.began = now;
    }

    /// What to add to the window.
    pub(crate) fn extra(&self, bandwidth: Rate) -> Bytes {
        match &self.largest {
            Largest::Slots { slots: [one, other], .. } => {
                (*one).max(*other).min(bandwidth.bytes_in(MAX_SPAN))
            }
            Largest::Rounds { filter, .. } => filter.max().unwrap_or(Bytes::ZERO),
        }
    }
}

impl Largest {
    fn start_round(&mut self) {
        match self {
            Self::Slots { slots, slot, rounds } => {
                *rounds += 1;
                if *rounds >= SLOT_ROUNDS {
                    *rounds = 0;
                    *slot = 1 - *slot;
                    slots[*slot] = Bytes::ZERO;
                }
            }
            Self::Rounds { round, .. } => *round += 1,
        }
    }

    fn add(&mut self, extra: Bytes) {
        match self {
            Self::Slots { slots, slot, .. } => slots[*slot] = slots[*slot].max(extra),
            Self::Rounds { filter, round } => filter.add(*round, extra),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_in_bursts_show_as_the_size_of_a_burst_and_are_forgotten_after_ten_rounds() {
        let packet = Bytes::new(1000);
        let bandwidth = Rate::from_bytes_per_sec(1_000_000);
        let mut aggregation = Aggregation::new(packet);
        let mut now = Time::ZERO;
        for _ in 0..20 {
            now += Span::from_millis(10);
            aggregation.update(now, false, packet * 10, bandwidth, packet * 100);
        }
        assert_eq!(aggregation.extra(bandwidth), packet * 10);
        now += Span::from_millis(20);
        for _ in 0..10 {
            now += Span::from_millis(1);
            aggregation.update(now, true, packet, bandwidth, packet * 100);
        }
        assert_eq!(aggregation.extra(bandwidth), packet);
    }
}

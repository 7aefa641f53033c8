//! The loss handler's timers. A packet that the driver declares lost is a pending loss until its own timer expires: Verus
//! waits for reordered packets (paper, section 5.2). Only then it counts as lost.

use cellcc_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// A packet that the driver has declared lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingLoss {
    /// When it counts as lost.
    pub(super) expires_at: Time,
    /// The sending window on it, in packets.
    pub(super) window: u64,
    /// Its size.
    pub(super) bytes: Bytes,
}

/// The packets that have been declared lost and do not count as lost yet.
#[derive(Debug, Clone, Default)]
pub(super) struct PendingLosses {
    /// In the order in which they were declared lost; one waits for those before it where its own timer is shorter.
    packets: VecDeque<PendingLoss>,
}

impl PendingLosses {
    /// A packet of `bytes`, sent with `window`, was declared lost at `now`, and counts as lost after `timer`.
    pub(super) fn add(&mut self, now: Time, timer: Span, window: u64, bytes: Bytes) {
        self.packets.push_back(PendingLoss { expires_at: now + timer, window, bytes });
    }

    /// A packet whose timer has expired, oldest first; asked until there is none.
    pub(super) fn expire(&mut self, now: Time) -> Option<PendingLoss> {
        if self.packets.front()?.expires_at > now {
            return None;
        }
        self.packets.pop_front()
    }

    /// They arrived after all, or belong to what is given up. Gives their bytes.
    pub(super) fn forget(&mut self) -> Bytes {
        self.packets.drain(..).map(|packet| packet.bytes).sum()
    }
}

/// The share of packets that get lost, over about the last 128.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LossShare(f64);

impl LossShare {
    /// What one packet counts: enough packets that three losses in a row stand out from one in a hundred.
    const GAIN: f64 = 1.0 / 128.0;

    /// One more packet, arrived or lost.
    pub(super) fn add(&mut self, lost: bool) {
        self.0 += (f64::from(u8::from(lost)) - self.0) * Self::GAIN;
    }

    pub(super) fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_packet_counts_as_lost_once_its_timer_expires() {
        let mut pending = PendingLosses::default();
        pending.add(at(10), Span::from_millis(150), 30, Bytes::new(1500));
        pending.add(at(20), Span::from_millis(150), 31, Bytes::new(1500));
        assert_eq!(pending.expire(at(159)), None);
        assert_eq!(pending.expire(at(160)).map(|packet| packet.window), Some(30));
        assert_eq!(pending.expire(at(160)), None, "the second has ten more milliseconds");
        assert_eq!(pending.forget(), Bytes::new(1500));
    }

    #[test]
    fn three_losses_in_a_row_stand_out_from_one_in_a_hundred() {
        let mut share = LossShare::default();
        (1..=1000).for_each(|packet| share.add(packet % 100 == 0));
        assert!(share.get() < 0.02, "{}", share.get());
        (0..3).for_each(|_| share.add(true));
        assert!(share.get() > 0.02, "{}", share.get());
    }
}

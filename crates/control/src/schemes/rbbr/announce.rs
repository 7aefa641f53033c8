//! Tells the receiver whether the sender limits itself. The signal rides on data packets: at once where it changes, and
//! again every 20 ms, since packets are lost.

use crate::receiver::{Estimation, Signal};
use cellcc_units::{Span, Time};

/// A signal that was lost is made good within this time, less than an RTT of a cellular path (our choice).
const REPEAT: Span = Span::from_millis(20);

#[derive(Debug, Clone)]
pub(super) struct Announcer {
    signal: Signal,
    now: Time,
    told_at: Option<Time>,
}

impl Announcer {
    /// The first packet says that the flow limits itself.
    pub(super) fn new() -> Self {
        let signal = Signal { estimation: Estimation::Suspend, epoch: 0 };
        Self { signal, now: Time::ZERO, told_at: None }
    }

    /// What the receiver is to do from now on.
    pub(super) fn set(&mut self, now: Time, estimation: Estimation) {
        self.now = now;
        if estimation != self.signal.estimation {
            self.signal = Signal { estimation, epoch: self.signal.epoch.wrapping_add(1) };
            self.told_at = None;
        }
    }

    /// What the next packet is to say.
    pub(super) fn signal(&self) -> Option<Signal> {
        let is_due = self.told_at.is_none_or(|told_at| self.now.since(told_at) >= REPEAT);
        is_due.then_some(self.signal)
    }

    /// A packet left with this signal.
    pub(super) fn on_sent(&mut self, now: Time, signal: Option<Signal>) {
        self.now = now;
        if signal == Some(self.signal) {
            self.told_at = Some(now);
        }
    }

    /// The receiver estimates, and has not been told yet that it is not to.
    pub(super) fn has_to_tell(&self) -> bool {
        self.told_at.is_none() && self.signal.estimation == Estimation::Suspend
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_change_is_told_with_the_next_packet_and_again_every_20_ms() {
        let mut announcer = Announcer::new();
        let first = announcer.signal();
        assert_eq!(first, Some(Signal { estimation: Estimation::Suspend, epoch: 0 }));
        announcer.on_sent(at(1), first);
        announcer.set(at(20), Estimation::Suspend);
        assert_eq!(announcer.signal(), None);
        announcer.set(at(21), Estimation::Suspend);
        assert_eq!(announcer.signal(), first);
        announcer.set(at(22), Estimation::Run);
        assert_eq!(announcer.signal(), Some(Signal { estimation: Estimation::Run, epoch: 1 }));
        assert!(!announcer.has_to_tell(), "only a suspension has to come before its cause");
    }
}

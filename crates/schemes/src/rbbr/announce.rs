//! Tells the receiver whether the sender limits itself. The signal rides on data packets: at once where it changes, and
//! again every 20 ms, since packets are lost.

use super::wire::{Estimation, RateSignal};
use cellcc_control::Signal;
use cellcc_units::{Span, Time};

/// A signal that was lost is made good within this time, less than an RTT of a cellular path (our choice).
const REPEAT: Span = Span::from_millis(20);

#[derive(Debug, Clone)]
pub(super) struct Announcer {
    signal: RateSignal,
    /// The same as bytes.
    message: Signal,
    now: Time,
    reported_at: Option<Time>,
}

impl Announcer {
    /// The first packet says that the flow limits itself.
    pub(super) fn new() -> Self {
        let signal = RateSignal { estimation: Estimation::Suspend, epoch: 0 };
        Self { signal, message: signal.encode(), now: Time::ZERO, reported_at: None }
    }

    /// What the receiver is to do from now on.
    pub(super) fn set(&mut self, now: Time, estimation: Estimation) {
        self.now = now;
        if estimation != self.signal.estimation {
            self.signal = RateSignal { estimation, epoch: self.signal.epoch.wrapping_add(1) };
            self.message = self.signal.encode();
            self.reported_at = None;
        }
    }

    /// What the next packet is to say.
    pub(super) fn signal(&self) -> Option<Signal> {
        let is_due = self.reported_at.is_none_or(|reported_at| self.now.since(reported_at) >= REPEAT);
        is_due.then_some(self.message)
    }

    /// A packet left with this signal.
    pub(super) fn on_sent(&mut self, now: Time, signal: Option<Signal>) {
        self.now = now;
        if signal == Some(self.message) {
            self.reported_at = Some(now);
        }
    }

    /// The receiver estimates, and does not know yet that it is not to.
    pub(super) fn has_to_tell(&self) -> bool {
        self.reported_at.is_none() && self.signal.estimation == Estimation::Suspend
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_change_is_reported_with_the_next_packet_and_again_every_20_ms() {
        let mut announcer = Announcer::new();
        let first = announcer.signal();
        assert_eq!(first, Some(RateSignal { estimation: Estimation::Suspend, epoch: 0 }.encode()));
        announcer.on_sent(at(1), first);
        announcer.set(at(20), Estimation::Suspend);
        assert_eq!(announcer.signal(), None);
        announcer.set(at(21), Estimation::Suspend);
        assert_eq!(announcer.signal(), first);
        announcer.set(at(22), Estimation::Run);
        assert_eq!(announcer.signal(), Some(RateSignal { estimation: Estimation::Run, epoch: 1 }.encode()));
        assert!(!announcer.has_to_tell(), "only a suspension has to come before its cause");
    }
}

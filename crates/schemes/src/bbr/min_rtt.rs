//! The minimum RTT of the last ten seconds, and the time at a minimal window (ProbeRTT) that measures it anew.

use cellcc_control::Ack;
use cellcc_units::{Bytes, Span, Time};

/// How long a minimum is believed (draft section 4.1.2.1, `RTpropFilterLen`).
const FILTER: Span = Span::from_secs(10);
/// How long the window stays minimal: it costs 2 % of the time between two measurements (draft section 4.3.5).
const PROBE_DURATION: Span = Span::from_millis(200);

#[derive(Debug, Clone, Default)]
pub(super) struct MinRtt {
    value: Option<Span>,
    taken: Time,
}

impl MinRtt {
    /// Takes a sample; true where the old minimum had expired.
    pub(super) fn update(&mut self, now: Time, sample: Option<Span>) -> bool {
        let expired = self.value.is_some() && now > self.taken + FILTER;
        if let Some(sample) = sample.filter(|&sample| expired || self.value.is_none_or(|min| sample <= min)) {
            self.value = Some(sample);
            self.taken = now;
        }
        expired
    }

    /// The minimum has just been measured: it is good for another ten seconds.
    pub(super) fn confirm(&mut self, now: Time) {
        self.taken = now;
    }

    pub(super) fn get(&self) -> Option<Span> {
        self.value
    }
}

/// A stay in ProbeRTT.
#[derive(Debug, Clone, Default)]
pub(crate) struct Probe {
    /// Since the window's worth was in flight, and no more: until when to stay, and the round that has to pass.
    drained: Option<Drained>,
}

#[derive(Debug, Clone)]
struct Drained {
    until: Time,
    round_ends_at: Bytes,
    round_passed: bool,
}

impl Probe {
    /// An acknowledgement; true once the flow has stayed for 200 ms and a round at `window`.
    pub(crate) fn update(&mut self, ack: &Ack<'_>, window: Bytes) -> bool {
        match &mut self.drained {
            Some(drained) => {
                let newest = ack.packets.last();
                drained.round_passed |=
                    newest.is_some_and(|newest| newest.delivered >= drained.round_ends_at);
                drained.round_passed && ack.now > drained.until
            }
            None => {
                if ack.inflight <= window {
                    self.drained = Some(Drained {
                        until: ack.now + PROBE_DURATION,
                        round_ends_at: ack.delivered,
                        round_passed: false,
                    });
                }
                false
            }
        }
    }

    /// True where the 200 ms have passed while the flow was idle.
    pub(crate) fn is_over_after_idling(&self, now: Time) -> bool {
        self.drained.as_ref().is_some_and(|drained| now > drained.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimum_expires_after_ten_seconds_and_gives_way_to_any_sample() {
        let ms = Span::from_millis;
        let mut min = MinRtt::default();
        let at = |secs| Time::ZERO + Span::from_secs(secs);
        assert!(!min.update(at(1), Some(ms(20))));
        assert!(!min.update(at(5), Some(ms(30))));
        assert_eq!(min.get(), Some(ms(20)));
        assert!(!min.update(at(11), Some(ms(30))), "ten seconds, and not more");
        assert!(min.update(at(12), Some(ms(30))));
        assert_eq!(min.get(), Some(ms(30)));
    }
}

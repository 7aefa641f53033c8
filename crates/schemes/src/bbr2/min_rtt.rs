//! The minimum RTT of ten seconds, and when to look for a smaller one: five seconds after the last.

use cellcc_units::{Span, Time};

/// Draft section 2.14.1: how long the minimum is believed (`MinRTTFilterLen`).
const FILTER: Span = Span::from_secs(10);
/// Draft section 2.14.2: how long the flow goes without a smaller RTT before it looks for one (`ProbeRTTInterval`).
const PROBE_INTERVAL: Span = Span::from_secs(5);

/// A minimum, and when it was taken.
#[derive(Debug, Clone, Copy)]
struct Minimum {
    rtt: Span,
    taken: Time,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct MinRtt {
    /// Since the last look.
    recent: Option<Minimum>,
    min: Option<Minimum>,
}

impl MinRtt {
    /// Takes a sample; true where it is time to look for a smaller one.
    pub(crate) fn update(&mut self, now: Time, sample: Option<Span>) -> bool {
        let is_old = |min: Minimum, age: Span| now > min.taken + age;
        let expired = self.recent.is_some_and(|recent| is_old(recent, PROBE_INTERVAL));
        if let Some(rtt) = sample
            && (expired || self.recent.is_none_or(|recent| rtt < recent.rtt))
        {
            self.recent = Some(Minimum { rtt, taken: now });
        }
        if let Some(recent) = self.recent
            && self.min.is_none_or(|min| recent.rtt < min.rtt || is_old(min, FILTER))
        {
            self.min = Some(recent);
        }
        expired
    }

    /// The minimum has just been looked for.
    pub(crate) fn confirm(&mut self, now: Time) {
        if let Some(recent) = &mut self.recent {
            recent.taken = now;
        }
    }

    pub(crate) fn get(&self) -> Option<Span> {
        self.min.map(|min| min.rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_time_to_look_after_five_seconds_and_the_minimum_is_forgotten_after_ten() {
        let (ms, at) = (Span::from_millis, |secs| Time::ZERO + Span::from_secs(secs));
        let mut min = MinRtt::default();
        assert!(!min.update(at(1), Some(ms(20))));
        assert!(!min.update(at(6), Some(ms(30))));
        assert!(min.update(at(7), Some(ms(30))));
        assert_eq!(min.get(), Some(ms(20)));
        min.confirm(at(8));
        assert!(!min.update(at(12), Some(ms(40))));
        assert_eq!(min.get(), Some(ms(30)), "the least since the look");
    }
}

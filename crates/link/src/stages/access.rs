//! The uplink access delay of a packet that finds the phone silent.
//!
//! 1. A phone that has sent nothing for some time asks the base station for a grant, and may ask only once in a cycle.
//! 2. So the service of a packet that finds the queue empty, and the last departure more than `stays` ago, begins with the next
//!    request; after a longer silence the phone wakes up first.
//! 3. Packets that come meanwhile queue behind it. While data flow, grants go on without a request.
//!
//! ```text
//!   silent  -- a packet comes -->  asks: until the next request  -->  granted
//!     ^                                                                 |
//!     +---------------- nothing left for more than `stays` ------------+
//! ```
//!
//! It applies to the direction of the uplink: the reverse path of a download, the forward path of an upload. The constant part,
//! from the request to the transmission, is in the base RTT already.
//!
//! Source: pings of four operators (cycles of 10, 20 and 40 ms) and their first ping after a pause; `stays` is an assumption.
//! docs/evidence/radio.md has the numbers.

use crate::queue::text::{Notation, Part, part, part_in, parts_form};
use crate::texture::Random;
use cellcc_units::{Span, Time};

/// How a silent phone gets to send, as it is written: `request=20ms, stays=10ms, wake=15ms, wakes_after=1s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Time between two opportunities to ask for a grant.
    pub request: Span,
    /// So long after the last departure grants go on without a request.
    pub stays: Span,
    /// The additional wait of a packet after a longer silence; none: nothing.
    pub wake: Option<Span>,
    /// The silence that leads to it.
    pub wakes_after: Span,
}

impl Access {
    /// T-Mobile's cycle of 20 ms. That grants go on for 10 ms is an assumption: within a run those of an uplink are 2 ms apart
    /// in the median, and 12 ms at the 90th percentile. A first ping waits 14 to 18 ms more than others; the silence before it
    /// was between 0.2 and 2 s.
    pub const DEFAULT: Self = Self {
        request: Span::from_millis(20),
        stays: Span::from_millis(10),
        wake: None,
        wakes_after: Span::from_secs(1),
    };

    /// The longest that a packet waits.
    pub fn longest(&self) -> Span {
        self.request + self.wake.unwrap_or(Span::ZERO)
    }
}

impl Notation for Access {
    const NAME: &'static str = "access";
    const BASES: &'static [(&'static str, Self)] = &[("", Self::DEFAULT)];
    const PARTS: &'static [Part<Self>] = &[
        part_in("request=20ms", "", |own| &mut own.request, |own| !own.request.is_zero()),
        part("stays=10ms", |own| &mut own.stays),
        part_in("wake=15ms", "", |own| &mut own.wake, |own| own.wake.is_none_or(|span| !span.is_zero())),
        part_in("wakes_after=1s", "with `wake`", |own| &mut own.wakes_after, |_| true),
    ];

    fn contradiction(&self) -> Option<String> {
        let alone = self.wake.is_none() && self.wakes_after != Self::DEFAULT.wakes_after;
        alone.then(|| format!("wakes_after={}", self.wakes_after))
    }
}

parts_form!(
    Access,
    "request=20ms",
    "an uplink's access: `request=20ms, stays=10ms, wake=15ms, wakes_after=1s`"
);

/// The phone over time.
#[derive(Debug, Clone)]
pub(crate) struct AccessOverTime {
    access: Access,
    /// Phase of the first request.
    phase: Span,
    /// Departure of the last packet; `None` before the first.
    departed: Option<Time>,
    /// The begin of the service of the last request.
    begins: Time,
}

/// Keeps the draw apart from those of other parts of a link with the same seed.
const STREAM: u64 = 0x6163_6365_7373; // "access"

impl AccessOverTime {
    pub(crate) fn new(access: Access, seed: u64) -> Self {
        let phase = access.request.mul_f64(Random::new(seed ^ STREAM).uniform());
        Self { access, phase, departed: None, begins: Time::ZERO }
    }

    /// A packet comes at `now` into an empty queue.
    pub(crate) fn on_first(&mut self, now: Time) {
        let Access { request, stays, wake, wakes_after } = self.access;
        let is_longer_ago = |span: Span| self.departed.is_none_or(|departed| now > departed + span);
        if !is_longer_ago(stays) {
            return;
        }
        let wake = wake.filter(|_| is_longer_ago(wakes_after)).unwrap_or(Span::ZERO);
        self.begins = next_request(request, self.phase, now) + wake;
    }

    /// When the service of a packet may begin that came at `since`.
    pub(crate) fn ready(&self, since: Time) -> Time {
        since.max(self.begins)
    }

    /// A packet leaves, or will have left, at this time.
    pub(crate) fn on_departed(&mut self, departed_at: Time) {
        self.departed = Some(departed_at);
    }
}

/// The first opportunity to ask that is not before `now`.
fn next_request(request: Span, phase: Span, now: Time) -> Time {
    let since_begin = Span::from_nanos(now.as_nanos() % request.as_nanos());
    let next = if since_begin <= phase { phase } else { phase + request };
    now + next.saturating_sub(since_begin)
}

#[cfg(test)]
mod tests;

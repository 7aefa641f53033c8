//! Round-trip times: the last sample, the minimum, the smoothed mean and its variation (RFC 9002, section 5).

use cellcc_units::Span;
use serde::{Deserialize, Serialize};

/// The round-trip times of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rtt {
    pub(crate) latest: Option<Span>,
    pub(crate) min: Span,
    pub(crate) smoothed: Span,
    pub(crate) variation: Span,
}

impl Rtt {
    /// RTT assumed before the first sample (RFC 9002, section 6.2.2, `kInitialRtt`).
    pub const INITIAL: Span = Span::from_millis(333);

    /// Timer granularity (RFC 9002, section 6.1.2, `kGranularity`).
    pub const GRANULARITY: Span = Span::from_millis(1);

    /// No sample yet.
    pub(crate) const NONE: Self =
        Self { latest: None, min: Span::ZERO, smoothed: Span::ZERO, variation: Span::ZERO };

    /// Stands in an acknowledgement that serde has read, which borrows its RTTs.
    pub(crate) fn none() -> &'static Self {
        &Self::NONE
    }

    /// Measurements of another program.
    pub fn new(latest: Span, min: Span, smoothed: Span, variation: Span) -> Self {
        Self { latest: Some(latest), min, smoothed, variation }
    }

    /// Takes a sample.
    pub fn add(&mut self, sample: Span) {
        if self.latest.is_none() {
            *self = Self::new(sample, sample, sample, sample / 2);
            return;
        }
        self.latest = Some(sample);
        self.min = self.min.min(sample);
        self.variation = (self.variation * 3 + self.smoothed.abs_diff(sample)) / 4;
        self.smoothed = (self.smoothed * 7 + sample) / 8;
    }

    /// The last sample, if there was one.
    pub fn latest(&self) -> Option<Span> {
        self.latest
    }

    /// The smallest sample of the flow's life; [`Rtt::INITIAL`] before the first.
    pub fn min(&self) -> Span {
        if self.latest.is_some() { self.min } else { Self::INITIAL }
    }

    /// The exponentially weighted mean; [`Rtt::INITIAL`] before the first sample.
    pub fn smoothed(&self) -> Span {
        if self.latest.is_some() { self.smoothed } else { Self::INITIAL }
    }

    /// The exponentially weighted deviation; half of [`Rtt::INITIAL`] before the first sample.
    pub fn variation(&self) -> Span {
        if self.latest.is_some() { self.variation } else { Self::INITIAL / 2 }
    }

    /// The probe time-out before backing off, where the peer may take `max_ack_delay` to acknowledge (RFC 9002, section
    /// 6.2.1).
    pub fn probe_timeout(&self, max_ack_delay: Span) -> Span {
        self.smoothed() + (self.variation() * 4).max(Self::GRANULARITY) + max_ack_delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_sets_everything_and_later_ones_move_it_slowly() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.smoothed(), Rtt::INITIAL);
        rtt.add(Span::from_millis(80));
        assert_eq!((rtt.smoothed(), rtt.variation()), (Span::from_millis(80), Span::from_millis(40)));
        rtt.add(Span::from_millis(160));
        assert_eq!((rtt.min(), rtt.smoothed()), (Span::from_millis(80), Span::from_millis(90)));
        assert_eq!(rtt.variation(), Span::from_millis(50));
    }
}

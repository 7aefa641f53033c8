//! The scheme `fixed-rate`: a pacing rate that never changes.
//!
//! 1. Packets leave one by one at `rate`.
//! 2. Acknowledgements and losses change nothing.
//! 3. The window only keeps an outage or an overload from filling memory: ten seconds of the rate, and ten packets at
//!    least. On a link slower than the rate the queue grows until it drops, or until those ten seconds are in flight.
//!
//! It has one state. Source: none needed; a constant bit rate source without feedback.

use cellcc_control::{Ack, Context, Controller, Ecn, Limits, Loss, Parameter, SchemeInfo, kind};
use cellcc_units::{Rate, Span};

/// More than any RTT that a path with a sane buffer shows.
const WINDOW_SPAN: Span = Span::from_secs(10);

const RATE: Parameter<kind::Rate> = Parameter::new(
    "rate",
    kind::Rate,
    Rate::from_bytes_per_sec(1_250_000), // 10 Mbit/s
    "the rate at which packets leave, headers included",
    "a round number",
);
const ECT1: Parameter<kind::Switch> = Parameter::new(
    "ect1",
    kind::Switch,
    false,
    "packets carry ECT(1), although marks change nothing: a test of L4S queues",
    "RFC 9332, section 4.2",
);

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "fixed-rate",
        "a pacing rate that never changes",
        "a constant bit rate source",
        |arguments, context| {
            let ecn = if arguments.get(&ECT1) { Ecn::Ect1 } else { Ecn::NotEct };
            Box::new(FixedRate { ecn, ..FixedRate::new(arguments.get(&RATE), context) })
        },
    )
    .parameters(vec![RATE.into(), ECT1.into()])
}

/// A pacing rate that never changes.
#[derive(Debug, Clone)]
pub(crate) struct FixedRate {
    limits: Limits,
    ecn: Ecn,
}

impl FixedRate {
    /// Packets at `rate`.
    pub(crate) fn new(rate: Rate, context: &Context) -> Self {
        let window = rate.bytes_in(WINDOW_SPAN).max(context.packet * 10);
        Self { limits: Limits::paced(window, rate, context.packet), ecn: Ecn::NotEct }
    }
}

impl Controller for FixedRate {
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_loss(&mut self, _loss: &Loss<'_>) {}

    fn limits(&self) -> Limits {
        self.limits
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Path;
    use cellcc_units::{Rate, Span};

    fn path(link_mbit_per_sec: f64) -> Path {
        Path::new(
            "fixed-rate(rate=12Mbit/s)",
            Rate::from_mbit_per_sec(link_mbit_per_sec),
            Span::from_millis(20),
        )
    }

    #[test]
    fn a_faster_link_holds_one_rtt_of_the_rate_and_no_queue() {
        let mut path = path(120.0);
        path.run_for(Span::from_secs(1));
        assert!((20.0..=21.0).contains(&path.inflight()), "{}", path.inflight());
        assert!(path.queued() <= 1.0);
    }

    #[test]
    fn a_slower_link_gathers_ten_seconds_of_the_rate_and_no_more() {
        let mut path = path(6.0);
        path.run_for(Span::from_secs(10));
        assert!((4900.0..5100.0).contains(&path.queued()), "half of what was sent: {}", path.queued());
        path.run_for(Span::from_secs(50));
        assert_eq!(path.inflight(), 10_000.0);
    }
}

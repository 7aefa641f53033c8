//! The scheme `fixed-window`: a window that never changes.
//!
//! 1. `window` packets may be in flight, always.
//! 2. Nothing is paced: an acknowledgement releases a packet.
//! 3. Acknowledgements and losses change nothing.
//!
//! It has one state. Source: the sliding window of RFC 793, section 3.7. It shows what a path does to a known load:
//! a window of `n` packets over the bandwidth-delay product is a standing queue of `n` packets.

use cellcc_control::{Ack, Controller, Limits, Loss, Parameter, SchemeInfo, kind};
use cellcc_units::Bytes;

const WINDOW: Parameter<kind::Packets> = Parameter::new(
    "window",
    kind::Packets(1, 10_000_000),
    100,
    "packets in flight",
    "a round number: 60 Mbit/s at 20 ms",
);

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "fixed-window",
        "a window that never changes",
        "the sliding window of RFC 793",
        |arguments, context| Box::new(FixedWindow::new(context.packet * arguments.get(&WINDOW))),
    )
    .parameters(vec![WINDOW.into()])
}

/// A window that never changes.
#[derive(Debug, Clone)]
pub(crate) struct FixedWindow {
    window: Bytes,
}

impl FixedWindow {
    /// `window` bytes in flight.
    pub(crate) fn new(window: Bytes) -> Self {
        Self { window }
    }
}

impl Controller for FixedWindow {
    fn hears_departures(&self) -> bool {
        false
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_loss(&mut self, _loss: &Loss<'_>) {}

    fn limits(&self) -> Limits {
        Limits::window_only(self.window)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Path;
    use cellcc_units::{Rate, Span};

    #[test]
    fn what_exceeds_the_path_stands_in_the_queue() {
        // 20 packets per RTT.
        let mut path =
            Path::new("fixed-window(window=50pkt)", Rate::from_mbit_per_sec(12.0), Span::from_millis(20));
        path.run_for(Span::from_secs(1));
        path.drop_next(3);
        path.run_for(Span::from_secs(1));
        assert_eq!((path.inflight(), path.queued()), (50.0, 30.0));
    }
}

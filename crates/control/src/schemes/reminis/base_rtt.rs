//! The minimum RTT of the flow, which a new route may raise.

use crate::contract::Ack;
use cellcc_units::{Bytes, Span, Time};

/// Without a sample at or below the target for this long, the path is looked at. Our choice: many RTTs of any path that the
/// target makes sense for.
const PATIENCE: Span = Span::from_secs(1);
/// The window meanwhile, in packets: the Guardian's floor. A packet that leaves with less in flight meets no queue of its
/// own flow.
const PROBE_WINDOW_PACKETS: u64 = 2;
/// Samples of such packets that tell the new path's RTT: the smallest of them. Our choice: two round trips.
const PROBE_SAMPLES: u32 = 4;

/// The smallest RTT so far (paper, section 3.1), learnt anew where no sample comes down to the target for a second, and
/// packets that meet no queue of their own do not either.
#[derive(Debug, Clone, Copy)]
pub(super) struct BaseRtt {
    min: Span,
    /// Since the last sample at or below the target.
    above_since: Option<Time>,
    /// Samples of packets that were alone while probing: how many, and the smallest.
    alone: u32,
    alone_min: Span,
    probing: bool,
}

impl Default for BaseRtt {
    fn default() -> Self {
        Self { min: Span::MAX, above_since: None, alone: 0, alone_min: Span::MAX, probing: false }
    }
}

impl BaseRtt {
    pub(super) fn update(&mut self, ack: &Ack<'_>, sample: Span, target: Span) {
        self.min = self.min.min(sample);
        if target.is_zero() || sample <= target {
            self.restart();
            return;
        }
        let since = *self.above_since.get_or_insert(ack.now);
        self.probing = ack.now.since(since) > PATIENCE;
        let probe_window = ack.packet_size * PROBE_WINDOW_PACKETS;
        let was_alone = ack.packets.last().is_some_and(|newest| newest.inflight < probe_window);
        if self.probing && was_alone {
            self.alone += 1;
            self.alone_min = self.alone_min.min(sample);
        }
        if self.alone == PROBE_SAMPLES {
            self.min = self.alone_min;
            self.restart();
        }
    }

    fn restart(&mut self) {
        (self.above_since, self.alone, self.alone_min, self.probing) = (None, 0, Span::MAX, false);
    }

    /// The window while the path is looked at.
    pub(super) fn probe_window(&self, packet_size: Bytes) -> Option<Bytes> {
        self.probing.then_some(packet_size * PROBE_WINDOW_PACKETS)
    }

    pub(super) fn get(&self) -> Span {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Path;
    use cellcc_units::{Rate, Span};

    #[test]
    fn a_path_that_becomes_longer_than_the_target_is_learnt_anew() {
        let mut path = Path::new("reminis", Rate::from_mbit_per_sec(20.0), Span::from_millis(20));
        path.run_for(Span::from_secs(5));
        let before = path.shows("dtt").expect("a target");
        path.set_rtt(Span::from_millis(60));
        path.run_for(Span::from_secs(5));
        let after = path.shows("dtt").expect("a target");
        assert!(before < 32.0 && (90.0..95.0).contains(&after), "{before} ms, {after} ms");
    }

    #[test]
    fn a_queue_of_the_flows_own_making_is_not_another_path() {
        let mut path = Path::new("reminis", Rate::from_mbit_per_sec(20.0), Span::from_millis(20));
        path.run_for(Span::from_secs(60));
        assert!(path.shows("dtt").expect("a target") < 32.0);
    }
}

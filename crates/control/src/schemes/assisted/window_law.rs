//! The window law of NATCP (paper, equation 1): alpha x minRTT x BLBw / beta, paced at BLBw.

use super::parameters::{ALPHA, BURST, PACE, PACING_GAIN, Pace};
use crate::contract::{Context, Limits};
use crate::parameter::Arguments;
use crate::schemes::bbr::LOW_RATE;
use cellcc_units::{Bytes, Rate, Span};

/// A dead link keeps this window: one packet to find it alive again, and one for a delayed ACK.
const MIN_WINDOW_PACKETS: u64 = 2;

/// Makes a window and a pacing rate from advice.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowLaw {
    /// The size of a full packet.
    pub(super) packet_size: Bytes,
    /// The paper's alpha: windows of this many BDPs.
    pub(super) alpha: f64,
    /// Paces at this share of the bandwidth.
    pub(super) pacing_gain: f64,
    /// Paces at the flow's share of the bandwidth and not at the whole.
    pub(super) paces_at_share: bool,
    /// What the pacing rate carries in this time may leave at once.
    pub(super) burst: Span,
}

impl WindowLaw {
    /// The law of these arguments.
    pub(super) fn read(arguments: &Arguments, context: &Context) -> Self {
        Self {
            packet_size: context.packet,
            alpha: arguments.get(&ALPHA),
            pacing_gain: arguments.get(&PACING_GAIN),
            paces_at_share: arguments.get(&PACE) == Pace::Share,
            burst: arguments.get(&BURST),
        }
    }

    /// The limits for a bottleneck of `bandwidth` shared by `flows`. Zero bandwidth leaves two packets in flight and
    /// one per `min_rtt`: what the authors' code does there (no pacing, and the window of before) floods a dead link.
    pub(super) fn limits(&self, bandwidth: Rate, min_rtt: Span, flows: u32) -> Limits {
        let beta = f64::from(flows.max(1));
        let window = bandwidth.bytes_in(min_rtt).mul_f64(self.alpha / beta);
        let share = if self.paces_at_share { 1.0 / beta } else { 1.0 };
        let trickle = Rate::from_transfer(self.packet_size, min_rtt).max(Rate::from_bytes_per_sec(1));
        let rate = if bandwidth.is_zero() { trickle } else { bandwidth.mul_f64(self.pacing_gain * share) };
        let rate = rate.max(Rate::from_bytes_per_sec(1));
        // The authors' NATCP is Linux' BBR module: as there, packets leave in pairs but for the lowest rates.
        let least = if rate < LOW_RATE { self.packet_size } else { self.packet_size * 2 };
        let quantum = rate.bytes_in(self.burst).max(least);
        Limits::paced(window.max(self.packet_size * MIN_WINDOW_PACKETS), rate, quantum)
    }

    /// The same law with window and rate times `gain`: in a probe of the guard, or after one.
    pub(super) fn times(&self, gain: f64) -> Self {
        Self { alpha: self.alpha * gain, pacing_gain: self.pacing_gain * gain, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: WindowLaw = WindowLaw {
        packet_size: Bytes::new(1500),
        alpha: 2.0,
        pacing_gain: 1.0,
        paces_at_share: false,
        burst: Span::from_millis(1),
    };
    const MIN_RTT: Span = Span::from_millis(20);

    #[test]
    fn one_flow_has_two_bdps_paced_at_the_bandwidth() {
        let limits = LAW.limits(Rate::from_mbit_per_sec(12.0), MIN_RTT, 1);
        assert_eq!(limits.window, Bytes::new(60_000));
        assert_eq!(limits.pacing_rate, Some(Rate::from_mbit_per_sec(12.0)));
    }

    #[test]
    fn flows_share_the_window_and_by_the_switch_the_rate() {
        let bandwidth = Rate::from_mbit_per_sec(12.0);
        let limits = LAW.limits(bandwidth, MIN_RTT, 4);
        assert_eq!((limits.window, limits.pacing_rate), (Bytes::new(15_000), Some(bandwidth)));
        let limits = WindowLaw { paces_at_share: true, ..LAW }.limits(bandwidth, MIN_RTT, 4);
        assert_eq!(limits.pacing_rate, Some(Rate::from_mbit_per_sec(3.0)));
    }

    #[test]
    fn an_outage_leaves_two_packets_and_one_per_round_trip() {
        let limits = LAW.limits(Rate::ZERO, MIN_RTT, 1);
        assert_eq!(limits.window, Bytes::new(3000));
        assert_eq!(limits.pacing_rate, Some(Rate::from_transfer(LAW.packet_size, MIN_RTT)));
    }

    #[test]
    fn fast_and_long_paths_do_not_overflow() {
        // 20 ms x 107 Mbit/s overflows the authors' 32 bits.
        let limits = LAW.limits(Rate::from_mbit_per_sec(100_000.0), Span::from_secs(60), 1);
        assert_eq!(limits.window, Bytes::new(1_500_000_000_000));
        let limits = LAW.limits(Rate::MAX, Span::MAX, u32::MAX);
        assert!(limits.window >= LAW.packet_size * 2);
        assert!(LAW.limits(Rate::ZERO, Span::MAX, 0).pacing_rate.is_some_and(|rate| !rate.is_zero()));
    }
}

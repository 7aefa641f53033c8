//! The window law of NATCP (paper, equation 1): alpha x minRTT x BLBw / beta, paced at BLBw; that of the kernel, in the
//! contract's units.

use super::parameters::{BURST, config};
use crate::bbr::LOW_RATE;
use crate::kernel_view::micros_up;
use cellcc_control::{Arguments, Context, Limits};
use cellcc_fixed::BytesPerSecond;
use cellcc_fixed::assisted::{Advice, Config, Limits as Law, Path};
use cellcc_units::{Bytes, Rate, Span};

/// Makes a window and a pacing rate from advice.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowLaw {
    /// The size of a full packet.
    pub(super) packet_size: Bytes,
    pub(super) config: Config,
    /// What the pacing rate carries in this time may leave at once.
    pub(super) burst: Span,
}

/// The RTT as the flow itself has seen it; `None` before the first sample.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OwnRtt {
    pub(super) min: Option<Span>,
    pub(super) smoothed: Option<Span>,
}

impl WindowLaw {
    /// The law of these arguments.
    pub(super) fn read(arguments: &Arguments, context: &Context) -> Self {
        Self { packet_size: context.packet, config: config(arguments), burst: arguments.get(&BURST) }
    }

    /// The limits for a bottleneck of `bandwidth` shared by `flows`, whose minimum RTT is advised so.
    pub(super) fn limits(&self, bandwidth: Rate, min_rtt: Option<Span>, flows: u32, own: &OwnRtt) -> Limits {
        // Up: a window that is to hold just a packet more holds it.
        let up = |span: Option<Span>| span.map_or_else(Default::default, micros_up);
        // The report of a dead link has the packet's time of before the outage in it.
        let min_rtt = if bandwidth.is_zero() { own.min.or(min_rtt) } else { min_rtt };
        let advice = Advice {
            bandwidth: BytesPerSecond(bandwidth.as_bytes_per_sec()),
            min_rtt: up(min_rtt),
            flows,
            ..Advice::default()
        };
        let path = Path {
            min_rtt: up(own.min),
            rtt: up(own.smoothed),
            packet_bytes: u32::try_from(self.packet_size.get()).unwrap_or(u32::MAX),
            ..Path::default()
        };
        let law = Law::advised(&self.config, &advice, &path);
        let rate = Rate::from_bytes_per_sec(law.pacing.0);
        // The authors' NATCP is Linux' BBR module: as there, packets leave in pairs but for the lowest rates.
        let least = if rate < LOW_RATE { self.packet_size } else { self.packet_size * 2 };
        Limits::paced(self.packet_size * u64::from(law.cwnd.0), rate, rate.bytes_in(self.burst).max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSEEN: OwnRtt = OwnRtt { min: None, smoothed: None };
    const MIN_RTT: Option<Span> = Some(Span::from_millis(20));

    fn law() -> WindowLaw {
        WindowLaw { packet_size: Bytes::new(1500), config: Config::default(), burst: Span::from_millis(1) }
    }

    #[test]
    fn one_flow_has_two_bdps_paced_at_the_bandwidth() {
        let limits = law().limits(Rate::from_mbit_per_sec(12.0), MIN_RTT, 1, &UNSEEN);
        assert_eq!(limits.window, Bytes::new(60_000));
        assert_eq!(limits.pacing_rate, Some(Rate::from_mbit_per_sec(12.0)));
    }

    #[test]
    fn two_bdps_of_just_so_many_packets_hold_them() {
        // 62 packets and a few bytes; the minimum RTT rounded down to a microsecond would make it 61.
        let limits =
            law().limits(Rate::from_mbit_per_sec(36.0), Some(Span::from_nanos(10_333_334)), 1, &UNSEEN);
        assert_eq!(limits.window, Bytes::new(62 * 1500));
    }

    #[test]
    fn flows_share_the_window_and_by_the_switch_the_rate() {
        let bandwidth = Rate::from_mbit_per_sec(12.0);
        let limits = law().limits(bandwidth, MIN_RTT, 4, &UNSEEN);
        assert_eq!((limits.window, limits.pacing_rate), (Bytes::new(15_000), Some(bandwidth)));
        let shared = WindowLaw { config: Config { paces_at_share: true, ..Config::default() }, ..law() };
        let limits = shared.limits(bandwidth, MIN_RTT, 4, &UNSEEN);
        assert_eq!(limits.pacing_rate, Some(Rate::from_mbit_per_sec(3.0)));
    }

    #[test]
    fn an_outage_leaves_two_packets_and_one_per_round_trip() {
        let limits = law().limits(Rate::ZERO, MIN_RTT, 1, &UNSEEN);
        assert_eq!(limits.window, Bytes::new(3000));
        assert_eq!(limits.pacing_rate, Some(Rate::from_transfer(law().packet_size, Span::from_millis(20))));
    }

    #[test]
    fn fast_and_long_paths_do_not_overflow() {
        // 20 ms x 107 Mbit/s overflows the authors' 32 bits.
        let limits = law().limits(Rate::from_mbit_per_sec(100_000.0), Some(Span::from_secs(60)), 1, &UNSEEN);
        assert_eq!(limits.window, Bytes::new(1_500_000_000_000));
        let limits = law().limits(Rate::MAX, Some(Span::MAX), u32::MAX, &UNSEEN);
        assert!(limits.window >= law().packet_size * 2);
        assert!(
            law()
                .limits(Rate::ZERO, Some(Span::MAX), 0, &UNSEEN)
                .pacing_rate
                .is_some_and(|rate| !rate.is_zero())
        );
    }
}

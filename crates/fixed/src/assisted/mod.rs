//! NATCP, and its cap on other schemes: limits from the network's report about a user's bottleneck.
//!
//! 1. Advice arrives once per period (50 ms): the bottleneck's bandwidth BLBw, the minimum RTT, the flows (beta).
//! 2. NATCP: window = alpha x minRTT x BLBw / beta, paced at BLBw. Losses and RTTs change nothing.
//! 3. NACubic, and BBR with network assistance: the window and rate of CUBIC and of BBR, capped to NATCP's.
//! 4. Without advice for some periods the scheme's own limits apply. After that, two reports in a row are needed.
//!
//! Source: S. Abbasloo, Y. Xu, H. J. Chao, H. Shi, U. C. Kozat, Y. Ye, "Toward Optimal Performance with Network
//! Assisted TCP at Mobile Edge", HotEdge 2019, section 2.2.2. The differences from the paper, and their reasons, are in
//! `crates/schemes/src/assisted`, where the schemes are registered.

mod freshness;
mod minimum;
pub mod step;

pub use freshness::Freshness;
pub use minimum::Minimum;

use crate::number::product;
use crate::step::mirror;
use crate::{BytesPerSecond, Instant, Micros, Packets, Q16};

/// The window on a dead link: one packet to find it alive again, and one for a delayed ACK.
const MIN_WINDOW: Packets = Packets(2);
/// The RTT while none is known: a delivery rate needs one (as 1 ms in Linux's `bbr_init_pacing_rate_from_rtt`).
const NOMINAL_RTT: Micros = Micros(1_000);
const MICROS_PER_SECOND: u64 = 1_000_000;

mirror! {
    /// The network's report about a user's bottleneck; also the value of the kernel's map `advice_1`.
    #[derive(Default)]
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct Advice as advice {
        /// The bandwidth of all the user's flows together (BLBw).
        pub bandwidth: BytesPerSecond,
        /// The end of the measured period on the sender's clock; in the kernel CLOCK_MONOTONIC.
        pub measured_at as measured_at_us: Instant,
        /// The minimum RTT; zero where the network does not report it.
        pub min_rtt as min_rtt_us: Micros,
        /// The time between two reports.
        pub period as period_us: Micros,
        /// The number of the user's flows (beta); zero counts as one.
        pub flows: u32,
        /// Padding, zero.
        pub reserved: u32,
    }
}

mirror! {
    /// The sender's view of its path.
    #[derive(Default)]
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct Path as path {
        /// The current time.
        pub now as now_us: Instant,
        /// The sender's minimum RTT; zero while unknown.
        pub min_rtt as min_rtt_us: Micros,
        /// The smoothed RTT plus four times its variation (RFC 9002, section 6.2.1).
        pub probe_timeout as probe_timeout_us: Micros,
        /// The size of a full packet in bytes.
        pub packet_bytes: u32,
        /// The smoothed RTT; zero while unknown.
        pub rtt as rtt_us: Micros,
    }
}

/// The settings of NATCP and of its cap.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The window in bandwidth-delay products.
    pub alpha: Q16,
    /// The pacing rate as a multiple of the bandwidth.
    pub pacing_gain: Q16,
    /// Periods without advice until the scheme's own limits apply.
    pub timeout_periods: Q16,
    /// Pacing at the flow's share of the bandwidth instead of all of it.
    pub paces_at_share: bool,
}

impl Default for Config {
    /// The paper's window and rate (section 2.2.2). The time-out is ours: it survives five lost reports in a row.
    fn default() -> Self {
        Self {
            alpha: Q16(2 << 16),
            pacing_gain: Q16::ONE,
            timeout_periods: Q16(6 << 16),
            paces_at_share: false,
        }
    }
}

/// Limits of a sender.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The rate at which packets may leave.
    pub pacing: BytesPerSecond,
    /// Packets that may be in flight.
    pub cwnd: Packets,
}

impl Limits {
    /// NATCP's limits for advice that is followed, with the window of this minimum RTT ([`Minimum`]; zero: the nominal one).
    ///
    /// With two packets in flight the rate is at least one packet per RTT. A packet that came back in that time shows
    /// that the link carries as much, and two packets fill no queue. The authors' code at a bandwidth of zero (no
    /// pacing, and the previous window) floods a dead link.
    #[inline(always)]
    pub fn advised(config: &Config, advice: &Advice, path: &Path, min_rtt: Micros) -> Self {
        let min_rtt = or(min_rtt, NOMINAL_RTT);
        let (bandwidth, beta) = (advice.bandwidth.0, advice.flows.max(1) as u64);
        let bdp = product(bandwidth, min_rtt.0).checked_div(MICROS_PER_SECOND).unwrap_or(0);
        let bytes = config.alpha.of(bdp).checked_div(beta).unwrap_or(0);
        let cwnd = bytes.checked_div(path.packet_bytes as u64).unwrap_or(0).min(u32::MAX as u64) as u32;
        let cwnd = Packets(cwnd).max(MIN_WINDOW);
        let share = if config.paces_at_share { beta } else { 1 };
        let rate = config.pacing_gain.of(bandwidth).checked_div(share).unwrap_or(0);
        // In an outage the smoothed RTT includes the wait for its end.
        let rtt = if bandwidth == 0 { min_rtt } else { or(path.rtt, min_rtt) };
        let per_rtt = (path.packet_bytes as u64 * MICROS_PER_SECOND).checked_div(rtt.0 as u64).unwrap_or(0);
        let least = if cwnd == MIN_WINDOW { per_rtt } else { 1 };
        Self { pacing: BytesPerSecond(rate.max(least).max(1)), cwnd }
    }

    /// Caps these limits to `cap`: NACubic, and BBR with network assistance.
    #[inline(always)]
    pub fn capped(self, cap: Self) -> Self {
        Self { pacing: self.pacing.min(cap.pacing), cwnd: self.cwnd.min(cap.cwnd) }
    }
}

#[inline(always)]
fn or(known: Micros, otherwise: Micros) -> Micros {
    if known == Micros::ZERO { otherwise } else { known }
}

/// The state of one flow: the freshness of its advice, and its minimum RTT.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub struct Assisted {
    freshness: Freshness,
    minimum: Minimum,
}

impl Assisted {
    /// The state of a new flow.
    pub const START: Self = Self { freshness: Freshness::START, minimum: Minimum::START };

    /// Takes an acknowledgement with the newest advice. Where that is to be followed, sets `limits` to NATCP's and
    /// returns true; otherwise leaves them unchanged and returns false.
    #[inline(always)]
    pub fn on_ack(&mut self, config: &Config, advice: &Advice, path: &Path, limits: &mut Limits) -> bool {
        let follows = self.follows(config, advice, path);
        if follows {
            *limits = self.advised(config, advice, path);
        }
        follows
    }

    /// Like [`on_ack`](Self::on_ack), but caps `limits`, those of the capped scheme, to NATCP's.
    #[inline(always)]
    pub fn cap_on_ack(&mut self, config: &Config, advice: &Advice, path: &Path, limits: &mut Limits) -> bool {
        let follows = self.follows(config, advice, path);
        if follows {
            *limits = limits.capped(self.advised(config, advice, path));
        }
        follows
    }

    #[inline(always)]
    fn advised(&mut self, config: &Config, advice: &Advice, path: &Path) -> Limits {
        let min_rtt = self.minimum.rtt(config, advice.min_rtt, path);
        Limits::advised(config, advice, path, min_rtt)
    }

    #[inline(always)]
    fn follows(&mut self, config: &Config, advice: &Advice, path: &Path) -> bool {
        self.freshness.expire(path.now);
        if self.freshness.is_news(advice) {
            self.freshness.on_advice(config, advice, path);
        }
        self.freshness.is_following()
    }
}

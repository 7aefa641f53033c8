//! NATCP and what caps another scheme to it: limits of what the network says of a user's bottleneck.
//!
//! 1. Once a period (50 ms) advice comes: the bottleneck's bandwidth BLBw, the minimum RTT, how many flows share it (beta).
//! 2. NATCP: window = alpha x minRTT x BLBw / beta, paced at BLBw. Losses and RTTs change nothing.
//! 3. NACubic, and BBR with network assistance: the window and rate of CUBIC and of BBR, capped to those of NATCP.
//! 4. Without advice for some periods the scheme's own limits hold. After that two reports in a row are needed.
//!
//! Source: S. Abbasloo, Y. Xu, H. J. Chao, H. Shi, U. C. Kozat, Y. Ye, "Toward Optimal Performance with Network Assisted
//! TCP at Mobile Edge", HotEdge 2019, section 2.2.2. What differs from the paper, and why, is said where the schemes are
//! registered: `crates/schemes/src/assisted`.

mod freshness;
pub mod step;

pub use freshness::Freshness;

use crate::number::product;
use crate::step::mirror;
use crate::{BytesPerSecond, Instant, Micros, Packets, Q16};

/// A dead link keeps this window: one packet to find it alive again, and one for a delayed ACK.
const MIN_WINDOW: Packets = Packets(2);
/// The RTT while none is known: a delivery rate needs one (`bbr_init_pacing_rate_from_rtt` of Linux takes 1 ms, too).
const NOMINAL_RTT: Micros = Micros(1_000);
const MICROS_PER_SECOND: u64 = 1_000_000;

mirror! {
    /// What the network says of a user's bottleneck: the value of the kernel's map `advice_1`, too.
    #[derive(Default)]
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct Advice as advice {
        /// Of all the user's flows together (BLBw).
        pub bandwidth: BytesPerSecond,
        /// When the period that it is of ended, on the sender's clock; the kernel's is CLOCK_MONOTONIC.
        pub measured_at as measured_at_us: Instant,
        /// The minimum RTT; zero where the network does not tell.
        pub min_rtt as min_rtt_us: Micros,
        /// Between two reports.
        pub period as period_us: Micros,
        /// The user's flows (beta); none counts as one.
        pub flows: u32,
        /// Zero.
        pub reserved: u32,
    }
}

mirror! {
    /// What the sender knows of its path.
    #[derive(Default)]
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct Path as path {
        /// The time.
        pub now as now_us: Instant,
        /// Its own minimum RTT; zero for unknown.
        pub min_rtt as min_rtt_us: Micros,
        /// The smoothed RTT and four times its variation (RFC 9002, section 6.2.1).
        pub probe_timeout as probe_timeout_us: Micros,
        /// The size of a full packet in bytes.
        pub packet_bytes: u32,
        /// Its smoothed RTT; zero for unknown.
        pub rtt as rtt_us: Micros,
    }
}

/// What can be set.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Windows of this many bandwidth-delay products.
    pub alpha: Q16,
    /// Paces at this share of the bandwidth.
    pub pacing_gain: Q16,
    /// Periods without advice until the scheme's own limits hold.
    pub timeout_periods: Q16,
    /// Paces at the flow's share of the bandwidth and not at the whole.
    pub paces_at_share: bool,
}

impl Default for Config {
    /// The paper's window and rate (section 2.2.2); the time-out is ours: five reports lost in a row are outlasted.
    fn default() -> Self {
        Self {
            alpha: Q16(2 << 16),
            pacing_gain: Q16::ONE,
            timeout_periods: Q16(6 << 16),
            paces_at_share: false,
        }
    }
}

/// A window and a pacing rate.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The rate at which packets may leave.
    pub pacing: BytesPerSecond,
    /// Packets that may be in flight.
    pub cwnd: Packets,
}

impl Limits {
    /// NATCP's, of advice that is followed. The minimum RTT is no less than the path's own: nothing comes back sooner, whatever
    /// the network says.
    ///
    /// With two packets in flight the rate is a packet per RTT at least. A packet that came back in that time shows that the link
    /// carries as much, and two packets fill no queue. What the authors' code does at a bandwidth of zero (no pacing, and the window of
    /// before) floods a dead link.
    #[inline(always)]
    pub fn advised(config: &Config, advice: &Advice, path: &Path) -> Self {
        let min_rtt = or(advice.min_rtt.max(path.min_rtt), NOMINAL_RTT);
        let (bandwidth, beta) = (advice.bandwidth.0, advice.flows.max(1) as u64);
        let bdp = product(bandwidth, min_rtt.0).checked_div(MICROS_PER_SECOND).unwrap_or(0);
        let bytes = config.alpha.of(bdp).checked_div(beta).unwrap_or(0);
        let cwnd = bytes.checked_div(path.packet_bytes as u64).unwrap_or(0).min(u32::MAX as u64) as u32;
        let cwnd = Packets(cwnd).max(MIN_WINDOW);
        let share = if config.paces_at_share { beta } else { 1 };
        let rate = config.pacing_gain.of(bandwidth).checked_div(share).unwrap_or(0);
        // In an outage the RTT is that of packets that waited for its end.
        let rtt = if bandwidth == 0 { min_rtt } else { or(path.rtt, min_rtt) };
        let per_rtt = (path.packet_bytes as u64 * MICROS_PER_SECOND).checked_div(rtt.0 as u64).unwrap_or(0);
        let least = if cwnd == MIN_WINDOW { per_rtt } else { 1 };
        Self { pacing: BytesPerSecond(rate.max(least).max(1)), cwnd }
    }

    /// These limits, and no more than `cap`: NACubic, and BBR with network assistance.
    #[inline(always)]
    pub fn capped(self, cap: Self) -> Self {
        Self { pacing: self.pacing.min(cap.pacing), cwnd: self.cwnd.min(cap.cwnd) }
    }
}

#[inline(always)]
fn or(known: Micros, otherwise: Micros) -> Micros {
    if known == Micros::ZERO { otherwise } else { known }
}

/// The state of one flow: whether there is advice to follow.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub struct Assisted {
    freshness: Freshness,
}

impl Assisted {
    /// A flow at its beginning.
    pub const START: Self = Self { freshness: Freshness::START };

    /// An acknowledgement, with the newest advice there is: NATCP's limits where it is to be followed.
    ///
    /// True where `limits` are NATCP's; otherwise they are as they were.
    #[inline(always)]
    pub fn on_ack(&mut self, config: &Config, advice: &Advice, path: &Path, limits: &mut Limits) -> bool {
        let follows = self.follows(config, advice, path);
        if follows {
            *limits = Limits::advised(config, advice, path);
        }
        follows
    }

    /// The same, with `limits` as those of the scheme that is capped.
    #[inline(always)]
    pub fn cap_on_ack(&mut self, config: &Config, advice: &Advice, path: &Path, limits: &mut Limits) -> bool {
        let follows = self.follows(config, advice, path);
        if follows {
            *limits = limits.capped(Limits::advised(config, advice, path));
        }
        follows
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

//! The kernel's units as types: each is the integer that C sees.

/// A point in time: microseconds of a clock that never goes back, as `tcp_mstamp`. Range 0 to 584,000 years.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Instant(pub u64);

/// A duration in microseconds, such as an RTT. Range 0 to 71 minutes.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Micros(pub u32);

/// A count of packets of full size (segments), as `snd_cwnd`.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Packets(pub u32);

/// Bytes per second, as `sk_pacing_rate`.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct BytesPerSecond(pub u64);

impl Instant {
    /// The point `span` later; saturates.
    #[inline(always)]
    pub const fn after(self, span: Micros) -> Self {
        Self(self.0.saturating_add(span.0 as u64))
    }

    /// The span from `earlier` to this point: zero where `earlier` is later, and at most 71 minutes.
    #[inline(always)]
    pub const fn since(self, earlier: Self) -> Micros {
        let micros = self.0.saturating_sub(earlier.0);
        Micros(if micros > u32::MAX as u64 { u32::MAX } else { micros as u32 })
    }
}

impl Micros {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The longest span; means "unknown" where a minimum is kept.
    pub const MAX: Self = Self(u32::MAX);

    /// The sum; saturates.
    #[inline(always)]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Packets {
    /// The kernel's slow-start threshold before the first loss (`TCP_INFINITE_SSTHRESH`).
    pub const INFINITE_SSTHRESH: Self = Self(0x7fff_ffff);
}

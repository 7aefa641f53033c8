//! Events of a flow and the sender's window, in the kernel's units.

use crate::layout::mirror;
use crate::{Instant, Micros, Packets};

/// An acknowledgement of new data.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ack {
    /// The time of arrival.
    pub now: Instant,
    /// The RTT sample; zero without one.
    pub rtt: Micros,
    /// Packets delivered since the flow began, including these. Wraps like the kernel's `delivered`.
    pub delivered: Packets,
    /// The value of `delivered` when the newest of these packets was sent.
    pub delivered_at_send: Packets,
    /// The window, not the application, limits the flow.
    pub cwnd_limited: bool,
    /// Packets were declared lost since the previous acknowledgement.
    pub lost: bool,
}

impl Ack {
    /// Packets in flight when the newest one was sent, including itself, less those lost since.
    #[inline(always)]
    pub(crate) const fn inflight_at_send(&self) -> Packets {
        Packets(self.delivered.0.wrapping_sub(self.delivered_at_send.0))
    }
}

mirror! {
    /// A congestion window and its slow-start threshold.
    #[derive(Default)]
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct Window as window {
        /// Packets that may be in flight.
        pub cwnd: Packets,
        /// Below it the window doubles per round trip; [`Packets::INFINITE_SSTHRESH`] before the first loss.
        pub ssthresh: Packets,
    }
}

impl Window {
    /// The initial window of a flow: 10 packets (RFC 6928).
    pub const FIRST: Self = Self { cwnd: Packets(10), ssthresh: Packets::INFINITE_SSTHRESH };

    /// True in slow start, where the window doubles per round trip.
    #[inline(always)]
    pub const fn in_slow_start(self) -> bool {
        self.cwnd.0 < self.ssthresh.0
    }
}

/// Decision whether the kernel's law grows the window for an acknowledgement.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// The window stays as the scheme left it.
    Rests = 0,
    /// The law grows it.
    Grows = 1,
}

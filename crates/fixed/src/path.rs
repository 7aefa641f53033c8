//! TCP's report of an acknowledgement, the same for every scheme.

use crate::layout::mirror;
use crate::{Ack, Instant, Micros, Packets};

mirror! {
    /// An acknowledgement.
    #[derive(Default)]
    #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
    pub struct AckEvent as ack_event {
        /// Microseconds of the clock `tcp_mstamp`.
        pub now_us: u64,
        /// The RTT sample in microseconds; zero without one.
        pub rtt_us: u32,
        /// Packets delivered since the flow began; wraps.
        pub delivered: u32,
        /// The value of `delivered` when the newest of these packets was sent.
        pub delivered_at_send: u32,
        /// Not zero: the window limits the flow.
        pub cwnd_limited: u32,
        /// Not zero: packets were declared lost since the previous acknowledgement.
        pub lost: u32,
        /// A uniform random word; not every step uses it.
        pub random: u32,
    }
}

impl AckEvent {
    /// The event before the first acknowledgement.
    pub const NONE: Self = Self {
        now_us: 0,
        rtt_us: 0,
        delivered: 0,
        delivered_at_send: 0,
        cwnd_limited: 0,
        lost: 0,
        random: 0,
    };

    /// Converts to the cores' form.
    #[inline(always)]
    pub fn ack(&self) -> Ack {
        Ack {
            now: Instant(self.now_us),
            rtt: Micros(self.rtt_us),
            delivered: Packets(self.delivered),
            delivered_at_send: Packets(self.delivered_at_send),
            cwnd_limited: self.cwnd_limited != 0,
            lost: self.lost != 0,
        }
    }
}

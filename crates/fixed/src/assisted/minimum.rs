//! The minimum RTT of the window: the reported one, or the flow's own where alpha times the reported one does not reach it.
//!
//! A feed that knows only a part of the path reports too little. But a flow's own minimum may be a queue: one that begins behind a
//! full buffer sees nothing shorter, and a window made of that keeps the buffer full. So a flow that uses its own measures it again,
//! as BBR does:
//!
//! ```text
//!      after 1 s, then every 10 s, or at once where the last drain lowered the minimum by an eighth
//!   own minimum ------------------------------------------------------------------> drain
//!        ^                                                                            |
//!        +----------------------------- after two round trips ------------------------+
//! ```
//!
//! A drain makes the window of the reported minimum, or of a quarter of the flow's own where nothing is reported: with two BDPs as the
//! window, half a BDP. In the first round trip the queue leaves, in the second packets return without it. Quarter, eighth and two round
//! trips are ours; no other values were tried.

use super::{Config, Path};
use crate::{Instant, Micros};

/// The time between two drains: BBR's between two measurements of its minimum RTT (Cardwell et al. 2016).
const INTERVAL: Micros = Micros(10_000_000);
/// The time before the first drain, ours: a short transfer needs none.
const FIRST: Micros = Micros(1_000_000);

/// The state of one flow's drains.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct Minimum {
    /// Zero until the flow first uses its own minimum.
    next_drain: Instant,
    /// The end of the drain; zero without one.
    drains_until: Instant,
    /// The flow's own minimum as the drain began.
    before: Micros,
    reserved: u32,
}

impl Minimum {
    /// The state of a new flow.
    pub const START: Self =
        Self { next_drain: Instant(0), drains_until: Instant(0), before: Micros::ZERO, reserved: 0 };

    /// The minimum RTT for the window now, where the network reports `reported`, or zero for unknown.
    #[inline(always)]
    pub fn rtt(&mut self, config: &Config, reported: Micros, path: &Path) -> Micros {
        let own = path.min_rtt;
        let within_reach = config.alpha.of(reported.0 as u64).max(reported.0 as u64);
        if own.0 as u64 <= within_reach {
            self.drains_until = Instant(0);
            return reported;
        }
        if self.next_drain == Instant(0) {
            self.next_drain = path.now.after(FIRST);
        }
        if self.drains_until != Instant(0) && self.drains_until <= path.now {
            self.drains_until = Instant(0);
            if own.0 < self.before.0 - self.before.0 / 8 {
                self.next_drain = path.now;
            }
        }
        if self.next_drain <= path.now {
            *self = Self {
                next_drain: path.now.after(INTERVAL),
                drains_until: path.now.after(path.rtt).after(path.rtt),
                before: own,
                reserved: 0,
            };
        }
        match (self.drains_until > path.now, reported) {
            (false, _) => own,
            (true, Micros::ZERO) => Micros(own.0 / 4),
            (true, reported) => reported,
        }
    }
}

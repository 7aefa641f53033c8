//! Freshness of advice: when it is followed, and when it expires.
//!
//! ```text
//!              first advice, or after a time-out two in a row
//!   alone ------------------------------------------------> following
//!     ^                                                      |   | advice
//!     |            nothing for `timeout_periods`,            |   v
//!     +------------------------------------------------------+<--+
//!                  the last advice held until then
//! ```
//!
//! The paper (section 2.4) gives no value for its "certain time". Ours is six periods, so that five lost reports in a
//! row (one case in 100,000 at 10 % loss) are survived, and at least a probe time-out of the path, since in-band advice
//! waits in the same queues as the flow's own packets.

use super::{Advice, Config, Path};
use crate::{Instant, Micros};

/// Reports in a row after a time-out before they are followed again: a single one may be a straggler.
const FRESH_TO_RESUME: u8 = 2;
/// The shortest time-out: Linux's smallest retransmission time-out (`TCP_RTO_MIN`). At a period of 10 ms in band, a
/// link that pauses for 60 ms is no loss of advice.
const MIN_TIMEOUT: Micros = Micros(200_000);

/// The time-out of one flow's advice.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::CheckedBitPattern))]
pub struct Freshness {
    /// The end of the newest advice's period; older advice that arrives later is ignored.
    newest: Instant,
    /// The expiry of the advice in hand; from then on, earlier reports no longer count.
    expires_at: Instant,
    /// Reports still needed before advice is followed; zero while it is.
    missing: u8,
}

impl Freshness {
    /// The state before the first advice.
    pub const START: Self = Self { newest: Instant(0), expires_at: Instant(u64::MAX), missing: 1 };

    /// True while there is advice to follow.
    #[inline(always)]
    pub const fn is_following(&self) -> bool {
        self.missing == 0
    }

    /// The expiry of the advice in hand; `None` unless it is followed.
    pub const fn expires_at(&self) -> Option<Instant> {
        if self.is_following() { Some(self.expires_at) } else { None }
    }

    /// True for advice whose period is later than all before.
    #[inline(always)]
    pub(super) fn is_news(&self, advice: &Advice) -> bool {
        advice.measured_at > self.newest
    }

    /// Takes advice; returns false where it is older than the newest, or has expired.
    #[inline(always)]
    pub fn on_advice(&mut self, config: &Config, advice: &Advice, path: &Path) -> bool {
        let timeout = config.timeout_periods.of(advice.period.0 as u64).min(u32::MAX as u64) as u32;
        let timeout = Micros(timeout).max(path.probe_timeout).max(MIN_TIMEOUT);
        let expires_at = advice.measured_at.after(timeout);
        if advice.measured_at < self.newest || expires_at <= path.now {
            return false;
        }
        let missing = if self.expires_at <= path.now { FRESH_TO_RESUME } else { self.missing };
        *self = Self { newest: advice.measured_at, expires_at, missing: missing.saturating_sub(1) };
        true
    }

    /// Drops advice that has expired by `now`.
    #[inline(always)]
    pub fn expire(&mut self, now: Instant) {
        if self.is_following() && self.expires_at <= now {
            *self = Self { expires_at: Instant(u64::MAX), missing: FRESH_TO_RESUME, ..*self };
        }
    }
}

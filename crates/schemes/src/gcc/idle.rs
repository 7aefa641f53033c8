//! Regions in which the application, and not the target, limits the rate.

use cellcc_units::{Bytes, Span, Time};

/// Constants of `AlrDetector` (libwebrtc): the window of its budget, its share of the target, and the levels of the budget at
/// which the region begins and ends.
const BUDGET_WINDOW: Span = Span::from_millis(500);
const BUDGET_SHARE: f64 = 0.65;
const BUDGET_LEVELS: (f64, f64) = (0.8, 0.5);

/// Detects a region in which the application, not the target, limits the rate.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// Bytes of the budget that were not sent.
    unused: f64,
    sent_at: Option<Time>,
    pub(super) since: Option<Time>,
    pub(super) ended: Option<Time>,
}

impl Idle {
    pub(super) fn on_sent(&mut self, now: Time, bytes: Bytes, target: f64) {
        let Some(before) = self.sent_at.replace(now) else { return };
        let rate = BUDGET_SHARE * target / 8.0;
        let most = rate * BUDGET_WINDOW.as_secs_f64();
        self.unused = (self.unused.clamp(-most, most) - bytes.as_f64()).max(-most);
        self.unused = (self.unused + rate * now.since(before).as_secs_f64()).min(most);
        if self.unused > BUDGET_LEVELS.0 * most {
            self.since = self.since.or(Some(now));
        } else if self.unused < BUDGET_LEVELS.1 * most && self.since.take().is_some() {
            self.ended = Some(now);
        }
    }
}

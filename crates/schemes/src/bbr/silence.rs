//! Time as a flow hears of its path: it stands still during an outage.
//!
//! A minimum RTT is believed for some time because the path may change. A silence with packets in flight says nothing of
//! that. If it counted, the first acknowledgement after an outage would find the minimum too old, put the outage itself in its
//! place, and lead to ProbeRTT: with more packets in flight than that allows, most of them lost and not yet known to be, nothing
//! would leave until QUIC's probe time-out, which is as long as the outage by then.

use cellcc_control::Ack;
use cellcc_units::{Span, Time};

/// A silence is longer than so many smoothed RTTs. That includes the sample which ends it: an eighth of the silence, where
/// what was queued arrives after all.
const SILENT_RTTS: u64 = 2;
/// And at least so long: shorter pauses are a cellular path's scheduling, and a probe time-out after one is as short.
const LEAST_SILENCE: Span = Span::from_secs(1);

#[derive(Debug, Clone, Default)]
pub(crate) struct Silence {
    total: Span,
    last_ack_at: Option<Time>,
}

impl Silence {
    /// An acknowledgement; `idle`: nothing was in flight before.
    pub(crate) fn on_ack(&mut self, ack: &Ack<'_>, idle: bool) {
        let waited = self.last_ack_at.map_or(Span::ZERO, |last| ack.now.since(last));
        if !idle && waited > (ack.rtt.smoothed() * SILENT_RTTS).max(LEAST_SILENCE) {
            self.total += waited;
        }
        self.last_ack_at = Some(ack.now);
    }

    /// `now` without the silences so far.
    pub(crate) fn leave_out(&self, now: Time) -> Time {
        now - self.total
    }
}

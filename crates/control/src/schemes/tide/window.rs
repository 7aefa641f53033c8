//! From the delivery rate and the queue to the window and the pacing rate.
//!
//! ```text
//! window = rate * (base RTT + target + feedback * (target - queueing delay) + ramp) + extra packets + aggregation
//! ```
//!
//! - The feedback counts the difference itself and not its ratio to the target, by which a small target would be unstable.
//! - The ramp lets the window grow where the queue stays empty although a target is set: there the rate that was measured is the
//!   window's own.
//! - The extra packets do not depend on the rate. They make the shares of several flows equal, since a slow flow gains more by
//!   them than a fast one, and they let a flow of few packets grow.

use super::settings::Settings;
use cellcc_units::{Bytes, Rate, Span};

/// Prototype: what the feedback takes off at most, in base RTTs.
const MOST_BACK: f64 = 0.5;
/// Linux paces by a millisecond's worth of data (`tcp_tso_autosize`).
const QUANTUM: Span = Span::from_millis(1);
/// Prototype: and by no more packets than this.
const MAX_QUANTUM_PACKETS: u64 = 4;
/// RFC 9002, section 7.2: the smallest window, in packets.
pub(super) const MIN_WINDOW_PACKETS: u64 = 2;
/// Prototype: packets that the pacing rate has beyond a multiple of the window's.
const PACING_PACKETS: f64 = 4.0;
/// Prototype: below this share of what the window may have beyond its base, lost packets keep it from growing by the ramp.
const SHARE_TO_GROW: f64 = 0.5;
/// A flow is one that its application limits for so long after the application had nothing to send: longer than most pauses of a
/// cellular link, in which packets wait although the application sends little.
const APP_LIMITED_MEMORY: Span = Span::from_secs(1);
/// Prototype: base RTTs with an empty queue before the ramp begins.
const RAMP_DELAY: f64 = 1.0;

/// What the window is decided by.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    /// The rate to send at, in bytes per second.
    pub(super) rate: f64,
    pub(super) base_rtt: Span,
    pub(super) target: Span,
    pub(super) queueing: Span,
    /// For how long the queue has been shorter than half of the target, with enough to send; none: for as long as is known.
    pub(super) empty_for: Option<Span>,
    /// How long ago the application had nothing to send; none: it always had.
    pub(super) app_limited_before: Option<Span>,
    /// The share of target and extra packets that lost packets leave.
    pub(super) share: f64,
    pub(super) packet: Bytes,
    /// What an acknowledgement tells of beyond a packet.
    pub(super) aggregated: Bytes,
}

impl State {
    /// The window, in bytes.
    pub(super) fn window(&self, settings: &Settings) -> f64 {
        let base_rtt = self.base_rtt.as_secs_f64();
        let target = self.target.as_secs_f64() * self.share;
        let above = target - self.queueing.as_secs_f64();
        let feedback = (settings.feedback * above).max(-MOST_BACK * base_rtt);
        let time = base_rtt + target + feedback + base_rtt * self.ramp(settings);
        let extra = settings.extra_packets * self.share * self.packet.as_f64();
        (self.rate * time + extra + self.aggregated.as_f64()).max(self.least(settings))
    }

    /// The smallest window, in bytes: the restart window where the application limits the flow.
    fn least(&self, settings: &Settings) -> f64 {
        let is_app_limited = self.app_limited_before.is_some_and(|before| before < APP_LIMITED_MEMORY);
        let packets = if is_app_limited { settings.restart_window * self.share } else { 0.0 };
        (packets * self.packet.as_f64()).max(min_window(self.packet))
    }

    /// In base RTTs, up to one: then the window is twice what was delivered in the last RTT.
    fn ramp(&self, settings: &Settings) -> f64 {
        if self.share <= SHARE_TO_GROW {
            return 0.0;
        }
        let Some(empty_for) = self.empty_for else { return 1.0 };
        let empty_for = empty_for.as_secs_f64() / self.base_rtt.as_secs_f64();
        ((empty_for - RAMP_DELAY) / settings.ramp_rtts).clamp(0.0, 1.0)
    }
}

/// How much leaves at once: a millisecond's worth, so that a slow link gets single packets.
pub(super) fn send_quantum(pacing_rate: Rate, packet: Bytes) -> Bytes {
    pacing_rate.bytes_in(QUANTUM).max(packet).min(packet * MAX_QUANTUM_PACKETS)
}

/// The smallest window, in bytes.
pub(super) fn min_window(packet: Bytes) -> f64 {
    (packet * MIN_WINDOW_PACKETS).as_f64()
}

/// The rate at which packets of a `window` leave, where an RTT is `rtt`: somewhat faster than the window asks for, so that the
/// window is what limits. Where packets are lost, the queue has no room for those that come too fast, and only a `share` of that
/// haste is left.
pub(super) fn pacing_rate(window: f64, rtt: Span, packet: Bytes, share: f64, settings: &Settings) -> Rate {
    let faster = 1.0 + (settings.pacing - 1.0) * share;
    let bytes = faster * window + PACING_PACKETS * share * packet.as_f64();
    Rate::from_bytes_per_sec((bytes / rtt.as_secs_f64()) as u64).max(Rate::from_bytes_per_sec(1))
}

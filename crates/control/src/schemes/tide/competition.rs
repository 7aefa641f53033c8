//! The window against flows that fill the queue: CUBIC's, since that is what most of them have.
//!
//! It begins at the window with which the flow still had its share, and grows by half in an RTT until the first loss shows how
//! much the path holds. From there on it is CUBIC's, with a few packets of growth in an RTT as the least.

use super::window::min_window;
use cellcc_units::{Bytes, Span, Time};

/// RFC 9438, section 5.1: packets per second cubed.
const C: f64 = 0.4;
/// RFC 9438, section 4.6: a loss leaves this share of the window.
const BETA: f64 = 0.7;
/// Prototype: growth before the first loss, per RTT.
const GROWTH_BEFORE_LOSS: f64 = 0.5;
/// RFC 9438, section 4.4: the window grows by half per RTT at most.
const MAX_TARGET: f64 = 1.5;
/// Prototype: the least growth per RTT, in packets.
const MIN_GROWTH_PACKETS: f64 = 4.0;

/// A window in CUBIC's manner, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Competition {
    window: f64,
    phase: Phase,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// The flow has not lost anything since it began to compete.
    Lossless,
    /// The last loss came at a window of `most`.
    Cubic { most: f64, since: Time },
}

impl Competition {
    pub(super) fn from_window(window: f64) -> Self {
        Self { window, phase: Phase::Lossless }
    }

    /// The same after a pause of so long, which does not count, with `window` at least.
    pub(super) fn resumed(self, pause: Span, window: f64) -> Self {
        let phase = match self.phase {
            Phase::Lossless => Phase::Lossless,
            Phase::Cubic { most, since } => Phase::Cubic { most, since: since + pause },
        };
        Self { window: self.window.max(window), phase }
    }

    /// It has not met a loss yet.
    pub(super) fn is_lossless(&self) -> bool {
        matches!(self.phase, Phase::Lossless)
    }

    /// In bytes.
    pub(super) fn window(&self) -> f64 {
        self.window
    }

    pub(super) fn on_ack(&mut self, now: Time, smoothed_rtt: Span, acked: Bytes, packet: Bytes) {
        let acked = acked.as_f64();
        let Phase::Cubic { most, since } = self.phase else {
            self.window += GROWTH_BEFORE_LOSS * acked;
            return;
        };
        let packet = packet.as_f64();
        let (window, most) = (self.window / packet, most / packet);
        let to_most = libm::cbrt(most * (1.0 - BETA) / C);
        let from_most = (now.since(since) + smoothed_rtt).as_secs_f64() - to_most;
        let goal = (C * from_most * from_most * from_most + most).clamp(window, MAX_TARGET * window);
        self.window += acked / window * (goal - window).max(MIN_GROWTH_PACKETS);
    }

    /// A recovery episode begins.
    pub(super) fn on_loss(&mut self, now: Time, packet: Bytes) {
        self.phase = Phase::Cubic { most: self.window, since: now };
        self.window = (self.window * BETA).max(min_window(packet));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1500);
    /// Long enough for the cubic function to grow faster than by four packets per RTT.
    const RTT: Span = Span::from_secs(1);

    fn packets(competition: &Competition) -> f64 {
        competition.window() / PACKET.as_f64()
    }

    /// Acknowledges a window an RTT, for so long.
    fn run(competition: &mut Competition, from: Time, span: Span) -> Time {
        let mut now = from;
        while now < from + span {
            for _ in 0..packets(competition) as u64 {
                competition.on_ack(now, RTT, PACKET, PACKET);
            }
            now += RTT;
        }
        now
    }

    #[test]
    fn before_a_loss_the_window_grows_by_half_in_an_rtt() {
        let mut competition = Competition::from_window(100.0 * PACKET.as_f64());
        run(&mut competition, Time::ZERO, RTT);
        assert_eq!(packets(&competition), 150.0);
    }

    #[test]
    fn a_loss_leaves_seventy_percent_which_is_made_up_for_in_k_seconds() {
        let mut competition = Competition::from_window(1000.0 * PACKET.as_f64());
        competition.on_loss(Time::ZERO, PACKET);
        assert_eq!(packets(&competition), 700.0);
        // RFC 9438, equation 2.
        let k = libm::cbrt(300.0 / 0.4);
        run(&mut competition, Time::ZERO, Span::from_secs_f64(k));
        assert!((1000.0..=1005.0).contains(&packets(&competition)), "{}", packets(&competition));
    }

    #[test]
    fn time_without_competition_does_not_count() {
        let mut competition = Competition::from_window(1000.0 * PACKET.as_f64());
        competition.on_loss(Time::ZERO, PACKET);
        let pause = Span::from_secs(100);
        let mut resumed = competition.resumed(pause, 0.0);
        run(&mut competition, Time::ZERO, Span::from_secs(5));
        run(&mut resumed, Time::ZERO + pause, Span::from_secs(5));
        assert_eq!(resumed.window(), competition.window());
    }
}

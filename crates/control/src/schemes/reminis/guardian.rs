//! The Guardian as the paper describes it: network condition inference (section 3.1), non-deterministic exploration
//! (3.2), proactive slowdown and catastrophe mitigation (3.3).

use super::Interval;
use super::explorer::Explorer;
use super::settings::{Profile, Settings};
use crate::contract::{Context, Observer};
use crate::growth::Growth;
use cellcc_units::{Bytes, Span, Time};

/// mu before the first interval (paper, Appendix E.1).
const INITIAL_MU: f64 = 1.0;
/// A CM cut at least halves the window (paper, Equation 5).
const CATASTROPHE_FACTOR: f64 = 0.5;
/// The window's floor in packets. The paper names none; two keep delayed ACKs alive (RFC 5681's loss window is one).
const MIN_WINDOW_PACKETS: u64 = 2;
/// Where packets are lost, exploration raises the window to no more than this many times what a round trip delivers. The
/// paper names no bound; without one a buffer of a packet, whose delay never rises, lets the window grow for ever. Our
/// choice: exploration and slow start double a window each, so three quarters have to be lost before it acts.
const MOST_OF_DELIVERED: f64 = 4.0;

/// Share by which ssthresh follows, at each cut (profile `following`; ours). A fade that lasts a cut or two moves it little;
/// after a lasting fall a dozen cuts have taken it there. Any value from 0.1 to 0.5 is a choice of how long "lasting" is.
const FOLLOWING: f64 = 0.25;

/// What the delay and its slope say (paper, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    /// Below the target and not rising: explore.
    Explore,
    /// Below the target but rising: slow down if the next interval would exceed it.
    Slow,
    /// Above the target: cut.
    Cut,
}

pub(super) struct Guardian {
    profile: Profile,
    explorer: Explorer,
    proactive_slowdown: bool,
    catastrophe_mitigation: bool,
    previous_rtt: Option<Span>,
    zone: Option<Zone>,
    /// No further CM cut before: the last one has not shown in the delay yet.
    next_cut_at: Time,
    /// The one write to ssthresh is done: the delay has exceeded the target once.
    slow_start_ended: bool,
}

/// ssthresh goes towards the window that would have met the target; and with the window where that meets it.
fn follow(interval: &Interval, zone: Zone, factor: f64, aimd: &mut dyn Growth) {
    let (window, ssthresh) = (aimd.window(), aimd.ssthresh());
    if ssthresh == Bytes::MAX {
        return;
    }
    if zone == Zone::Cut && factor < 1.0 {
        let fitting = window.mul_f64(interval.target.as_secs_f64() / interval.mean_rtt.as_secs_f64());
        aimd.set_ssthresh(ssthresh.mul_f64(1.0 - FOLLOWING) + fitting.mul_f64(FOLLOWING));
    } else if zone != Zone::Cut && window > ssthresh {
        aimd.set_ssthresh(window);
    }
}

impl Guardian {
    pub(super) fn new(settings: &Settings, context: &Context) -> Self {
        Self {
            profile: settings.profile,
            explorer: Explorer::new(settings.exploration, INITIAL_MU, context.seed),
            proactive_slowdown: settings.proactive_slowdown,
            catastrophe_mitigation: settings.catastrophe_mitigation,
            previous_rtt: None,
            zone: None,
            next_cut_at: Time::ZERO,
            slow_start_ended: false,
        }
    }

    /// One iteration of Algorithm 1 at the end of a sampling interval.
    pub(super) fn act(&mut self, interval: &Interval, aimd: &mut dyn Growth) {
        let Some(previous) = self.previous_rtt.replace(interval.mean_rtt) else { return };
        let rise = interval.mean_rtt.as_secs_f64() - previous.as_secs_f64();
        let slope = rise / interval.length.as_secs_f64();
        self.explorer.observe_slope(slope);
        let zone = if interval.mean_rtt > interval.target {
            Zone::Cut
        } else if slope > 0.0 {
            Zone::Slow
        } else {
            Zone::Explore
        };
        self.zone = Some(zone);
        let factor = match zone {
            Zone::Explore if interval.cwnd_limited => self.explore(interval, aimd.window()),
            Zone::Explore => 1.0,
            Zone::Slow => self.slow_down(interval, rise),
            Zone::Cut => self.cut(interval),
        };
        if self.profile == Profile::Following {
            follow(interval, zone, factor, aimd);
        }
        let window = aimd.window().mul_f64(factor).max(interval.packet_size * MIN_WINDOW_PACKETS);
        aimd.set_window(window);
        let ends_slow_start = zone == Zone::Cut && !self.slow_start_ended;
        self.slow_start_ended |= zone == Zone::Cut;
        if (ends_slow_start && aimd.in_slow_start()) || (self.profile == Profile::Literal && factor < 1.0) {
            aimd.set_ssthresh(window);
        }
    }

    /// NDE (paper, section 3.2), within what is delivered at all.
    fn explore(&mut self, interval: &Interval, window: Bytes) -> f64 {
        let factor = self.explorer.factor().unwrap_or(1.0);
        let Some(delivered) = interval.delivered_despite_loss else { return factor };
        let round_trips = interval.mean_rtt.as_secs_f64() / interval.length.as_secs_f64();
        let most = delivered.as_f64() * round_trips * MOST_OF_DELIVERED;
        factor.min((most / window.as_f64()).max(1.0))
    }

    /// PS (paper, Equations 3 and 4): the delay will rise once more as it just did.
    fn slow_down(&self, interval: &Interval, rise: f64) -> f64 {
        let expected = interval.mean_rtt.as_secs_f64() + rise;
        if self.proactive_slowdown { libm::exp2(interval.safe_zone(expected).min(0.0)) } else { 1.0 }
    }

    /// CM (paper, Equation 5), at most once per measured RTT except in the literal profile.
    fn cut(&mut self, interval: &Interval) -> f64 {
        let waiting = self.profile != Profile::Literal && interval.now < self.next_cut_at;
        if !self.catastrophe_mitigation || waiting {
            return 1.0;
        }
        self.next_cut_at = interval.now + interval.mean_rtt;
        libm::exp2(interval.safe_zone(interval.mean_rtt.as_secs_f64())) * CATASTROPHE_FACTOR
    }

    pub(super) fn observe(&self, observer: &mut dyn Observer) {
        observer.value("mu", "", self.explorer.mu());
        if let Some(zone) = self.zone {
            observer.value("zone", "", zone as u8 as f64 + 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Path;
    use cellcc_units::{Rate, Span};

    /// Packets queued, in the mean of the fifth second after the capacity fell from 200 to 20 Mbit/s for good.
    fn queue_after_a_lasting_fall(scheme: &str) -> f64 {
        let mut path = Path::new(scheme, Rate::from_mbit_per_sec(200.0), Span::from_millis(20));
        path.run_for(Span::from_secs(5));
        path.set_rate(Rate::from_mbit_per_sec(20.0));
        path.run_for(Span::from_secs(4));
        let samples = (0..200).map(|_| {
            path.run_for(Span::from_millis(5));
            path.queued()
        });
        samples.sum::<f64>() / 200.0
    }

    #[test]
    fn an_ssthresh_that_follows_overshoots_less_after_a_lasting_fall_of_the_capacity() {
        let [paper, following] = ["reminis", "reminis(profile=following)"].map(queue_after_a_lasting_fall);
        // A cut comes only after the target was exceeded, so that neither keeps its 10 ms of queue (16.7 packets).
        assert!(following < 0.75 * paper, "{following} packets queued, {paper} in the paper's");
    }
}

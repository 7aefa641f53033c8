//! The reference window: when it shrinks and grows.

use super::{Constants, DELAY_TARGET};
use cellcc_control::{Context, Rtt};
use cellcc_units::{Bytes, Span, Time};

/// Both implementations: the round-trip time below which growth is less than that of the rules, reductions for loss, gains of alpha,
/// and its value for the first marks after a long time without.
const VIRTUAL_RTT: Span = Span::from_millis(25);
const LOSS_FACTOR: f64 = 0.7;
const ALPHA_UP: f64 = 1.0 / 8.0;
const ALPHA_DOWN: f64 = 127.0 / 128.0;
const ALPHA_AFTER_CALM: f64 = 0.25;
const CALM_ROUNDS: u64 = 100;
/// Gain of the share of losses, at most, as a part of the share that is tolerated.
const LOSS_GAIN: f64 = 0.25;
/// Below this, no marks are expected, and the delay alone slows growth.
const NO_MARKS: f64 = 0.0001;

/// A report's information on congestion.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Congestion {
    pub(super) lost: u64,
    /// Packets that arrived, and those of them with a mark.
    pub(super) arrived: u64,
    pub(super) marked: u64,
}

/// The window's input from a report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) now: Time,
    pub(super) srtt: Span,
    pub(super) packet: Bytes,
    pub(super) congestion: Congestion,
    /// The queueing delay, in seconds: the last one, and averaged.
    pub(super) latest: f64,
    pub(super) delay: f64,
    pub(super) steadiness: f64,
    /// Bytes that arrived without a mark.
    pub(super) unmarked: Bytes,
}

/// The reference window.
#[derive(Debug)]
pub(super) struct Window {
    constants: &'static Constants,
    pub(super) bytes: f64,
    pub(super) alpha: f64,
    /// When it last moved, and the packets since then: those that arrived, and those with a mark.
    alpha_moved_at: Time,
    arrived: u64,
    marked: u64,
    /// Where it was when it last began to shrink; none before.
    inflection: Option<f64>,
    has_grown: bool,
    reacted_at: Option<Time>,
    /// The share of packets that are lost.
    lost: f64,
    /// The most in flight in this round and in the last.
    most_inflight: [Bytes; 2],
    round_began: Time,
}

impl Window {
    pub(super) fn new(constants: &'static Constants, context: &Context) -> Self {
        Self {
            constants,
            bytes: context.initial_window.as_f64(),
            alpha: constants.start_alpha,
            alpha_moved_at: Time::ZERO,
            arrived: 0,
            marked: 0,
            inflection: None,
            has_grown: true,
            reacted_at: None,
            lost: 0.0,
            most_inflight: [Bytes::ZERO; 2],
            round_began: Time::ZERO,
        }
    }

    pub(super) fn on_inflight(&mut self, now: Time, inflight: Bytes, srtt: Option<Span>) {
        if now.since(self.round_began) >= srtt.unwrap_or(Rtt::INITIAL) {
            self.most_inflight = [Bytes::ZERO, self.most_inflight[0]];
            self.round_began = now;
        }
        self.most_inflight[0] = self.most_inflight[0].max(inflight);
    }

    fn most_in_flight(&self) -> f64 {
        self.most_inflight[0].max(self.most_inflight[1]).as_f64()
    }

    pub(super) fn on_round(&mut self, round: &Round) {
        self.move_alpha(round);
        let half = DELAY_TARGET / 2.0;
        let is_high = round.delay > half;
        let lost = self.has_lost(round);
        let is_event = lost || round.congestion.marked > 0 || is_high;
        let due = self.is_due(round, round.srtt.min(self.constants.reaction));
        let grows = !self.constants.by_report || !is_event || due;
        // Growth is by how long ago the last congestion was, not by that of this report.
        let calm = self.calm(round);
        let reacts = is_event && due;
        if reacts {
            self.react(round, lost, is_high.then(|| ((round.delay - half) / half).clamp(0.0, 1.0)));
        }
        if grows {
            self.grow(round, if reacts { 0.0 } else { calm });
        }
        let (bytes, packets) = self.constants.smallest_window;
        self.bytes = self.bytes.max(bytes.max(round.packet * packets).as_f64());
    }

    /// True where the last reaction is so long ago.
    fn is_due(&self, round: &Round, apart: Span) -> bool {
        self.reacted_at.is_none_or(|reacted| round.now.since(reacted) >= apart)
    }

    /// True where losses count.
    fn has_lost(&mut self, round: &Round) -> bool {
        let Congestion { lost, arrived, .. } = round.congestion;
        let tolerated = self.constants.tolerated_loss;
        if tolerated == 0.0 {
            return lost > 0;
        }
        let gain = (LOSS_GAIN * tolerated).min(round.packet.as_f64() / self.bytes / 2.0);
        let kept = |packets: u64| libm::pow(1.0 - gain, packets as f64);
        let counts = self.lost > tolerated || round.delay > DELAY_TARGET / 4.0;
        self.lost = (1.0 - (1.0 - self.lost) * kept(lost)) * kept(arrived);
        lost > 0 && counts && self.is_due(round, round.srtt)
    }

    /// By the share of marks since it last moved.
    fn move_alpha(&mut self, round: &Round) {
        self.arrived += round.congestion.arrived;
        self.marked += round.congestion.marked;
        let every = self.constants.alpha_interval.min(round.srtt);
        if self.arrived == 0 || round.now.since(self.alpha_moved_at) < every {
            return;
        }
        let share = self.marked as f64 / self.arrived as f64;
        (self.alpha_moved_at, self.arrived, self.marked) = (round.now, 0, 0);
        if share > self.alpha {
            self.alpha += ALPHA_UP * (share - self.alpha);
        } else {
            self.alpha *= ALPHA_DOWN;
        }
    }

    /// Share of the full growth in proportion to the window, 0 to 1.
    fn calm(&self, round: &Round) -> f64 {
        let long = round.srtt.max(VIRTUAL_RTT).as_secs_f64() * self.constants.cautious_rounds;
        self.reacted_at.map_or(1.0, |reacted| (round.now.since(reacted).as_secs_f64() / long).min(1.0))
    }

    /// Small near the inflection point, one far from it.
    fn distance(&self) -> f64 {
        self.inflection.map_or(1.0, |inflection| {
            let apart = self.constants.nearness * (inflection - self.bytes) / inflection;
            (apart * apart).clamp(0.1, 1.0)
        })
    }

    /// For small windows, in which a packet is much.
    fn smallness(&self, packet: Bytes) -> f64 {
        (1.0 - packet.as_f64() / self.bytes).max(0.5)
    }

    /// `high`: how far the delay is above half of its target, as a share of that half.
    fn react(&mut self, round: &Round, lost: bool, high: Option<f64>) {
        let by_report = self.constants.by_report;
        if std::mem::take(&mut self.has_grown) {
            self.inflection = Some(self.bytes);
        }
        let scale = |share: f64, window: &Self| {
            let long = (round.srtt.as_secs_f64() / window.constants.reaction.as_secs_f64()).max(1.0);
            share / 2.0 / long * if by_report { window.smallness(round.packet) } else { 1.0 }
        };
        let kept = if lost {
            LOSS_FACTOR
        } else if round.congestion.marked > 0 {
            let (is_high, least) =
                if by_report { (high.is_some(), 0.1) } else { (round.latest > DELAY_TARGET / 4.0, 0.25) };
            let soft = if is_high { 1.0 } else { self.distance().max(0.25) * round.steadiness.max(least) };
            let cut = scale(self.alpha, self) * soft;
            let is_calm = self
                .reacted_at
                .is_none_or(|reacted| round.now.since(reacted) > round.srtt.max(VIRTUAL_RTT) * CALM_ROUNDS);
            if is_calm {
                self.bytes = self.bytes.min(self.most_in_flight().max(round.packet.as_f64()));
                self.alpha = if by_report { ALPHA_AFTER_CALM } else { self.alpha };
            }
            1.0 - cut
        } else {
            1.0 - scale(high.unwrap_or(0.0), self)
        };
        self.bytes *= kept;
        self.reacted_at = Some(round.now);
    }

    fn grow(&mut self, round: &Round, calm: f64) {
        let packet = round.packet.as_f64();
        if self.bytes >= packet + self.constants.allowance * self.most_in_flight() {
            return;
        }
        let near = self.distance();
        let short = (round.srtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).min(1.0);
        let by_delay = if self.alpha < NO_MARKS {
            (1.0 - round.delay / (DELAY_TARGET / 4.0)).clamp(0.1, 1.0)
        } else {
            1.0
        };
        let proportional = 1.0 + self.constants.growth * self.bytes / packet * calm * near;
        let caution =
            if self.constants.by_report { short * self.smallness(round.packet) * by_delay } else { 1.0 };
        let more = round.unmarked.as_f64() * packet / self.bytes
            * short
            * caution
            * near.max(0.25)
            * round.steadiness.max(0.1)
            * proportional;
        self.bytes += more;
        self.has_grown |= more > 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ERICSSON, WEBRTC};
    use super::*;

    const PACKET: Bytes = Bytes::new(1000);
    const RTT: Span = Span::from_millis(50);

    /// A window of 100 packets with all of it in flight.
    fn window() -> Window {
        let context = Context::new(PACKET, PACKET * 100, 1);
        let mut window = Window::new(&WEBRTC, &context);
        window.on_inflight(Time::ZERO, PACKET * 100, Some(RTT));
        window
    }

    /// A report on ten packets.
    fn report(millis: u64, marked: u64, delay: f64) -> Round {
        Round {
            now: Time::from_nanos(millis * 1_000_000),
            srtt: RTT,
            packet: PACKET,
            congestion: Congestion { lost: 0, arrived: 10, marked },
            latest: delay,
            delay,
            steadiness: 1.0,
            unmarked: Bytes::ZERO,
        }
    }

    fn packets(window: &Window) -> f64 {
        window.bytes / PACKET.as_f64()
    }

    #[test]
    fn alpha_rises_by_an_eighth_and_falls_by_a_128th() {
        let mut window = window();
        // No calm before: the first mark after 100 rounds sets it.
        window.reacted_at = Some(Time::ZERO);
        window.on_round(&report(1, 8, 0.0));
        assert!((window.alpha - 0.1).abs() < 1e-12, "{}", window.alpha);
        window.on_round(&report(2, 0, 0.0));
        assert!((window.alpha - 0.1 * 127.0 / 128.0).abs() < 1e-12, "{}", window.alpha);
    }

    #[test]
    fn ericssons_alpha_moves_by_all_packets_of_ten_milliseconds_not_by_those_of_one_report() {
        let context = Context::new(PACKET, PACKET * 100, 1);
        let mut window = Window::new(&ERICSSON, &context);
        window.reacted_at = Some(Time::ZERO);
        // 20 of 40 packets have a mark.
        for (millis, marked) in [(3, 10), (6, 0), (9, 0), (12, 10)] {
            assert_eq!(window.alpha, 0.1);
            window.on_round(&report(millis, marked, 0.0));
        }
        assert!((window.alpha - 0.15).abs() < 1e-12, "{}", window.alpha);
    }

    #[test]
    fn ericssons_window_shrinks_for_losses_of_more_than_a_hundredth_or_with_a_queue() {
        let after = |lost: u64, delay: f64| {
            let mut window = Window::new(&ERICSSON, &Context::new(PACKET, PACKET * 1000, 1));
            for tick in 1..=20 {
                let congestion = Congestion { lost, arrived: 100, marked: 0 };
                window.on_round(&Round { congestion, ..report(tick * 100, 0, delay) });
            }
            packets(&window)
        };
        assert_eq!((after(1, 0.0), after(0, 0.02)), (1000.0, 1000.0));
        assert!(after(5, 0.0) < 700.0 && after(1, 0.02) < 10.0, "{} {}", after(5, 0.0), after(1, 0.02));
    }

    #[test]
    fn ericssons_window_grows_by_the_unmarked_packets_between_two_reactions() {
        for (constants, grows) in [(&WEBRTC, false), (&ERICSSON, true)] {
            let mut window = Window::new(constants, &Context::new(PACKET, PACKET * 100, 1));
            window.on_inflight(Time::ZERO, PACKET * 100, Some(RTT));
            let marked = |millis| Round { unmarked: PACKET * 9, ..report(millis, 1, 0.0) };
            window.on_round(&marked(1));
            let before = window.bytes;
            window.on_round(&marked(2));
            assert_eq!(window.bytes > before, grows);
        }
    }

    #[test]
    fn a_loss_takes_three_tenths_once_in_25_ms() {
        let mut window = window();
        let lost = |millis| Round {
            congestion: Congestion { lost: 1, ..Congestion::default() },
            ..report(millis, 0, 0.0)
        };
        window.on_round(&lost(1));
        assert!((packets(&window) - 70.0).abs() < 1e-9, "{}", packets(&window));
        window.on_round(&lost(25));
        assert!((packets(&window) - 70.0).abs() < 1e-9, "{}", packets(&window));
        window.on_round(&lost(26));
        assert!((packets(&window) - 49.0).abs() < 1e-9, "{}", packets(&window));
    }

    #[test]
    fn the_first_mark_after_a_calm_brings_the_window_to_what_is_in_flight_and_sets_alpha_to_a_quarter() {
        let mut window = window();
        window.bytes = 150_000.0;
        window.on_round(&report(1, 1, 0.0));
        // An eighth of a tenth, its half, halved for an RTT of 50 ms, less a 150th for the size; at the inflection point a
        // quarter of it.
        let cut = 0.1 / 8.0 / 2.0 / 2.0 * (1.0 - 1.0 / 150.0) * 0.25;
        assert!((packets(&window) - 100.0 * (1.0 - cut)).abs() < 1e-9, "{}", packets(&window));
        assert_eq!(window.alpha, 0.25);
    }

    #[test]
    fn a_delay_above_half_of_the_target_counts_as_marks_of_its_excess() {
        let mut window = window();
        window.on_round(&report(1, 0, 0.045));
        // 45 ms are half of the second 30 ms.
        let cut = 0.5 / 2.0 / 2.0 * 0.99;
        assert!((packets(&window) - 100.0 * (1.0 - cut)).abs() < 1e-9, "{}", packets(&window));
        window.on_round(&report(2, 0, 0.03));
        assert!(
            (packets(&window) - 100.0 * (1.0 - cut)).abs() < 1e-9,
            "half of the target itself is no mark"
        );
    }

    #[test]
    fn a_calm_window_grows_by_a_packet_and_2_percent_in_a_round_and_no_further_than_what_is_in_flight() {
        let mut window = window();
        window.on_round(&Round { unmarked: PACKET * 100, ..report(1, 0, 0.0) });
        // A packet, less a hundredth for the size, times 1 + 0.02 * 100.
        assert!((packets(&window) - 102.97).abs() < 1e-9, "{}", packets(&window));
        window.bytes = 111_001.0;
        window.on_round(&Round { unmarked: PACKET * 100, ..report(2, 0, 0.0) });
        assert_eq!(window.bytes, 111_001.0);
    }
}

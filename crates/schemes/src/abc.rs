//! ABC: the router says with each packet whether two are to follow it or none.
//!
//! 1. A packet that comes back unmarked says "accelerate": the window grows by a packet.
//! 2. One that comes back marked (CE) says "brake": the window shrinks by a packet.
//! 3. Besides, the window grows by a packet per RTT, so that flows come to share alike.
//! 4. It also keeps a window of CUBIC, for a bottleneck that marks nothing; the smaller one is in force. Neither may be above
//!    twice the data in flight plus five packets.
//! 5. Packets are paced at twice the window per RTT.
//!
//! ```text
//!               ECT: + 1 packet
//!              +------------+
//!              |            v
//!  start ---> min(window of ABC, window of CUBIC)
//!              ^            |
//!              +------------+
//!                CE: - 1 packet, not below 5
//! ```
//!
//! Source: Goyal et al., NSDI 2020; the authors' `tcp_abccubic.c` (`cubic=off`: `tcp_abc.c`). The queue `abc` marks.
//!
//! **Differences from the paper.** Its evaluation reassigns the ECN codepoints, so that old routers' marks (11) can be
//! distinguished from "brake" (10). Here, as in the authors' code, a mark is "brake". The floor of five packets, the five
//! packets above twice the data in flight, and the pacing are the code's. CUBIC is that of RFC 9438 and has recovery episodes
//! of its own, which marks do not begin. In the code a loss leaves ABC's own window alone, and so it does here. Windows have
//! fractions, and are paced by the latest RTT sample with packets of their real size, where the code has 1450 bytes.

use cellcc_control::{
    Ack, Context, Controller, Ecn, Event, Limits, Loss, Observer, Parameter, SchemeInfo, ShownValue,
    growth::{Cubic, Growth, SlowStart},
    kind,
};
use cellcc_units::{Bytes, Rate, Span, Time};

/// A brake leaves the window alone below so many packets (`abc_in_ack`).
const LEAST_PACKETS: f64 = 5.0;
/// Largest ratio of a window to the data in flight (paper, section 4.1; `bictcp_cong_avoid`): so many times, and packets more.
const MOST_OF_INFLIGHT: f64 = 2.0;
const MORE_THAN_INFLIGHT_PACKETS: f64 = 5.0;
/// Windows per RTT (`abc_pkts_acked`).
const PACING_GAIN: u64 = 2;

const CUBIC: Parameter<kind::Switch> = Parameter::new(
    "cubic",
    kind::Switch,
    true,
    "also keeps a window of CUBIC, for a bottleneck that marks nothing; without it losses are ignored",
    "Goyal et al. 2020, section 4.1; tcp_abccubic.c and tcp_abc.c",
);

/// The values that it exposes.
const SHOWS: [ShownValue; 2] = [
    ShownValue::number("abc_window_pkt", "the window by the router's words"),
    ShownValue::number(
        "cubic_window_pkt",
        "the window of CUBIC, which bounds the flow where no router says a word",
    ),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "abc",
        "adjusts its window by accelerate and brake marks from an ABC router; for the queue `abc`",
        "Goyal et al., NSDI 2020; tcp_abccubic.c of its authors",
        |arguments, context| {
            let fallback = arguments.get(&CUBIC).then(|| Fallback::new(context));
            Box::new(Abc::new(context, fallback))
        },
    )
    .parameters(vec![CUBIC.into()])
    .shows(&SHOWS)
    .needs_ecn_counts()
}

struct Abc {
    packet_size: Bytes,
    /// In packets.
    window: f64,
    fallback: Option<Fallback>,
    rtt: Option<Span>,
    /// Bytes that came back with a mark.
    braked: Bytes,
}

impl Abc {
    fn new(context: &Context, fallback: Option<Fallback>) -> Self {
        let window = context.initial_window.in_packets(context.packet);
        Self { packet_size: context.packet, window, fallback, rtt: None, braked: Bytes::ZERO }
    }

    fn window(&self) -> Bytes {
        let window = self.bytes(self.window);
        self.fallback.as_ref().map_or(window, |fallback| window.min(fallback.cubic.window()))
    }

    fn bytes(&self, packets: f64) -> Bytes {
        Bytes::new((packets * self.packet_size.as_f64()) as u64)
    }

    /// Holds both windows near the data in flight. Without CUBIC nothing does, as in `tcp_abc.c`.
    fn hold_down(&mut self, inflight: Bytes) {
        let Some(fallback) = &mut self.fallback else { return };
        let most = MOST_OF_INFLIGHT * inflight.in_packets(self.packet_size) + MORE_THAN_INFLIGHT_PACKETS;
        self.window = self.window.min(most);
        let most = Bytes::new((most * self.packet_size.as_f64()) as u64);
        if fallback.cubic.window() > most {
            fallback.cubic.set_window(most);
        }
    }
}

impl Controller for Abc {
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        self.rtt = ack.rtt_sample.or(self.rtt);
        let marked = ack.ecn.map_or(Bytes::ZERO, |echo| echo.ce).min(ack.bytes);
        self.braked += marked;
        let braked = marked.in_packets(self.packet_size);
        let acked = ack.bytes.in_packets(self.packet_size);
        self.window += acked / self.window + (acked - braked);
        if self.window > LEAST_PACKETS + braked {
            self.window -= braked;
        }
        if let Some(fallback) = &mut self.fallback {
            fallback.on_ack(ack);
        }
        self.hold_down(ack.inflight);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        if let Some(fallback) = &mut self.fallback {
            fallback.on_loss(loss);
            self.hold_down(loss.inflight + loss.bytes);
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        if let Some(fallback) = &mut self.fallback {
            fallback.on_event(now, event);
        }
    }

    fn limits(&self) -> Limits {
        let window = self.window();
        let rate = self.rtt.map(|rtt| Rate::from_transfer(window * PACING_GAIN, rtt));
        // Over an RTT of days the rate is zero, which would stop the flow.
        match rate.filter(|rate| !rate.is_zero()) {
            None => Limits::window_only(window),
            Some(rate) => Limits::paced(window, rate, self.packet_size),
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("abc_window", "pkt", self.window);
        if let Some(fallback) = &self.fallback {
            observer.value("cubic_window", "pkt", fallback.cubic.window().in_packets(self.packet_size));
        }
        if self.braked.is_zero() {
            observer.note(
                "no router said brake; on a path whose queue is not `abc` its window is CUBIC's, or has no bound with cubic=off",
            );
        }
    }
}

/// CUBIC for a bottleneck that marks nothing.
struct Fallback {
    cubic: Cubic,
    /// When the window was cut last. The flow's own episodes also begin with marks.
    cut_at: Option<Time>,
    in_recovery: bool,
}

impl Fallback {
    fn new(context: &Context) -> Self {
        Self { cubic: Cubic::new(context, SlowStart::UntilLoss), cut_at: None, in_recovery: false }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let newest = ack.packets.last().map(|newest| newest.sent_at);
        if self.in_recovery && newest > self.cut_at {
            self.in_recovery = false;
            self.cubic.on_event(ack.now, Event::RecoveryLeft);
        }
        let mut judged = *ack;
        judged.in_recovery = self.in_recovery;
        self.cubic.on_ack(&judged);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        let newest = loss.packets.last().map(|newest| newest.sent_at);
        // Packets sent after the cut can be lost before any of them has arrived only by another time-out, which holds ssthresh
        // (RFC 5681, section 3.1) and the state that a spurious time-out would restore.
        let new_episode = newest > self.cut_at && !self.in_recovery;
        let mut judged = *loss;
        judged.new_episode = new_episode;
        self.cubic.on_loss(&judged);
        if new_episode {
            self.cut_at = Some(loss.now);
            self.in_recovery = true;
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            // A mark is for ABC's window; the recovery is left in `on_ack`.
            Event::CongestionMarked | Event::RecoveryLeft => {}
            Event::SpuriousLoss => {
                self.in_recovery = false;
                self.cubic.on_event(now, event);
            }
            _ => self.cubic.on_event(now, event),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{CONTEXT, Round};
    use cellcc_control::Ecn;
    use cellcc_units::Span;

    const RTT: Span = Span::from_millis(100);

    fn round(scheme: &str) -> Round {
        Round::new(scheme, RTT, Ecn::Ect0)
    }

    #[test]
    fn a_round_without_brakes_doubles_the_window_and_one_of_brakes_empties_it() {
        let mut round = round("abc(cubic=off)");
        round.run(|_| false);
        // Ten more, and one for the round.
        assert!((round.window() - 21.0).abs() < 0.4, "{}", round.window());
        round.run(|_| true);
        assert!(round.window() <= 7.0, "{}", round.window());
    }

    #[test]
    fn half_of_each_leaves_the_window_but_for_a_packet_per_round() {
        let mut round = round("abc(cubic=off)");
        (0..4).for_each(|_| round.run(|_| false));
        let before = round.window();
        // Every second of all packets, the first one braked.
        let seen = std::cell::Cell::new(0);
        (0..10).for_each(|_| round.run(|_| seen.replace(seen.get() + 1) % 2 == 0));
        let one_brake_more = (seen.get() % 2) as f64;
        let added = round.window() - before + one_brake_more;
        // A round of a window's whole packets adds their share of the window: of more than ten packets, nine tenths at least.
        assert!((9.0..=10.0).contains(&added), "{added} packets in ten rounds");
    }

    #[test]
    fn cubic_holds_the_window_after_a_loss_that_no_router_announced() {
        let mut round = round("abc");
        (0..4).for_each(|_| round.run(|_| false));
        let before = round.window();
        let packets = round.send_window();
        round.now += RTT;
        round.flow.on_loss(round.now, &packets[..1]);
        assert!((round.window() / before - 0.7).abs() < 0.02, "{} of {before}", round.window());
    }

    #[test]
    fn marks_in_every_round_hide_no_loss_from_cubic() {
        let mut round = round("abc");
        (0..4).for_each(|_| round.run(|_| false));
        (0..3).for_each(|_| round.run(|index| index % 2 == 0));
        let before = round.window();
        let packets = round.send_window();
        round.now += RTT;
        // The recovery episode of the flow began with a mark that came after this packet had left.
        round.flow.on_congestion_mark(round.now, packets[1].sent_at);
        round.flow.on_loss(round.now, &packets[..1]);
        assert!(round.window() < 0.75 * before, "{} of {before}", round.window());
    }

    #[test]
    fn time_outs_in_a_row_are_one_loss_and_a_spurious_one_gives_the_window_back() {
        // The bug: each time-out cut the window of two packets again, and that was restored. After an outage the flow could not
        // send, and so could not detect losses, before the next time-out.
        let mut round = round("abc");
        let before = round.window();
        let packets = round.send_window();
        round.now += Span::from_secs(1);
        round.flow.on_persistent_congestion(round.now, &packets);
        for seconds in [2, 4, 8] {
            let repeated = round.flow.on_sent(round.now, CONTEXT.packet);
            round.now += Span::from_secs(seconds);
            round.flow.on_repeated_timeout(round.now, &[repeated]);
        }
        round.flow.on_spurious_timeout(round.now, CONTEXT.packet * packets.len() as u64);
        // ABC's own window is held near the data in flight, and grows with each packet that comes back.
        for packet in &packets[..packets.len() / 2] {
            round.flow.on_ack(round.now, &[*packet], Some(RTT), None);
        }
        assert!(round.window() >= before, "{} of {before}", round.window());
    }

    #[test]
    fn without_cubic_a_loss_changes_nothing() {
        let mut round = round("abc(cubic=off)");
        (0..4).for_each(|_| round.run(|_| false));
        let before = round.window();
        let packets = round.send_window();
        round.flow.on_loss(round.now + RTT, &packets[..1]);
        assert_eq!(round.window(), before);
    }
}

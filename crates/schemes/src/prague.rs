//! Prague: a window that shrinks by the share of packets that L4S queues mark.
//!
//! 1. Packets carry ECT(1). An average, alpha, follows the marked fraction of the data acknowledged in a virtual RTT, at least
//!    25 ms.
//! 2. The first mark of a virtual RTT takes half of alpha off the window. Alpha begins at one, so that the first mark ends slow
//!    start.
//! 3. Unmarked data let the window grow, by a packet in an RTT; below 25 ms by as much in 25 ms, so that rates are equal.
//! 4. A loss halves the window. Marks and losses have episodes of their own: a loss in a marked round also halves.
//! 5. Packets are paced at the window per RTT, in bursts of a quarter of a millisecond.
//!
//! ```text
//!               first mark or loss
//!  slow start --------------------> congestion avoidance <--+
//!   (twice the rate below             |   mark: - alpha / 2 |
//!    half of ssthresh)                +---loss: - 1 / 2 ----+
//! ```
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control; L4STeam's `tcp_prague.c` and `udp_prague` (e8e3435), whose laws are
//! described in RFC 9331's requirements. The queue `dualpi2` marks.
//!
//! **Differences from the sources.** Alpha moves before the cut of the same round, as in `udp_prague`; Linux cuts first. The
//! fall-back for queues that mark as RFC 3168 has it is left out: on a cellular link the jitter that it goes by is the link's.
//! So are `udp_prague`'s pacing above and below the rate in turn, and its faster growth. A window is held against the RTT that
//! is smoothed here.

use cellcc_control::{
    Ack, Context, Controller, Ecn, Event, Limits, Loss, Observer, Parameter, SchemeInfo, ShownValue, kind,
};
use cellcc_units::{Bytes, Rate, Span, Time};

/// The gain of alpha (`PRAGUE_ALPHA_GAIN`).
const GAIN: f64 = 1.0 / 16.0;
/// The shortest virtual RTT (`PRAGUE_VIRT_RTT`).
const VIRTUAL_RTT: Span = Span::from_millis(25);
/// The smallest window, in packets.
const LEAST_PACKETS: f64 = 2.0;
/// The burst limit (`PRAGUE_BURST`).
const BURST: Span = Span::from_micros(250);
/// The factor of a loss on the window.
const BETA: f64 = 0.5;

/// Rounds after slow start from which the rate does not depend on the RTT.
const TRANSITION: Parameter<kind::Count> = Parameter::new(
    "rtt-transition",
    kind::Count(0, 100_000),
    500,
    "rounds after slow start from which flows with RTTs below 25 ms grow as if theirs were that long",
    "tcp_prague.c, prague_rtt_transition",
);

/// The values that it exposes.
const SHOWS: [ShownValue; 2] = [
    ShownValue::number("alpha", "the average share of marked packets"),
    ShownValue::number("ssthresh_pkt", "where slow start ends"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "prague",
        "L4S: shrinks by the share of marked packets; for the queue `dualpi2`",
        "draft-briscoe-iccrg-prague-congestion-control; L4STeam tcp_prague.c and udp_prague",
        |arguments, context| Box::new(Prague::new(context, arguments.get(&TRANSITION))),
    )
    .parameters(vec![TRANSITION.into()])
    .shows(&SHOWS)
    .needs_ecn_counts()
}

/// A span of virtual time that ends with packets sent after it began, and not before a virtual RTT is over.
#[derive(Debug, Clone, Copy, Default)]
struct VirtualRound {
    began: Option<Time>,
}

impl VirtualRound {
    /// True if it is over at `now`, when a packet that left at `sent_at` is acknowledged.
    fn is_over(self, now: Time, sent_at: Time, length: Span) -> bool {
        self.began.is_none_or(|began| sent_at >= began && now.since(began) >= length)
    }
}

struct Prague {
    packet_size: Bytes,
    /// In packets, as all windows here.
    window: f64,
    ssthresh: f64,
    alpha: f64,
    has_been_marked: bool,
    /// Bytes acknowledged since alpha moved, and those of them that are marked.
    acked: Bytes,
    marked: Bytes,
    alpha_round: VirtualRound,
    cut_round: VirtualRound,
    /// The time of the last cut by a loss, its amount, and the state of later packets.
    lost_at: Option<Time>,
    taken: f64,
    recovers: bool,
    /// The round in which slow start ended, and the present one.
    left_slow_start: Option<u64>,
    round: u64,
    transition: u64,
    srtt: Option<Span>,
}

impl Prague {
    fn new(context: &Context, transition: u32) -> Self {
        Self {
            packet_size: context.packet,
            window: context.initial_window.in_packets(context.packet),
            ssthresh: f64::INFINITY,
            alpha: 1.0,
            has_been_marked: false,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            alpha_round: VirtualRound::default(),
            cut_round: VirtualRound::default(),
            lost_at: None,
            taken: 0.0,
            recovers: false,
            left_slow_start: None,
            round: 0,
            transition: transition.into(),
            srtt: None,
        }
    }

    fn is_independent_of_rtt(&self) -> bool {
        self.left_slow_start.is_some_and(|left| self.round >= left + self.transition)
    }

    fn move_alpha(&mut self, now: Time, sent_at: Time, virtual_rtt: Span) {
        if self.acked.is_zero() || !self.alpha_round.is_over(now, sent_at, virtual_rtt) {
            return;
        }
        if self.has_been_marked {
            let share = self.marked.as_f64() / self.acked.as_f64();
            self.alpha += GAIN * (share - self.alpha);
        }
        (self.acked, self.marked) = (Bytes::ZERO, Bytes::ZERO);
        self.alpha_round.began = Some(now);
    }

    fn grow(&mut self, unmarked: Bytes, srtt: Span) {
        let mut packets = unmarked.in_packets(self.packet_size);
        if self.window < self.ssthresh {
            let slow = packets.min(self.ssthresh - self.window);
            self.window += slow;
            packets -= slow;
        }
        let share = (srtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).min(1.0);
        let scale = if self.is_independent_of_rtt() { share * share } else { 1.0 };
        self.window += scale * packets / self.window;
    }

    fn cut_to(&mut self, window: f64) {
        self.window = window.max(LEAST_PACKETS);
        self.ssthresh = self.window;
        self.left_slow_start.get_or_insert(self.round);
    }
}

impl Controller for Prague {
    fn ecn(&self) -> Ecn {
        Ecn::Ect1
    }

    fn hears_departures(&self) -> bool {
        false
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.packet_size = ack.packet_size;
        self.round = ack.round;
        let Some(newest) = ack.packets.last() else { return };
        let srtt = ack.rtt.smoothed();
        self.srtt = Some(srtt);
        let virtual_rtt = srtt.max(VIRTUAL_RTT);
        let marked = ack.ecn.map_or(Bytes::ZERO, |echo| echo.ce).min(ack.bytes);
        self.recovers &= Some(newest.sent_at) < self.lost_at;
        self.acked += ack.bytes;
        self.marked += marked;
        self.has_been_marked |= !marked.is_zero();
        self.move_alpha(ack.now, newest.sent_at, virtual_rtt);
        if self.recovers {
            return;
        }
        if ack.cwnd_limited {
            self.grow(ack.bytes - marked, srtt);
        }
        let apart = if self.is_independent_of_rtt() { virtual_rtt } else { Span::ZERO };
        if !marked.is_zero() && self.cut_round.is_over(ack.now, newest.sent_at, apart) {
            self.cut_to(self.window * (1.0 - self.alpha / 2.0));
            self.cut_round.began = Some(ack.now);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.packet_size = loss.packet_size;
        let newest = loss.packets.last().map(|newest| newest.sent_at);
        // As long as nothing arrives that left after a cut, further time-outs belong to it.
        if !self.recovers && newest >= self.lost_at {
            self.taken = self.window * (1.0 - BETA);
            self.cut_to(self.window * BETA);
            self.lost_at = Some(loss.now);
            self.recovers = true;
        }
        if loss.persistent {
            self.window = LEAST_PACKETS;
        }
    }

    fn on_event(&mut self, _: Time, event: Event) {
        if event == Event::SpuriousLoss {
            self.window += std::mem::take(&mut self.taken);
            self.recovers = false;
        }
    }

    fn limits(&self) -> Limits {
        let window = Bytes::new((self.window * self.packet_size.as_f64()) as u64);
        let gain = if self.window < self.ssthresh / 2.0 { 2 } else { 1 };
        let rate = self.srtt.map(|srtt| Rate::from_transfer(window * gain, srtt));
        // Over an RTT of days the rate is zero, which would stop the flow.
        match rate.filter(|rate| !rate.is_zero()) {
            None => Limits::window_only(window),
            Some(rate) => Limits::paced(window, rate, rate.bytes_in(BURST).max(self.packet_size)),
        }
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("alpha", "", self.alpha);
        if self.ssthresh.is_finite() {
            observer.value("ssthresh", "pkt", self.ssthresh);
        }
    }
}

#[cfg(test)]
mod tests;

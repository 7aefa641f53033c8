//! HyStart++: slow start that ends before it overflows the queue.
//!
//! 1. Each round of slow start takes the minimum of its RTT samples.
//! 2. A round whose minimum lies an eighth (4 to 16 ms) above that of the round before ends slow start.
//! 3. Conservative slow start (CSS) follows: a quarter of the growth, for five rounds.
//! 4. An RTT below the one that began CSS proves the rise to have been noise: slow start resumes.
//! 5. After five rounds of CSS the window becomes ssthresh and congestion avoidance begins.
//!
//! ```text
//!           RTT rise                    5 rounds
//!  slow ---------------> conservative -------------> congestion
//!  start <--------------  slow start                 avoidance
//!          RTT falls again                           (from loss in either, too)
//! ```
//!
//! Source: RFC 9406.
//!
//! Differences from the RFC: none in the rules. Off by default in both laws: RFC 9406 is optional to RFC 5681 and to
//! RFC 9438 (section 4.10: MAY), Linux's Reno has nothing of the kind, and Linux's CUBIC carries the older HyStart, whose
//! ACK-train test this is not: [`SlowStart::Linux`] is that one. A cellular link may vary its RTT by more than the threshold
//! without a standing queue, which would end slow start early; the switch exists to measure that.

use super::search::Search;
use crate::contract::Ack;
use cellcc_units::{Bytes, Rate, Span, Time};

/// RFC 9406, section 4.3: the smallest RTT rise that counts.
const MIN_RTT_THRESH: Span = Span::from_millis(4);
/// RFC 9406, section 4.3: the largest RTT rise that is waited for.
const MAX_RTT_THRESH: Span = Span::from_millis(16);
/// RFC 9406, section 4.3: between the two, the rise is this fraction of the RTT.
const MIN_RTT_DIVISOR: u64 = 8;
/// RFC 9406, section 4.3: a round with fewer RTT samples decides nothing.
const N_RTT_SAMPLE: u32 = 8;
/// RFC 9406, section 4.3: conservative slow start grows by this fraction of slow start.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// RFC 9406, section 4.3: rounds of conservative slow start.
const CSS_ROUNDS: u32 = 5;
/// RFC 9406, section 4.3: packets that one ACK of an unpaced sender may add (`L`).
const L: u64 = 8;

/// The test that ends slow start, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowStart {
    /// None: slow start ends at a loss only (RFC 5681).
    UntilLoss,
    /// HyStart++ (RFC 9406) in the initial slow start.
    HystartPlusPlus,
    /// Linux 6.18's HyStart, in every slow start until it has ended one; then CUBIC grows by a twentieth per RTT at least, until
    /// a loss tells where to stop.
    Linux,
    /// Linux 4.13's, whose clock counts milliseconds.
    Linux4,
    /// SEARCH (draft-chung-ccwg-search) in the initial slow start.
    Search,
}

/// The effect of one acknowledgement on a window in slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// By how much the window grows.
    pub(crate) growth: Bytes,
    /// Slow start is over: the window is the new ssthresh.
    pub(crate) leave: bool,
}

/// The state of slow start.
#[derive(Debug, Clone)]
pub(crate) struct Hystart {
    mode: SlowStart,
    round: Option<u64>,
    last_round_min: Option<Span>,
    round_min: Option<Span>,
    samples: u32,
    conservative: Option<Conservative>,
    linux: LinuxHystart,
    search: Search,
}

#[derive(Debug, Clone)]
struct Conservative {
    /// The RTT that began this phase.
    baseline: Span,
    /// Rounds begun, the one in which the phase began included.
    rounds: u32,
}

impl Hystart {
    pub(crate) fn new(mode: SlowStart) -> Self {
        Self {
            mode,
            round: None,
            last_round_min: None,
            round_min: None,
            samples: 0,
            conservative: None,
            linux: LinuxHystart::new(mode == SlowStart::Linux4),
            search: Search::default(),
        }
    }

    /// Linux's HyStart, either version.
    fn is_linuxs(&self) -> bool {
        matches!(self.mode, SlowStart::Linux | SlowStart::Linux4)
    }

    /// Linux 6.18's HyStart.
    pub(crate) fn is_linux(&self) -> bool {
        self.mode == SlowStart::Linux
    }

    /// A time-out begins slow start again: Linux looks for its end once more (`cubictcp_state`).
    pub(crate) fn on_timeout(&mut self) {
        self.linux = LinuxHystart::new(self.mode == SlowStart::Linux4);
    }

    /// An acknowledgement in slow start at this window. `initial`: no loss has set ssthresh so far (RFC 9406, section 4.3: only
    /// the initial slow start is watched, later ones know where to stop).
    pub(crate) fn on_ack(&mut self, ack: &Ack<'_>, initial: bool, window: Bytes) -> Step {
        if self.mode == SlowStart::UntilLoss || !(initial || self.mode == SlowStart::Linux) {
            return Step { growth: ack.bytes, leave: false };
        }
        if self.is_linuxs() {
            return Step { growth: ack.bytes, leave: self.linux.leaves(ack, window) };
        }
        if self.mode == SlowStart::Search {
            return Step { growth: ack.bytes, leave: self.search.leaves(ack) };
        }
        let leave = self.begin_round(ack.round);
        let allowed = ack.bytes.min(ack.packet_size * L);
        let growth = match self.conservative {
            Some(_) => Bytes::new(allowed.get() / CSS_GROWTH_DIVISOR),
            None => allowed,
        };
        if let Some(sample) = ack.rtt_sample {
            self.samples = self.samples.saturating_add(1);
            self.round_min = Some(self.round_min.map_or(sample, |min| min.min(sample)));
        }
        self.judge();
        Step { growth, leave }
    }

    /// An acknowledgement while the window is not used, and does not grow: Linux looks at every acknowledgement (`cubictcp_acked`).
    pub(crate) fn ends_unused(&mut self, ack: &Ack<'_>, window: Bytes) -> bool {
        self.is_linuxs() && self.linux.leaves(ack, window)
    }

    /// Turns the page if a new round has begun; true where conservative slow start has lasted its rounds.
    fn begin_round(&mut self, round: u64) -> bool {
        if self.round.replace(round) == Some(round) {
            return false;
        }
        self.last_round_min = self.round_min.take();
        self.samples = 0;
        match &mut self.conservative {
            Some(phase) => {
                phase.rounds += 1;
                phase.rounds > CSS_ROUNDS
            }
            None => false,
        }
    }

    fn judge(&mut self) {
        let (Some(min), true) = (self.round_min, self.samples >= N_RTT_SAMPLE) else { return };
        match (&self.conservative, self.last_round_min) {
            (Some(phase), _) if min < phase.baseline => self.conservative = None,
            (None, Some(last)) if min >= last + threshold(last) => {
                self.conservative = Some(Conservative { baseline: min, rounds: 1 });
            }
            _ => {}
        }
    }
}

pub(super) fn threshold(last_round_min: Span) -> Span {
    (last_round_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

// HyStart as Linux has it: slow start that ends at the first sign of a queue.
//
// 1. From a window of 16 packets on, ACKs that follow each other within 2 ms are a train. One that lasts longer than half the
//    minimum RTT ends slow start: the window fills the path.
// 2. A round whose RTTs, eight at least, all lie an eighth (4 to 16 ms) above the minimum RTT also ends it.
// 3. The window is then ssthresh. Slow start after a time-out is watched again.
//
// Source: Ha and Rhee, "Taming the elephants", Computer Networks 55(9), 2011; Linux 6.18: tcp_cubic.c, `hystart_update`,
// for a socket that is not paced; Linux 4.13 for `Linux4`: its clock counts milliseconds, only the first eight RTTs of a round
// count, and nothing is added for data that receivers gather.
//
// Differences: the acknowledgement that ends slow start still lets the window grow. The newer HyStart++ is that of RFC 9406.

/// `hystart_low_window`, in packets.
const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta_us`.
const ACK_DELTA: Span = Span::from_millis(2);
/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// `hystart_ack_delay`: the time that the ACKs of gathered packets may come late, at most.
const MAX_ACK_DELAY: Span = Span::from_millis(1);
/// `hystart_ack_delay`: four of the largest pieces in which a socket sends (`GSO_LEGACY_MAX_SIZE`).
const GATHERED: Bytes = Bytes::new(4 * 65_536);
/// `net.ipv4.tcp_pacing_ss_ratio`: in slow start the pacing rate, which `hystart_ack_delay` reads, is two windows per RTT.
const WINDOWS_PER_RTT: u64 = 2;

/// The state of a flow.
#[derive(Debug, Clone)]
pub(super) struct LinuxHystart {
    is_4: bool,
    round: Option<u64>,
    round_start: Time,
    last_ack: Time,
    samples: u32,
    round_min: Option<Span>,
    found: bool,
}

impl LinuxHystart {
    fn new(is_4: bool) -> Self {
        Self {
            is_4,
            round: None,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            samples: 0,
            round_min: None,
            found: false,
        }
    }

    /// An acknowledgement in slow start: true where it ends it.
    fn leaves(&mut self, ack: &Ack<'_>, window: Bytes) -> bool {
        let now = Time::ZERO + self.on_clock(ack.now.since(Time::ZERO));
        if self.round.replace(ack.round) != Some(ack.round) {
            (self.round_start, self.last_ack) = (now, now);
            (self.samples, self.round_min) = (0, None);
        }
        let is_large = window >= ack.packet_size * LOW_WINDOW;
        let Some(sample) = ack.rtt_sample.filter(|_| is_large && !self.found) else { return false };
        let min_rtt = ack.rtt.min();
        self.found = self.is_long_train(now, self.longest_train(min_rtt, window, ack.rtt.smoothed()))
            || self.is_delayed(sample, min_rtt);
        self.found
    }

    fn longest_train(&self, min_rtt: Span, window: Bytes, srtt: Span) -> Span {
        if self.is_4 {
            return self.on_clock(min_rtt / 2);
        }
        let rate = Rate::from_transfer(window * WINDOWS_PER_RTT, srtt);
        (min_rtt + rate.time_for(GATHERED).min(MAX_ACK_DELAY)) / 2
    }

    fn is_long_train(&mut self, now: Time, longest: Span) -> bool {
        if now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        now.since(self.round_start) > longest
    }

    fn is_delayed(&mut self, sample: Span, min_rtt: Span) -> bool {
        let is_early = self.samples < MIN_SAMPLES;
        if is_early || !self.is_4 {
            self.round_min = Some(self.round_min.map_or(sample, |min| min.min(sample)));
        }
        self.samples += u32::from(is_early);
        !is_early && self.round_min.is_some_and(|min| min > min_rtt + threshold(min_rtt))
    }

    /// As the kernel's clock shows it.
    fn on_clock(&self, span: Span) -> Span {
        let millis = Span::from_millis(1).as_nanos();
        if self.is_4 { Span::from_nanos(span.as_nanos() / millis * millis) } else { span }
    }
}

#[cfg(test)]
mod tests {
    use crate::growth::{Cubic, Growth, SlowStart};
    use crate::{Ack, Context, Rtt};
    use cellcc_units::{Bytes, Span, Time};

    const MS: Span = Span::from_millis(1);
    const PACKET: Bytes = Bytes::new(1500);

    /// The window at the end of each round until slow start is over, for CUBIC with one ACK per packet at this interval and
    /// rounds of 100 packets.
    fn windows(mode: SlowStart, gap: Span, rtt_of_round: impl Fn(u64) -> Span) -> Vec<f64> {
        let context = Context::new(PACKET, PACKET * 20, 1);
        let mut cubic = Cubic::new(&context, mode);
        let (mut rtt, mut now, mut windows) = (Rtt::default(), Time::ZERO, Vec::new());
        for number in 0..1000 {
            let round = number / 100;
            now += if number % 100 == 0 { MS * 100 } else { gap };
            let sample = rtt_of_round(round);
            rtt.add(sample);
            cubic.on_ack(&Ack {
                now,
                packets: &[],
                bytes: PACKET,
                rtt: &rtt,
                rtt_sample: Some(sample),
                rate: None,
                inflight_before: Bytes::ZERO,
                inflight: Bytes::ZERO,
                delivered: Bytes::ZERO,
                cwnd_limited: true,
                round,
                round_start: false,
                in_recovery: false,
                ecn: None,
                packet_size: PACKET,
            });
            if !cubic.in_slow_start() {
                windows.push(cubic.window().in_packets(PACKET));
                break;
            }
            if number % 100 == 99 {
                windows.push(cubic.window().in_packets(PACKET));
            }
        }
        windows
    }

    #[test]
    fn a_train_of_acks_that_is_longer_than_half_the_minimum_rtt_ends_slow_start() {
        // 21 ms after the first of the round, of 40 ms and 1 ms for gathered packets: the 22nd ACK.
        for mode in [SlowStart::Linux, SlowStart::Linux4] {
            assert_eq!(windows(mode, MS, |_| MS * 40), [20.0 + 22.0]);
            assert_eq!(windows(mode, MS * 3, |_| MS * 40).len(), 10, "3 ms are no train");
            assert_eq!(windows(mode, Span::ZERO, |_| MS * 40).len(), 10, "a burst is no train");
        }
        // 20.5 ms: the older clock shows 20 of them, and allows 20.
        let gap = Span::from_micros(500);
        assert_eq!(windows(SlowStart::Linux, gap, |_| MS * 40), [20.0 + 43.0]);
        assert_eq!(windows(SlowStart::Linux4, gap, |_| MS * 40), [20.0 + 43.0]);
    }

    #[test]
    fn a_round_whose_rtts_all_lie_an_eighth_above_the_minimum_ends_slow_start() {
        // The ninth decides.
        for mode in [SlowStart::Linux, SlowStart::Linux4] {
            let of = |rtt| windows(mode, Span::ZERO, |round| MS * if round < 2 { 80 } else { rtt });
            assert_eq!(of(91), [120.0, 220.0, 229.0]);
            assert_eq!(of(90).len(), 10);
        }
    }
}

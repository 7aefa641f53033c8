//! The advice as a flow follows it: the last report, how long it counts, and the window that it gives.

use super::fairness::{FAIRNESS, Fairness, FlowReport};
use super::parameters::{BURST, GUARD, TIMEOUT, config};
use crate::{
    bbr::LOW_RATE,
    kernel_view::{instant, micros, micros_up, q16, time},
};
use cellcc_control::{
    Ack, Advice, Arguments, Context, Feedback, Guard, Limits, Loss, Observer, Promise, Rtt, Sent, ShownValue,
    Verdict,
};
use cellcc_fixed::{
    BytesPerSecond, Q16,
    assisted::{self, Advice as LawAdvice, Config, Freshness, Limits as Law, Minimum, Path},
};
use cellcc_units::{Bytes, Rate, Span, Time};

// The advice in hand, and whether to follow it: one place for the time-out, the guard and the share.

/// The classes of a user as they are shown, by their numbers.
const CLASSES: [&str; 3] = ["backlogged", "partial", "idle"];

/// The values that every scheme with advice exposes.
pub(super) const SHOWS: [ShownValue; 6] = [
    ShownValue::switch("following", "the advice of the network decides"),
    ShownValue::number("advised_bandwidth_mbit_s", "the user's bandwidth as reported by the network"),
    ShownValue::number("advised_min_rtt_ms", "the RTT with empty queues as reported by the network"),
    ShownValue::state("advised_class", "the user's class as reported by the network", &CLASSES),
    ShownValue::number("advised_backlog_kB", "the user's queue as reported by the network"),
    ShownValue::number("beta", "flows among which the user's bandwidth is divided"),
];

/// The advice that the flow follows now: neither too old nor refuted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TrustedAdvice {
    /// The user's bottleneck bandwidth, for all its flows together.
    pub(super) bandwidth: Rate,
    /// As the network tells it; `None` where it does not.
    pub(super) min_rtt: Option<Span>,
    /// The user's flows; at least one.
    pub(super) flows: u32,
    /// By how much to exceed the above: above one in a probe of the guard.
    pub(super) gain: f64,
}

/// Keeps one flow's advice, and judges whether to trust it.
#[derive(Debug, Clone)]
pub(super) struct AdviceTracker {
    fairness: Fairness,
    timeout: Timeout,
    guard: Guard,
    guarded: bool,
    advice: Option<Advice>,
    /// The user's own count of its flows.
    reported: FlowReport,
}

impl AdviceTracker {
    pub(super) fn new(arguments: &Arguments) -> Self {
        Self {
            fairness: arguments.get(&FAIRNESS),
            timeout: Timeout::new(q16(arguments.get(&TIMEOUT))),
            guard: Guard::default(),
            guarded: arguments.get(&GUARD),
            advice: None,
            reported: FlowReport::FIRST,
        }
    }

    /// The advice to follow; none without advice, or without trust in it.
    pub(super) fn trusted(&mut self, now: Time) -> Option<TrustedAdvice> {
        let advice = self.fresh();
        if advice.is_none() {
            self.guard.pause();
        }
        let advice = advice.filter(|_| self.guard.trusts() || !self.guarded)?;
        Some(TrustedAdvice {
            bandwidth: advice.bandwidth,
            min_rtt: advice.min_rtt.map(|parts| parts.total()),
            flows: self.flows(&advice),
            gain: if self.guarded { self.guard.gain(now) } else { 1.0 },
        })
    }

    /// The advice, where it is not too old.
    fn fresh(&self) -> Option<Advice> {
        self.advice.filter(|_| self.timeout.is_following())
    }

    fn flows(&self, advice: &Advice) -> u32 {
        self.fairness.flows(advice, self.reported.flows.into())
    }

    /// True where [`trusted`](Self::trusted) may have changed.
    pub(super) fn on_advice(&mut self, now: Time, advice: &Advice) -> bool {
        let taken = self.timeout.on_advice(now, advice);
        if taken {
            self.advice = Some(*advice);
            let Advice { bandwidth: whole, period, min_rtt, .. } = *advice;
            let share = whole.mul_f64(1.0 / f64::from(self.flows(advice)));
            let promise = Promise { share, whole, period, network_rtt: min_rtt.map(|parts| parts.network) };
            self.guard.on_advice(now, promise);
        }
        taken
    }

    /// The user's report of its flows came; where it is taken, [`trusted`](Self::trusted) may have changed.
    pub(super) fn on_feedback(&mut self, feedback: &Feedback) -> Verdict {
        self.reported.update(feedback)
    }

    /// `held_back` where something else than the advice is the limit.
    pub(super) fn on_sent(&mut self, sent: &Sent, held_back: bool) {
        let mut sent = *sent;
        sent.app_limited |= held_back;
        self.guard.on_sent(&sent);
    }

    pub(super) fn on_ack(&mut self, ack: &Ack<'_>) {
        self.timeout.on_rtt(ack.rtt);
        if self.guarded && self.fresh().is_some() {
            self.guard.on_ack(ack);
        }
    }

    pub(super) fn on_loss(&mut self, loss: &Loss<'_>) {
        self.guard.on_loss(loss);
    }

    pub(super) fn next_timer(&self) -> Option<Time> {
        self.timeout.next_timer()
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        self.timeout.on_timer(now);
    }

    pub(super) fn observe(&self, observer: &mut dyn Observer) {
        if let Some(advice) = &self.advice {
            observer.value("advised_bandwidth", "mbit_s", advice.bandwidth.as_mbit_per_sec());
            if let Some(parts) = advice.min_rtt {
                observer.value("advised_min_rtt", "ms", parts.total().as_millis_f64());
            }
            observer.state("advised_class", &CLASSES, advice.class as usize);
            observer.value("advised_backlog", "kB", advice.backlog.as_f64() / 1e3);
            observer.value("beta", "", f64::from(self.flows(advice)));
        }
    }
}

// The presence of advice to follow: the state machine of the kernel ([`Freshness`]), with a timer.

/// A probe time-out is the smoothed RTT and four deviations (RFC 9002, section 6.2.1).
const DEVIATIONS: u64 = 4;

/// The time-out of one flow's advice.
#[derive(Debug, Clone)]
pub(super) struct Timeout {
    config: Config,
    probe_timeout: Span,
    freshness: Freshness,
    /// End of the period of the newest advice.
    newest: Option<Time>,
}

impl Timeout {
    /// Times out after so many periods without advice.
    pub(super) fn new(timeout_periods: Q16) -> Self {
        let config = Config { timeout_periods, ..Config::default() };
        Self { config, probe_timeout: Span::ZERO, freshness: Freshness::START, newest: None }
    }

    /// Advice is there to follow.
    fn is_following(&self) -> bool {
        self.freshness.is_following()
    }

    /// Takes advice; false if it is known, older than the last, or too old to follow.
    pub(super) fn on_advice(&mut self, now: Time, advice: &Advice) -> bool {
        let measured_at = now - advice.age;
        // The kernel does not take it twice either: it looks for news in a map that holds the newest.
        if self.newest == Some(measured_at) {
            return false;
        }
        let seen = assisted::Advice {
            measured_at: instant(measured_at),
            period: micros(advice.period),
            ..assisted::Advice::default()
        };
        let path = Path { now: instant(now), probe_timeout: micros(self.probe_timeout), ..Path::default() };
        let taken = self.freshness.on_advice(&self.config, &seen, &path);
        if taken {
            self.newest = Some(measured_at);
        }
        taken
    }

    /// Learns how long the path may take.
    fn on_rtt(&mut self, rtt: &Rtt) {
        self.probe_timeout = rtt.smoothed() + rtt.variation() * DEVIATIONS;
    }

    /// Time at which the advice in hand will be too old.
    pub(super) fn next_timer(&self) -> Option<Time> {
        self.freshness.expires_at().map(time)
    }

    /// Lets advice expire that is too old by now.
    pub(super) fn on_timer(&mut self, now: Time) {
        self.freshness.expire(instant(now));
    }
}

// The window law of NATCP (paper, equation 1): alpha x minRTT x BLBw / beta, paced at BLBw; that of the kernel, in the
// contract's units.

/// Makes a window and a pacing rate from advice.
#[derive(Debug, Clone)]
pub(super) struct WindowLaw {
    /// The size of a full packet.
    pub(super) packet_size: Bytes,
    pub(super) config: Config,
    /// The burst limit, in time at the pacing rate.
    pub(super) burst: Span,
    minimum: Minimum,
}

/// The RTT as the flow itself has seen it; `None` before the first sample.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OwnRtt {
    pub(super) min: Option<Span>,
    pub(super) smoothed: Option<Span>,
}

impl WindowLaw {
    /// The law of these arguments.
    pub(super) fn read(arguments: &Arguments, context: &Context) -> Self {
        Self {
            packet_size: context.packet,
            config: config(arguments),
            burst: arguments.get(&BURST),
            minimum: Minimum::START,
        }
    }

    /// The limits at `now` for a bottleneck of `bandwidth` shared by `flows`, whose minimum RTT is advised so.
    pub(super) fn limits(
        &mut self,
        now: Time,
        bandwidth: Rate,
        min_rtt: Option<Span>,
        flows: u32,
        own: &OwnRtt,
    ) -> Limits {
        // Up: a window that is to hold just a packet more holds it.
        let up = |span: Option<Span>| span.map_or_else(Default::default, micros_up);
        let advice = LawAdvice {
            bandwidth: BytesPerSecond(bandwidth.as_bytes_per_sec()),
            min_rtt: up(min_rtt),
            flows,
            ..LawAdvice::default()
        };
        let path = Path {
            now: instant(now),
            min_rtt: up(own.min),
            rtt: up(own.smoothed),
            packet_bytes: u32::try_from(self.packet_size.get()).unwrap_or(u32::MAX),
            ..Path::default()
        };
        // The report of a dead link has the packet's time of before the outage in it.
        let min_rtt = match own.min {
            Some(own) if bandwidth.is_zero() => micros_up(own),
            _ => self.minimum.rtt(&self.config, advice.min_rtt, &path),
        };
        let law = Law::advised(&self.config, &advice, &path, min_rtt);
        let rate = Rate::from_bytes_per_sec(law.pacing.0);
        // The authors' NATCP is Linux's BBR module: as there, packets leave in pairs except at the lowest rates.
        let least = if rate < LOW_RATE { self.packet_size } else { self.packet_size * 2 };
        Limits::paced(self.packet_size * u64::from(law.cwnd.0), rate, rate.bytes_in(self.burst).max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assisted::tests::advice;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn following_since_100_ms() -> Timeout {
        let mut timeout = Timeout::new(Q16(6 << 16));
        assert!(!timeout.is_following());
        assert!(timeout.on_advice(at(100), &advice(12.0)));
        timeout
    }

    #[test]
    fn advice_is_held_for_six_periods() {
        let mut timeout = following_since_100_ms();
        assert_eq!(timeout.next_timer(), Some(at(400)), "50 ms each");
        timeout.on_timer(at(399));
        assert!(timeout.is_following());
        timeout.on_timer(at(400));
        assert!(!timeout.is_following());
    }

    #[test]
    fn after_a_time_out_two_reports_in_a_row_are_needed() {
        let mut timeout = following_since_100_ms();
        timeout.on_timer(at(400));
        timeout.on_advice(at(1000), &advice(12.0));
        assert!(!timeout.is_following());
        // The one at 1000 ms has expired: it does not count.
        timeout.on_advice(at(2000), &advice(12.0));
        assert!(!timeout.is_following());
        timeout.on_advice(at(2050), &advice(12.0));
        assert!(timeout.is_following());
    }

    #[test]
    fn advice_that_is_overtaken_or_too_old_is_not_taken() {
        let mut timeout = following_since_100_ms();
        assert!(!timeout.on_advice(at(110), &advice(1.0).with_age(Span::from_millis(20))));
        assert!(!timeout.on_advice(at(900), &advice(1.0).with_age(Span::from_millis(300))));
        assert_eq!(timeout.next_timer(), Some(at(400)), "the old deadline stands");
    }

    #[test]
    fn short_periods_do_not_make_a_hasty_time_out() {
        let mut timeout = Timeout::new(Q16(6 << 16));
        let mut short = advice(12.0);
        short.period = Span::from_millis(10);
        timeout.on_advice(at(0), &short);
        assert_eq!(timeout.next_timer(), Some(at(200)));
    }

    #[test]
    fn a_slow_path_waits_for_its_own_probe_time_out() {
        let mut timeout = Timeout::new(Q16(6 << 16));
        let mut rtt = Rtt::default();
        rtt.add(Span::from_millis(400));
        timeout.on_rtt(&rtt);
        timeout.on_advice(at(0), &advice(12.0));
        assert_eq!(timeout.next_timer(), Some(at(1200)), "400 ms and four times 200");
    }

    const UNSEEN: OwnRtt = OwnRtt { min: None, smoothed: None };
    const MIN_RTT: Option<Span> = Some(Span::from_millis(20));

    fn law() -> WindowLaw {
        WindowLaw {
            packet_size: Bytes::new(1500),
            config: Config::default(),
            burst: Span::from_millis(1),
            minimum: Minimum::START,
        }
    }

    #[test]
    fn one_flow_has_two_bdps_paced_at_the_bandwidth() {
        let limits = law().limits(at(0), Rate::from_mbit_per_sec(12.0), MIN_RTT, 1, &UNSEEN);
        assert_eq!(limits.window, Bytes::new(60_000));
        assert_eq!(limits.pacing_rate, Some(Rate::from_mbit_per_sec(12.0)));
    }

    #[test]
    fn two_bdps_of_just_so_many_packets_hold_them() {
        // 62 packets and a few bytes; the minimum RTT rounded down to a microsecond would make it 61.
        let limits = law().limits(
            at(0),
            Rate::from_mbit_per_sec(36.0),
            Some(Span::from_nanos(10_333_334)),
            1,
            &UNSEEN,
        );
        assert_eq!(limits.window, Bytes::new(62 * 1500));
    }

    #[test]
    fn flows_share_the_window_and_by_the_switch_the_rate() {
        let bandwidth = Rate::from_mbit_per_sec(12.0);
        let limits = law().limits(at(0), bandwidth, MIN_RTT, 4, &UNSEEN);
        assert_eq!((limits.window, limits.pacing_rate), (Bytes::new(15_000), Some(bandwidth)));
        let mut shared = WindowLaw { config: Config { paces_at_share: true, ..Config::default() }, ..law() };
        let limits = shared.limits(at(0), bandwidth, MIN_RTT, 4, &UNSEEN);
        assert_eq!(limits.pacing_rate, Some(Rate::from_mbit_per_sec(3.0)));
    }

    #[test]
    fn an_outage_leaves_two_packets_and_one_per_round_trip() {
        let limits = law().limits(at(0), Rate::ZERO, MIN_RTT, 1, &UNSEEN);
        assert_eq!(limits.window, Bytes::new(3000));
        assert_eq!(limits.pacing_rate, Some(Rate::from_transfer(law().packet_size, Span::from_millis(20))));
    }

    #[test]
    fn fast_and_long_paths_do_not_overflow() {
        // 20 ms x 107 Mbit/s overflows the authors' 32 bits.
        let limits =
            law().limits(at(0), Rate::from_mbit_per_sec(100_000.0), Some(Span::from_secs(60)), 1, &UNSEEN);
        assert_eq!(limits.window, Bytes::new(1_500_000_000_000));
        let limits = law().limits(at(0), Rate::MAX, Some(Span::MAX), u32::MAX, &UNSEEN);
        assert!(limits.window >= law().packet_size * 2);
        assert!(
            law()
                .limits(at(0), Rate::ZERO, Some(Span::MAX), 0, &UNSEEN)
                .pacing_rate
                .is_some_and(|rate| !rate.is_zero())
        );
    }
}

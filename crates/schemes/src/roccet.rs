//! ROCCET: CUBIC that also answers delay, for queues that no other sender fills (RLC in LTE and 5G).
//!
//! 1. **Launch** is slow start. It ends where RTTs are twice the least while the rate of acknowledged packets has stopped growing.
//! 2. **Orbiter** is CUBIC. Every five RTTs, where RTTs are twice the least and more was sent than acknowledged, the window is cut
//!    as for a loss, and then **drains** for 100 ms without growth.
//! 3. After 5 s without a lower RTT it **probes**: half the window shows the RTT of an empty queue, and then the old window is back.
//!
//! ```text
//!            queue, loss or          queue and sent > acknowledged
//!            window unused            (or a mark)
//!   Launch ----------------> Orbiter ------------> Drain
//!     ^                       |   ^ <---------------' 100 ms
//!     | time-out, idle        |   |
//!     +---- from all          v   | twice max(200 ms, RTT)
//!                             Probe
//! ```
//!
//! Source: a description of the patches for Linux of 2026 and of their review; neither code nor paper was read.
//!
//! **Differences, and where the description leaves a choice.** CUBIC is [`Cubic`], with C = 0.4 and beta = 0.7 where the patch has 41/1024
//! per bit-shift and 717/1024. "Not while more was sent than acknowledged" would stop growth after one packet in five RTTs, since
//! growth itself is sent: growth stops at the excess that also makes an event, a hundredth of the window. Below 100 packets that is less
//! than a packet, and one in five RTTs is what remains (18 to 99 packets in 17 s at 40 ms, after a rise from 0.2 to 200 Mbit/s). A recovery has had its cut, so
//! that no event comes within one. Persistent congestion (RFC 9002) is the time-out.

use cellcc_control::{
    Ack, Context, Controller, Event, Limits, Loss, Needs, Observer, SchemeInfo, Sent, ShownValue, Tag,
    growth::{Cubic, Growth, HystartMode},
};
use cellcc_units::{Bytes, Rate, Span, Time};
use std::sync::Arc;

/// srRTT above which there is a queue, in per cent above the least RTT.
const QUEUE_PERCENT: f64 = 100.0;
/// Weight of a sample in srRTT.
const WEIGHT: f64 = 0.2;
/// What acknowledged packets are counted in.
const RATE_INTERVAL: Span = Span::from_millis(100);
/// Packets in [`RATE_INTERVAL`] by which the rate must grow for Launch to go on.
const LEAST_GROWTH_PACKETS: u64 = 10;
/// A count of acknowledged packets is forgotten after so long without any.
const RATE_FORGOTTEN: Span = Span::from_secs(2);
/// From then on Launch ends where the window is not used, even if it never was.
const UNUSED_AFTER: Span = Span::from_millis(500);
/// RTTs from one look at the queue to the next, and the longest time.
const LOOK_RTTS: u64 = 5;
const LOOK_AT_MOST: Span = Span::from_secs(1);
/// Bytes sent beyond those acknowledged that mean a growing queue, as a share of the window.
const EXCESS: f64 = 0.01;
/// How long an event stops growth.
const DRAIN: Span = Span::from_millis(100);
/// Without a lower RTT for so long, it is probed for.
const PROBE_AFTER: Span = Span::from_secs(5);
/// A probe lasts an RTT, within these.
const PROBE_AT_LEAST: Span = Span::from_millis(200);
const PROBE_AT_MOST: Span = Span::from_secs(10);
/// The least window of Launch's end and of a probe, and the window after a time-out, in packets.
const LEAST_PACKETS: u64 = 10;

const STATES: [&str; 4] = ["launch", "orbiter", "drain", "probe"];
const SHOWS: [ShownValue; 2] = [
    ShownValue::state("state", "what it does", &STATES),
    ShownValue::number("sr_rtt_percent", "srRTT: the smoothed RTT, in per cent above the least"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo {
        name: "roccet".into(),
        summary: "CUBIC with a delay signal, for queues of one's own in cellular networks".into(),
        source: "patches for Linux of April 2026, by a description".into(),
        parameters: Vec::new(),
        presets: Vec::new(),
        shows: [&SHOWS[..], &cellcc_control::growth::SHOWS[..]].concat(),
        needs: Needs::NOTHING,
        build: Arc::new(|_, context| Box::new(Roccet::new(context))),
    }
}

struct Roccet {
    context: Context,
    law: Cubic,
    phase: Phase,
    rtts: Rtts,
    rate: AckRate,
    /// Of the whole flow.
    sent: Bytes,
    look: Look,
    /// Launch has ended before.
    has_launched: bool,
    /// Smoothed RTT; none before the first sample.
    srtt: Option<Span>,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    /// `since` the first acknowledgement; the window was used, or had the time for it.
    Launch {
        since: Option<Time>,
        is_judged: bool,
    },
    Orbiter,
    Drain {
        until: Time,
    },
    /// With at most this window until `low_until`, and then the law's own until `until`.
    Probe {
        window: Bytes,
        low_until: Time,
        until: Time,
    },
}

/// What RTTs say of the queue.
#[derive(Default)]
struct Rtts {
    /// The least since the last probe, and when it was last lowered.
    least: Option<(Span, Time)>,
    /// In per cent above the least.
    sr_rtt: f64,
    last: Span,
    jitter: Span,
}

/// Acknowledged packets per interval.
#[derive(Default)]
struct AckRate {
    /// When the interval began, and packets in it.
    counting: Option<(Time, u64)>,
    /// Of the two intervals before, the newer one first.
    complete: [Option<u64>; 2],
    last_ack: Time,
}

/// Where the present interval of [`LOOK_RTTS`] began.
#[derive(Default)]
struct Look {
    since: Time,
    sent: Bytes,
    delivered: Bytes,
}

impl Rtts {
    fn add(&mut self, now: Time, sample: Span) {
        if self.least.is_none_or(|(least, _)| sample < least) {
            self.least = Some((sample, now));
        }
        let least = self.least_s();
        self.sr_rtt += WEIGHT * ((sample.as_secs_f64() - least) / least * 100.0 - self.sr_rtt);
        let last = if self.last.is_zero() { sample } else { self.last };
        self.jitter = sample.abs_diff(last);
        self.last = sample;
    }

    fn least_s(&self) -> f64 {
        self.least.map_or(f64::INFINITY, |(least, _)| least.as_secs_f64())
    }
}

impl AckRate {
    fn add(&mut self, now: Time, packets: u64) {
        if now.since(self.last_ack) >= RATE_FORGOTTEN {
            *self = Self::default();
        }
        self.last_ack = now;
        let (since, count) = self.counting.unwrap_or((now, 0));
        self.counting = Some(if now.since(since) < RATE_INTERVAL {
            (since, count + packets)
        } else {
            self.complete = [Some(count), self.complete[0]];
            (now, packets)
        });
    }

    fn has_stopped_growing(&self) -> bool {
        let [Some(current), Some(last)] = self.complete else { return false };
        current <= last + LEAST_GROWTH_PACKETS
    }
}

impl Roccet {
    fn new(context: &Context) -> Self {
        Self {
            context: *context,
            law: Cubic::new(context, HystartMode::Off),
            phase: Phase::LAUNCH,
            rtts: Rtts::default(),
            rate: AckRate::default(),
            sent: Bytes::ZERO,
            look: Look::default(),
            has_launched: false,
            srtt: None,
        }
    }

    fn least_window(&self) -> Bytes {
        self.context.packet * LEAST_PACKETS
    }

    fn launch(&mut self, ack: &Ack<'_>, since: Option<Time>, is_judged: bool) {
        let since = since.unwrap_or(ack.now);
        let is_judged = is_judged || ack.cwnd_limited || ack.now.since(since) >= UNUSED_AFTER;
        let has_queue = self.rtts.sr_rtt > QUEUE_PERCENT && self.rate.has_stopped_growing();
        if has_queue || is_judged && !ack.cwnd_limited {
            let share = if self.has_launched { 2.0 / 3.0 } else { 0.5 };
            self.law.set_window(self.law.window().mul_f64(share).max(self.least_window()));
            self.end_launch();
            return;
        }
        self.phase = Phase::Launch { since: Some(since), is_judged };
        self.law.on_ack(ack);
    }

    fn end_launch(&mut self) {
        self.law.set_ssthresh(self.law.window());
        self.has_launched = true;
        self.phase = Phase::Orbiter;
    }

    fn orbiter(&mut self, ack: &Ack<'_>) {
        if self.rtts.least.is_some_and(|(_, since)| ack.now.since(since) >= PROBE_AFTER) && !ack.in_recovery {
            self.begin_probe(ack);
            return;
        }
        let sent = self.sent - self.look.sent;
        let excess = sent.saturating_sub(ack.delivered - self.look.delivered);
        let is_excess = excess > self.law.window().mul_f64(EXCESS);
        if ack.now.since(self.look.since) >= (ack.rtt.smoothed() * LOOK_RTTS).min(LOOK_AT_MOST) {
            self.look_anew(ack);
            let bound = QUEUE_PERCENT * (1.0 + self.rtts.jitter.as_secs_f64() / self.rtts.least_s());
            if self.rtts.sr_rtt > bound && is_excess && !ack.in_recovery {
                self.congested(ack.now);
                return;
            }
        }
        if !is_excess {
            self.law.on_ack(ack);
        }
    }

    fn look_anew(&mut self, ack: &Ack<'_>) {
        self.look = Look { since: ack.now, sent: self.sent, delivered: ack.delivered };
    }

    fn congested(&mut self, now: Time) {
        self.law.on_event(now, Event::CongestionMarked);
        self.phase = Phase::Drain { until: now + DRAIN };
        self.has_launched = true;
    }

    fn begin_probe(&mut self, ack: &Ack<'_>) {
        let part = if ack.cwnd_limited { 1.0 / 2.0 } else { 1.0 / 3.0 };
        let window = self.law.window().mul_f64(part).max(self.least_window()).min(self.law.window());
        let lasts = ack.rtt.smoothed().min(PROBE_AT_MOST).max(PROBE_AT_LEAST);
        self.phase = Phase::Probe { window, low_until: ack.now + lasts, until: ack.now + lasts * 2 };
        self.rtts.least = None;
    }

    fn restart(&mut self) {
        let (sent, has_launched) = (self.sent, self.has_launched);
        *self = Self { sent, has_launched, ..Self::new(&self.context) };
        self.law.set_window(self.least_window());
    }
}

impl Phase {
    const LAUNCH: Self = Self::Launch { since: None, is_judged: false };
}

impl Controller for Roccet {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.sent += sent.bytes;
        Tag::default()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.context.packet = ack.packet_size;
        self.srtt = Some(ack.rtt.smoothed());
        if let Some(sample) = ack.rtt_sample {
            self.rtts.add(ack.now, sample);
        }
        self.rate.add(ack.now, ack.packets.len() as u64);
        match self.phase {
            Phase::Launch { since, is_judged } => self.launch(ack, since, is_judged),
            Phase::Orbiter => self.orbiter(ack),
            Phase::Drain { until } | Phase::Probe { until, .. } if ack.now >= until => {
                self.phase = Phase::Orbiter;
                self.look_anew(ack);
            }
            Phase::Drain { .. } => {}
            Phase::Probe { low_until, until, .. } => {
                if ack.now >= low_until {
                    self.phase = Phase::Probe { window: Bytes::MAX, low_until, until };
                }
                // The law does not grow, and its clock stands still.
                self.law.on_ack(&Ack { cwnd_limited: false, ..*ack });
            }
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.context.packet = loss.packet_size;
        if loss.persistent {
            self.has_launched = false;
            self.restart();
        } else if let Phase::Launch { .. } = self.phase {
            self.end_launch();
        } else {
            self.law.on_loss(loss);
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::IdleRestart => self.restart(),
            Event::CongestionMarked => self.congested(now),
            _ => self.law.on_event(now, event),
        }
    }

    fn limits(&self) -> Limits {
        let window = match self.phase {
            Phase::Probe { window, .. } => window.min(self.law.window()),
            _ => self.law.window(),
        };
        let Some(srtt) = self.srtt.filter(|_| !self.rtts.last.is_zero()) else {
            return Limits::window_only(window);
        };
        // The smoothed RTT remembers an outage for as long as pacing by it lets no new sample come.
        let rtt = srtt.min(self.rtts.last);
        let gain = if window < self.law.ssthresh().mul_f64(0.5) { 2.0 } else { 1.0 };
        let rate = Rate::from_transfer(window, rtt).mul_f64(gain).max(Rate::from_bytes_per_sec(1));
        Limits::paced(window, rate, self.context.packet * 2)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        let state = match self.phase {
            Phase::Launch { .. } => 0,
            Phase::Orbiter => 1,
            Phase::Drain { .. } => 2,
            Phase::Probe { .. } => 3,
        };
        observer.state("state", &STATES, state);
        observer.value("sr_rtt", "percent", self.rtts.sr_rtt);
        self.law.observe(observer);
    }
}

#[cfg(test)]
mod tests;

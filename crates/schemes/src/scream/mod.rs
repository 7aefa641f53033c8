//! SCReAM v2: congestion control for video over cellular links, with a window as its reference and a media rate of it.
//!
//! 1. The receiver reports when packets arrived and which were marked: every 25 ms; Ericsson's after 16 packets or 40 ms.
//! 2. The window shrinks by the share of marks (alpha, as in DCTCP), by 0.3 for a loss (Ericsson's only where more than 1 % is lost, or
//!    the delay is high), and by the queueing delay's excess over half of its target, as if that were a mark; at most once per round,
//!    or per 25 ms (Ericsson's 30).
//! 3. It grows by a packet per round, and long after congestion by 2 % of itself; less where the window was when it last
//!    shrank, and where the delay varies.
//! 4. The media rate is the window per round-trip time. Packets are paced a tenth faster, and 1.5 to 3 windows may be in flight.
//! 5. With a queue that was never below 5 ms for 20 s, half of the rate shows what the base delay is.
//!
//! ```text
//!   report --> srtt, queueing delay, alpha --> loss, mark, delay?  --yes, a round after the last-->  shrink
//!                                                  | no                                               |
//!                                                  v                                                  v
//!                                                grow  ------------------------------------> media rate, pacing
//! ```
//!
//! Source: WebRTC's SCReAM v2, and with `preset=ericsson` EricssonResearch/scream (c8f84c3) for its constants and rules.
//!
//! **Differences from both.**
//! - *The transport's acknowledgements free the window*, which only caps the data in flight; reports alone drive decisions.
//! - *Where a frame ends is not known here*: no report leaves at its last packet, and a large frame is not paced faster.
//! - *The sender's queue is the application's*: Ericsson's rate falls with it, here the application clears it. Ericsson's also
//!   follows an RTT that is smoothed twice, and takes the smallest delay of 100 RTTs off the delay.
//! - *Each change of the rate reaches the encoder*, without hysteresis.
//! - *WebRTC has moved on since*: it judges losses by their share, and small windows by the media rate alone.
//! - *Without `l4s` packets are not ECN-capable*: Ericsson's factor of 0.9 for classic marks has no use.

mod delay;
mod window;

use crate::sent_history::SentHistory;
use cellcc_control::{
    Ack, ArrivalReport, ArrivalReporter, Context, Controller, Ecn, Limits, Loss, Observer, Parameter,
    ReportSchedule, Rtt, SchemeInfo, Sent, ShownValue, Tag, kind,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use delay::{Base, QueueDelay};
use window::{Congestion, Round, Window};

/// RFC 8888's unit of time, 1/1024 s. The newest packets are in a report whether an earlier one had them or not.
const UNIT: Span = Span::from_nanos(976_562);
const REPEATS: u64 = 32;
/// Target of the queueing delay, in seconds (both; Ericsson's programs set it).
const DELAY_TARGET: f64 = 0.06;
/// A packet is lost where one that left this much later has arrived (both).
const REORDERING: Span = Span::from_millis(30);
/// Without a transmission for this time, the data in flight are forgotten.
const SILENCE: Span = Span::from_millis(500);
/// The queue is to be below this within that (both), or the base is doubted.
const LOW_DELAY: f64 = 0.005;
const LONGEST_HIGH: Span = Span::from_secs(20);
const SHORTEST_DRAIN: Span = Span::from_millis(100);
const LEAST_PACING: Rate = Rate::from_bytes_per_sec(6250);
/// How much of a window may be in flight: at most for a delay that varies, and more for a steady one (both).
const HEADROOM: f64 = 1.5;

const PRESET: Parameter<kind::Choice<&'static Constants>> = Parameter::new(
    "preset",
    kind::Choice(&[("webrtc", &WEBRTC), ("ericsson", &ERICSSON)]),
    &WEBRTC,
    "whose constants",
    "WebRTC's SCReAM v2; EricssonResearch/scream",
);

const L4S: Parameter<kind::Switch> = Parameter::new(
    "l4s",
    kind::Switch,
    true,
    "packets are ECT(1), and marks count by their share",
    "SCReAM v2; a queue with classic ECN marks them as rarely as others",
);

/// The constants in which the two implementations differ.
#[derive(Debug, PartialEq)]
struct Constants {
    base_period: Span,
    base_periods: usize,
    /// Growth in a round relative to the window, long after congestion; and the rounds until that is in full.
    growth: f64,
    cautious_rounds: f64,
    /// How near to the inflection point growth is slow.
    nearness: f64,
    /// Bound of the window relative to the data in flight.
    allowance: f64,
    /// Ratio to the media rate.
    pacing: f64,
    start_alpha: f64,
    /// The shortest time between two reactions to congestion, and the round-trip time above which each is smaller.
    reaction: Span,
    /// A loss counts where more than this share of packets is lost, or the delay is above a quarter of its target.
    tolerated_loss: f64,
    /// WebRTC: the delay is a report's mean. Growth waits with the reactions, and is slower for small windows, short round trips
    /// and some delay; a small window shrinks less, and alpha is set after a calm. Ericsson: the delay is the newest packet's,
    /// once in `reaction`.
    by_report: bool,
    /// Alpha moves at most once in this time, or in a round trip where that is shorter, by all packets since it last moved.
    alpha_interval: Span,
    /// The receiver reports after so many packets, or so long after its last report. WebRTC's does by time alone
    /// (`CongestionControlFeedbackGenerator`): its number is the room of a report, minus its repeated entries.
    report_packets: u64,
    report_interval: Span,
    /// In bytes and in packets; the larger one counts.
    smallest_window: (Bytes, u64),
    /// The media rate is divided by it.
    divisor: f64,
}

const WEBRTC: Constants = Constants {
    base_period: Span::from_secs(60),
    base_periods: 10,
    growth: 0.02,
    cautious_rounds: 100.0,
    nearness: 2.0,
    allowance: 1.1,
    pacing: 1.1,
    reaction: Span::from_millis(25),
    tolerated_loss: 0.0,
    by_report: true,
    start_alpha: 0.0,
    alpha_interval: Span::ZERO,
    report_packets: 400,
    report_interval: Span::from_millis(25),
    smallest_window: (Bytes::new(1000), 0),
    divisor: 1.0,
};

const ERICSSON: Constants = Constants {
    base_period: Span::from_secs(10),
    base_periods: 50,
    growth: 0.05,
    cautious_rounds: 200.0,
    nearness: 8.0,
    allowance: 2.0,
    pacing: 1.5,
    reaction: Span::from_millis(30),
    tolerated_loss: 0.01,
    by_report: false,
    start_alpha: 0.1,
    alpha_interval: Span::from_millis(10),
    report_packets: 16,
    report_interval: Span::from_millis(40),
    smallest_window: (Bytes::ZERO, 3),
    divisor: 1.1,
};

const SHOWS: [ShownValue; 4] = [
    ShownValue::number("reference_pkt", "the window that the media rate is made of"),
    ShownValue::number("alpha", "the share of marks"),
    ShownValue::number("queue_ms", "the queueing delay, averaged"),
    ShownValue::number("target_mbit_s", "the media rate"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "scream",
        "SCReAM v2 for video: a window by marks, loss and queueing delay, and a media rate of it",
        "WebRTC's SCReAM v2; EricssonResearch/scream; RFC 8298",
        |arguments, context| Box::new(Scream::new(arguments.get(&PRESET), arguments.get(&L4S), context)),
    )
    .parameters(vec![PRESET.into(), L4S.into()])
    .shows(&SHOWS)
    .with_receiver(|arguments, _| {
        let Constants { report_packets, report_interval, .. } = *arguments.get(&PRESET);
        Some(Box::new(ArrivalReporter::new(ReportSchedule {
            packets: report_packets,
            interval: report_interval,
            repeats: REPEATS,
            unit: UNIT,
        })))
    })
    .needs_arrivals()
}

struct Scream {
    constants: &'static Constants,
    l4s: bool,
    packet: Bytes,
    sent: SentHistory,
    sent_at: Time,
    /// None before the first report.
    srtt: Option<Span>,
    /// The time for which the receiver holds reports back.
    hold: Span,
    base: Base,
    queue: QueueDelay,
    window: Window,
    /// The queue was low then, or the base new.
    low_at: Option<Time>,
    drains_until: Option<Time>,
}

/// A report's information on packets that no earlier one had.
#[derive(Debug, Default)]
struct News {
    packets: u64,
    marked: u64,
    unmarked_bytes: Bytes,
    /// Sums, in seconds.
    delays: f64,
    holds: f64,
    newest: Option<(Time, Time)>,
    /// The smallest and the largest one-way delay.
    extremes: Option<(f64, f64)>,
}

impl Scream {
    fn new(constants: &'static Constants, l4s: bool, context: &Context) -> Self {
        Self {
            constants,
            l4s,
            packet: context.packet,
            sent: SentHistory::default(),
            sent_at: Time::ZERO,
            srtt: None,
            hold: Span::ZERO,
            base: Base::new(constants.base_period, constants.base_periods),
            queue: QueueDelay::new(if constants.by_report { Span::ZERO } else { constants.reaction }),
            window: Window::new(constants, context),
            low_at: None,
            drains_until: None,
        }
    }

    fn news(&mut self, report: &ArrivalReport) -> News {
        let mut news = News::default();
        for (number, packet) in report.arrived() {
            let Some(departed) = self.sent.on_arrival(number) else { continue };
            let is_marked = packet.ecn == Ecn::Ce;
            news.packets += 1;
            news.marked += u64::from(is_marked);
            news.unmarked_bytes += if is_marked { Bytes::ZERO } else { departed.bytes };
            let delay = one_way(departed.sent_at, packet.arrived_at);
            news.delays += delay;
            let (least, most) = news.extremes.unwrap_or((delay, delay));
            news.extremes = Some((least.min(delay), most.max(delay)));
            news.holds += report.sent_at.since(packet.arrived_at).as_secs_f64();
            news.newest = news.newest.max(Some((departed.sent_at, packet.arrived_at)));
        }
        news
    }

    /// Doubts the base where the queue was never low for long.
    fn watch_base(&mut self, now: Time, delay: f64, srtt: Span) {
        if self.drains_until.take_if(|until| *until <= now).is_some() {
            self.base.forget();
            self.low_at = Some(now);
        }
        let low_at = *self.low_at.get_or_insert(now);
        if delay <= LOW_DELAY {
            self.low_at = Some(now);
        } else if now.since(low_at) > LONGEST_HIGH && self.drains_until.is_none() {
            self.drains_until = Some(now + SHORTEST_DRAIN.max(srtt * 5));
        }
    }

    fn media_rate(&self) -> Rate {
        let bytes = self.window.bytes;
        let by_window = bytes / (self.srtt.unwrap_or(Rtt::INITIAL) + self.hold).as_secs_f64();
        let small = (self.packet.as_f64() / bytes - 0.1).clamp(0.0, 0.2);
        let drains = if self.drains_until.is_some() { 0.5 } else { 1.0 };
        Rate::from_bytes_per_sec((by_window / self.constants.divisor * (1.0 - small) * drains) as u64)
    }
}

/// In seconds; the clocks may differ.
fn one_way(sent_at: Time, arrived_at: Time) -> f64 {
    arrived_at.as_secs_f64() - sent_at.as_secs_f64()
}

impl Controller for Scream {
    fn ecn(&self) -> Ecn {
        if self.l4s { Ecn::Ect1 } else { Ecn::NotEct }
    }

    fn on_sent(&mut self, sent: &Sent) -> Tag {
        if sent.now.since(self.sent_at) > SILENCE {
            self.sent = SentHistory::default();
        }
        self.packet = sent.packet_size;
        self.sent_at = sent.now;
        self.sent.on_sent(sent);
        self.window.on_inflight(sent.now, self.sent.outstanding(), self.srtt);
        Tag::default()
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    fn on_loss(&mut self, _loss: &Loss<'_>) {}

    fn on_arrivals(&mut self, now: Time, report: &ArrivalReport) {
        let news = self.news(report);
        let Some((sent_at, arrived_at)) = news.newest else { return };
        let sample = now.since(sent_at).saturating_sub(report.sent_at.since(arrived_at));
        let srtt = self.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8);
        self.srtt = Some(srtt);
        let count = news.packets as f64;
        self.hold = (self.hold * 7 + Span::from_secs_f64(news.holds / count)) / 8;
        let mean = news.delays / count;
        let (delay, (least, most)) = if self.constants.by_report {
            (mean, (mean, mean))
        } else {
            (one_way(sent_at, arrived_at), news.extremes.unwrap_or((mean, mean)))
        };
        let least = self.base.above(now, least);
        let (delay, most) = (self.base.above(now, delay), self.base.above(now, most));
        self.queue.on_report(now, delay, (least, most), srtt);
        self.watch_base(now, delay, srtt);
        let lost = self.sent.give_up(sent_at, REORDERING).len() as u64;
        self.window.on_round(&Round {
            now,
            srtt,
            packet: self.packet,
            congestion: Congestion { lost, arrived: news.packets, marked: news.marked },
            latest: delay,
            delay: self.queue.average,
            steadiness: self.queue.steadiness(),
            unmarked: news.unmarked_bytes,
        });
    }

    fn limits(&self) -> Limits {
        let media_rate = self.media_rate();
        let headroom = HEADROOM * (1.0 + self.queue.steadiness());
        let window = Bytes::new((self.window.bytes * headroom) as u64) + self.packet;
        let pacing = media_rate.mul_f64(self.constants.pacing).max(LEAST_PACING);
        Limits::paced(window, pacing, self.packet).with_media_rate(media_rate)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("reference", "pkt", self.window.bytes / self.packet.as_f64());
        observer.value("alpha", "", self.window.alpha);
        observer.value("queue", "ms", self.queue.average * 1e3);
        observer.value("target", "mbit_s", self.media_rate().as_mbit_per_sec());
    }
}

//! GCC: Google's congestion control for video calls, which WebRTC runs. It controls a rate by how the delay changes.
//!
//! 1. The receiver reports when each packet arrived, every 50 ms.
//! 2. Packets that left together are a group. The excess of each arrival gap over its departure gap is added up and smoothed;
//!    the slope over 20 groups is compared with a threshold that follows it.
//! 3. Above it, the rate becomes 0.85 of the arrivals; below its negative, the rate waits; otherwise it grows: by 8 % in a
//!    second, or near the link's observed rate by half a packet per response time.
//! 4. Loss above 10 % lowers a second rate, below 2 % raises it; the smaller one is the target.
//! 5. A frame leaves at 2.5 times the target. There is no window.
//!
//! ```text
//!             over-use                    over-use
//!   hold <---------------- decrease <----------------+
//!    |  ^                                            |
//!    |  +---------------- under-use ----------- increase
//!    +-------------------- normal -----------------> ^
//! ```
//!
//! Source: libwebrtc's `goog_cc` as of its port (kixelated/goog_cc 0.1.4) for delay, throughput and capacity;
//! draft-ietf-rmcat-gcc-02 for loss.
//!
//! **Differences from libwebrtc.**
//! - *No probes*: a sender here has no padding to send. So a start of 300 kbit/s takes as long as 8 % in a second take.
//! - *Loss by the draft*: libwebrtc has a likelihood model now. At least 20 packets make a share, as in its older code.
//! - *An application that does not follow `media_rate`* (it has had more to send for a quarter second) leaves at the target
//!   itself: in WebRTC the encoder keeps to it.
//! - *A window of 4 s of the target*, which only keeps an outage from filling memory.

mod aimd;
mod delay;

use crate::sent_history::SentHistory;
use aimd::{Aimd, State, Throughput};
use cellcc_control::{
    Ack, ArrivalReport, ArrivalReporter, Context, Controller, Event, Limits, Loss, Observer, Parameter,
    ReportSchedule, SchemeInfo, Sent, ShownValue, Tag, kind,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use delay::{Detector, Usage};

/// Reports (TWCC): times in 250 us, nothing twice.
const REPEATS: u64 = 0;
const UNIT: Span = Span::from_micros(250);
/// The ratio to the target (libwebrtc).
const PACING_GAIN: f64 = 2.5;
const WINDOW: Span = Span::from_secs(4);
/// An application that has more to send for so long does not follow the media rate: a dozen frames at 60 frames/s.
const LONGEST_BACKLOG: Span = Span::from_millis(250);
/// Constants of the rate by loss (draft, section 6).
const LOW_LOSS: f64 = 0.02;
const HIGH_LOSS: f64 = 0.1;
const LOSS_GROWTH: f64 = 1.05;
const LOSS_INTERVAL: Span = Span::from_millis(200);
const LEAST_PACKETS: u64 = 20;

const START: Parameter<kind::Rate> = Parameter::new(
    "start",
    kind::Rate,
    Rate::from_bytes_per_sec(37_500), // 300 kbit/s
    "the target before anything is known",
    "libwebrtc: 300 kbit/s",
);

const FEEDBACK: Parameter<kind::Time> = Parameter::new(
    "feedback",
    kind::Time(Span::from_millis(50), Span::from_millis(250)),
    Span::from_millis(50),
    "how often the receiver reports",
    "libwebrtc's remote_estimator_proxy: 68 bytes may be 5 % of the rate, so 50 ms from 218 kbit/s on, and 250 ms at most",
);

const SHOWS: [ShownValue; 6] = [
    ShownValue::number("target_mbit_s", "the media rate"),
    ShownValue::number("trend_ms", "the delay's trend, as it is compared with the threshold"),
    ShownValue::number("threshold_ms", "the threshold"),
    ShownValue::number("arriving_mbit_s", "the arrival rate"),
    ShownValue::switch("holds", "the rate waits"),
    ShownValue::switch("over_use", "the trend shows over-use"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "gcc",
        "WebRTC's rate for video calls: by the trend of the delay, and by loss",
        "libwebrtc's goog_cc; draft-ietf-rmcat-gcc-02",
        |arguments, context| Box::new(Gcc::new(arguments.get(&START), context)),
    )
    .parameters(vec![START.into(), FEEDBACK.into()])
    .shows(&SHOWS)
    .with_receiver(|arguments, _| {
        Some(Box::new(ArrivalReporter::new(ReportSchedule {
            packets: u64::MAX,
            interval: arguments.get(&FEEDBACK),
            repeats: REPEATS,
            unit: UNIT,
        })))
    })
    .needs_arrivals()
}

struct Gcc {
    packet: Bytes,
    sent: SentHistory,
    detector: Detector,
    throughput: Throughput,
    aimd: Aimd,
    by_loss: ByLoss,
    rtt: Span,
    sent_at: Time,
    /// Since when the application has always had more to send.
    hungry_since: Option<Time>,
}

impl Gcc {
    fn new(start: Rate, context: &Context) -> Self {
        let rate = bits(start).max(aimd::LEAST);
        Self {
            packet: context.packet,
            sent: SentHistory::default(),
            detector: Detector::new(),
            throughput: Throughput::new(),
            aimd: Aimd::new(rate),
            by_loss: ByLoss { rate: f64::INFINITY, ..ByLoss::default() },
            rtt: Span::from_millis(200),
            sent_at: Time::ZERO,
            hungry_since: None,
        }
    }

    fn target(&self) -> Rate {
        Rate::from_bytes_per_sec((self.aimd.rate.min(self.by_loss.rate) / 8.0) as u64)
    }
}

fn bits(rate: Rate) -> f64 {
    rate.as_bytes_per_sec() as f64 * 8.0
}

/// The rate by loss, in bit/s: none before a share of loss is known.
#[derive(Debug, Default)]
struct ByLoss {
    rate: f64,
    arrived: u64,
    lost: u64,
    changed_at: Time,
}

impl ByLoss {
    fn on_report(&mut self, now: Time, arrived: u64, lost: u64, by_delay: f64) {
        self.arrived += arrived;
        self.lost += lost;
        let all = self.arrived + self.lost;
        if all < LEAST_PACKETS || now.since(self.changed_at) < LOSS_INTERVAL {
            return;
        }
        let share = self.lost as f64 / all as f64;
        let target = self.rate.min(by_delay);
        if share < LOW_LOSS {
            self.rate = target * LOSS_GROWTH;
        } else if share > HIGH_LOSS {
            self.rate = target * (1.0 - 0.5 * share);
        }
        self.rate = self.rate.max(aimd::LEAST);
        (self.arrived, self.lost, self.changed_at) = (0, 0, now);
    }
}

impl Controller for Gcc {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.packet = sent.packet_size;
        self.sent.on_sent(sent);
        self.sent_at = sent.now;
        self.hungry_since = if sent.app_limited { None } else { self.hungry_since.or(Some(sent.now)) };
        Tag::default()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.rtt = ack.rtt.smoothed();
    }

    fn on_loss(&mut self, _loss: &Loss<'_>) {}

    fn on_event(&mut self, _now: Time, event: Event) {
        if event == Event::AppLimited {
            self.hungry_since = None;
        }
    }

    fn on_arrivals(&mut self, now: Time, report: &ArrivalReport) {
        let mut arrivals: Vec<_> = report
            .arrived()
            .filter_map(|(number, packet)| Some((packet.arrived_at, number, self.sent.on_arrival(number)?)))
            .collect();
        arrivals.sort_by_key(|(arrived_at, number, _)| (*arrived_at, *number));
        let Some(newest) = arrivals.iter().map(|(_, _, packet)| packet.sent_at).max() else { return };
        for (arrived_at, _, packet) in &arrivals {
            self.throughput.on_arrival(*arrived_at, packet.bytes);
            self.detector.on_arrival(packet.sent_at, *arrived_at);
        }
        let lost = self.sent.give_up(newest, Span::ZERO).len() as u64;
        self.aimd.on_report(now, self.detector.usage(), self.throughput.rate(), self.rtt);
        self.by_loss.on_report(now, arrivals.len() as u64, lost, self.aimd.rate);
    }

    fn limits(&self) -> Limits {
        let target = self.target();
        let hungry = self.hungry_since.is_some_and(|since| self.sent_at.since(since) > LONGEST_BACKLOG);
        let pacing = if hungry { target } else { target.mul_f64(PACING_GAIN) };
        let window = target.bytes_in(WINDOW).max(self.packet * 10);
        Limits::paced(window, pacing, self.packet).with_media_rate(target)
    }

    fn observe(&self, observer: &mut dyn Observer) {
        let (trend, threshold) = self.detector.shown();
        observer.value("target", "mbit_s", self.target().as_mbit_per_sec());
        observer.value("trend", "ms", trend);
        observer.value("threshold", "ms", threshold);
        if let Some(arriving) = self.throughput.rate() {
            observer.value("arriving", "mbit_s", arriving / 1e6);
        }
        observer.switch("holds", self.aimd.state == State::Hold);
        observer.switch("over_use", self.detector.usage() == Usage::Over);
    }
}

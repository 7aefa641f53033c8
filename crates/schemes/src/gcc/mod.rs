//! GCC: Google's congestion control for video calls, which WebRTC runs. It controls a rate by how the delay changes.
//!
//! 1. The receiver reports when each packet arrived, every 50 ms.
//! 2. Packets that left together are a group. The excess of each arrival gap over its departure gap is added up and smoothed;
//!    the slope over 20 groups is compared with a threshold that follows it.
//! 3. Above it, the rate becomes 0.85 of the arrivals; below its negative, the rate waits; otherwise it grows: by 8 % in a
//!    second, or near the link's observed rate by half a packet per response time.
//! 4. Losses of the last 5 s show a second rate: the likeliest of some, with a loss that the link has at any rate. The smaller one
//!    is the target.
//! 5. Probes, bursts of 15 ms above the target, measure the link: at 3 and 6 times the start, then at twice the target while that
//!    is found; after a large drop; and where the application sends little. Padding fills them.
//! 6. Packets leave at 1.1 times the target. There is no window.
//!
//! ```text
//!             over-use                    over-use
//!   hold <---------------- decrease <----------------+
//!    |  ^                                            |
//!    |  +---------------- under-use ----------- increase
//!    +-------------------- normal -----------------> ^
//! ```
//!
//! Source: libwebrtc's `goog_cc` as of its port (kixelated/goog_cc 0.1.4).
//!
//! **Differences from libwebrtc.**
//! - *The encoder's highest rate is known and does not change*, so that no probe follows a change of the allocation.
//! - *Probes every 5 s where the application sends little* are libwebrtc's for shared screens alone.
//! - *No limit on a probe where the application always has more to send*: libwebrtc's is 5 Mbit/s if an application sets none.
//! - *The sender's queue never holds 2 s*, from which on libwebrtc's leaves faster: the application clears it at 100 ms.
//! - *An application that does not follow `media_rate`* sends at 1.1 times the target.
//! - *A window of 4 s of the target*, which only keeps an outage from filling memory.

mod aimd;
mod delay;
mod idle;
mod loss;
mod probe;

use crate::sent_history::SentHistory;
use aimd::{Aimd, State, Throughput};
use cellcc_control::{
    Ack, ArrivalReport, ArrivalReporter, Context, Controller, Limits, Loss, Observer, Parameter,
    ReportSchedule, SchemeInfo, Sent, ShownValue, Tag, kind,
};
use cellcc_units::{Bytes, Rate, Span, Time};
use delay::{Detector, Usage};
use loss::ByLoss;
use probe::{Allowed, Prober};

/// Reports (TWCC): times in 250 us, nothing twice.
const REPEATS: u64 = 0;
/// A report leaves as soon as it names so many packets: an `ArrivalReport` has room for 500, and libwebrtc splits longer ones.
const REPORT_PACKETS: u64 = 400;
const UNIT: Span = Span::from_micros(250);
/// The ratio to the target (libwebrtc's `kStrictPacingMultiplier`, of video whose sender estimates the rate).
const PACING_GAIN: f64 = 1.1;
const WINDOW: Span = Span::from_secs(4);

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

const PROBES: Parameter<kind::Switch> = Parameter::new(
    "probes",
    kind::Switch,
    true,
    "bursts above the target, filled with padding, measure the link",
    "libwebrtc; without them the rate grows by 8 % a second, as in a call that may not send padding",
);

const SHOWS: [ShownValue; 7] = [
    ShownValue::number("target_mbit_s", "the media rate"),
    ShownValue::number("trend_ms", "the delay's trend, as it is compared with the threshold"),
    ShownValue::number("threshold_ms", "the threshold"),
    ShownValue::number("arriving_mbit_s", "the arrival rate"),
    ShownValue::switch("holds", "the rate waits"),
    ShownValue::switch("probes", "a probe leaves"),
    ShownValue::switch("over_use", "the trend shows over-use"),
];

pub(super) fn scheme() -> SchemeInfo {
    SchemeInfo::new(
        "gcc",
        "WebRTC's rate for video calls: by the trend of the delay, and by loss",
        "libwebrtc's goog_cc",
        |arguments, context| Box::new(Gcc::new(arguments.get(&START), arguments.get(&PROBES), context)),
    )
    .parameters(vec![START.into(), FEEDBACK.into(), PROBES.into()])
    .shows(&SHOWS)
    .with_receiver(|arguments, _| {
        Some(Box::new(ArrivalReporter::new(ReportSchedule {
            packets: REPORT_PACKETS,
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
    /// In bit/s.
    target: f64,
    prober: Prober,
    rtt: Span,
}

impl Gcc {
    fn new(start: Rate, probes: bool, context: &Context) -> Self {
        let rate = bits(start).max(aimd::LEAST);
        Self {
            packet: context.packet,
            sent: SentHistory::default(),
            detector: Detector::new(),
            throughput: Throughput::new(),
            aimd: Aimd::new(rate),
            by_loss: ByLoss::new(),
            target: rate,
            prober: Prober::new(rate, probes, context.most_media),
            rtt: Span::from_millis(200),
        }
    }

    fn target(&self) -> Rate {
        Rate::from_bytes_per_sec((self.target / 8.0) as u64)
    }

    fn allowed_probes(&self) -> Allowed {
        match (self.detector.usage(), self.by_loss.state) {
            (Usage::Normal, loss::State::ByDelay) => Allowed::All,
            (Usage::Normal, loss::State::Increasing) => Allowed::Little,
            _ => Allowed::None,
        }
    }
}

fn bits(rate: Rate) -> f64 {
    rate.as_bytes_per_sec() as f64 * 8.0
}

impl Controller for Gcc {
    fn on_sent(&mut self, sent: &Sent) -> Tag {
        self.packet = sent.packet_size;
        self.sent.on_sent(sent);
        self.prober.on_sent(sent.now, sent.number, sent.bytes);
        Tag::default()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.rtt = ack.rtt.smoothed();
    }

    fn on_loss(&mut self, _loss: &Loss<'_>) {}

    fn on_arrivals(&mut self, now: Time, report: &ArrivalReport) {
        let mut arrivals: Vec<_> = report
            .arrived()
            .filter_map(|(number, packet)| Some((packet.arrived_at, number, self.sent.on_arrival(number)?)))
            .collect();
        arrivals.sort_by_key(|(arrived_at, number, _)| (*arrived_at, *number));
        let Some(newest) = arrivals.iter().map(|(_, _, packet)| packet.sent_at).max() else { return };
        let mut recovered = false;
        for (arrived_at, number, packet) in &arrivals {
            self.throughput.on_arrival(*arrived_at, packet.bytes);
            self.prober.on_arrival(*number, packet.sent_at, *arrived_at, packet.bytes);
            let before = self.detector.usage();
            self.detector.on_arrival(packet.sent_at, *arrived_at);
            recovered |= before == Usage::Under && self.detector.usage() == Usage::Normal;
        }
        let lost = self.sent.give_up(newest, Span::ZERO);
        let found = self.prober.take_found();
        self.aimd.on_report(now, self.detector.usage(), self.throughput.rate(), found, self.rtt);
        let arrived: Vec<_> = arrivals.iter().map(|(_, _, packet)| *packet).collect();
        self.by_loss.on_report(&loss::Report {
            arrived: &arrived,
            lost: &lost,
            by_delay: self.aimd.rate,
            arriving: self.throughput.rate(),
            is_idle: self.prober.is_idle(),
        });
        self.target = self.by_loss.target(self.aimd.rate);
        self.prober.on_target(now, self.target, self.allowed_probes(), recovered);
    }

    fn limits(&self) -> Limits {
        let target = self.target();
        let window = target.bytes_in(WINDOW).max(self.packet * 10);
        let (pacing, padding) = self.prober.leaving().unwrap_or((target.mul_f64(PACING_GAIN), Bytes::ZERO));
        Limits::paced(window, pacing, self.packet).with_media(target, padding)
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
        observer.switch("probes", self.prober.leaving().is_some());
        observer.switch("over_use", self.detector.usage() == Usage::Over);
    }
}

//! The table itself. A new metric is a row here, and a value where it is measured.

use super::Shown::{self, Always, WhereKnown};
use super::{Absent, Better, Metric, Of, Scalar};
use crate::{FlowRecord, Record};
use cellcc_statistics::Kind;

/// The columns of tables, in their order; those of other metrics follow on request.
pub(super) const IN_TABLES: [(&str, Shown); 18] = [
    ("utilisation", WhereKnown),
    ("throughput_mbit_s", Always),
    ("rtt_mean_ms", WhereKnown),
    ("rtt_p95_ms", WhereKnown),
    ("queueing_delay_mean_ms", Always),
    ("queueing_delay_p95_ms", Always),
    ("loss_ratio", Always),
    ("power", Always),
    ("jain_index", WhereKnown),
    ("completion_time_s", WhereKnown),
    ("deadline_miss_ratio", WhereKnown),
    ("frame_delay_p95_ms", WhereKnown),
    ("media_rate_mbit_s", WhereKnown),
    ("startup_s", WhereKnown),
    ("freezes", WhereKnown),
    ("freeze_ratio", WhereKnown),
    ("rate_switches", WhereKnown),
    ("qoe_lin", WhereKnown),
];

/// Makes of the rows the struct [`Metrics`] and the table [`METRICS`]; a row's comment is its meaning.
macro_rules! metrics {
    (
        both { $($(#[doc = $both_means:literal])+ $both:ident: $type:ty = $both_row:expr;)+ }
        run { $($(#[doc = $run_means:literal])+ $run:ident = $run_row:expr;)+ }
        flow { $($(#[doc = $flow_means:literal])+ $flow:ident = $flow_row:expr;)+ }
    ) => {
        /// The scalars of one flow, or of all flows of a run together: those of [`METRICS`] that both have.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Metrics {
            $($(#[doc = $both_means])+ pub $both: $type,)+
        }

        /// All metrics, in the order of Records.
        pub const METRICS: &[Metric] = &[
            $(Metric {
                key: stringify!($both),
                meaning: concat!($($both_means),+),
                of: Of::Both {
                    is_count: <$type as Scalar>::IS_COUNT,
                    get: |metrics| metrics.$both.value(),
                    set: |metrics, value| metrics.$both = Scalar::of(value),
                },
                ..$both_row
            },)+
            $(Metric {
                key: stringify!($run),
                meaning: concat!($($run_means),+),
                of: Of::Run(|record: &Record| record.$run),
                ..$run_row
            },)+
            $(Metric {
                key: stringify!($flow),
                meaning: concat!($($flow_means),+),
                of: Of::Flow(|flow: &FlowRecord| flow.$flow),
                ..$flow_row
            },)+
        ];

        /// The keys of [`Metrics`].
        pub(super) const KEYS: &[&str] = &[$(stringify!($both)),+];
    };
}

metrics! {
    both {
        /// Bytes that left the link while the flow was active x 8 / time active
        throughput_mbit_s: f64 = number("throughput", "Throughput", "Mbit/s").more();
        /// Bytes that left the link / bytes that the link offered, while the flow was active
        utilisation: f64 = share("utilisation", "Utilisation", "").more().null("where the link's offer is unknown");
        /// Mean queueing delay: departure from the link - arrival at its queue, per packet; includes the packet's own service
        queueing_delay_mean_ms: Option<f64> = delay("queueing", "Queueing", "mean").null(NOTHING_LEFT);
        /// Median of the queueing delays
        queueing_delay_p50_ms: Option<f64> = delay("queueing-p50", "Queueing", "p50").null(NOTHING_LEFT);
        /// 95th percentile of the queueing delays
        queueing_delay_p95_ms: Option<f64> = delay("queueing-p95", "Queueing", "p95").null(NOTHING_LEFT);
        /// 99th percentile of the queueing delays
        queueing_delay_p99_ms: Option<f64> = delay("queueing-p99", "Queueing", "p99").null(NOTHING_LEFT);
        /// Largest queueing delay
        queueing_delay_max_ms: Option<f64> = delay("queueing-max", "Queueing", "max").null(NOTHING_LEFT);
        /// Mean one-way delay: arrival at the receiver - sending, per packet that arrived
        one_way_delay_mean_ms: Option<f64> = delay("one-way", "One way", "mean").null(NOTHING_LEFT);
        /// Median of the one-way delays
        one_way_delay_p50_ms: Option<f64> = delay("one-way-p50", "One way", "p50").null(NOTHING_LEFT);
        /// 95th percentile of the one-way delays
        one_way_delay_p95_ms: Option<f64> = delay("one-way-p95", "One way", "p95").null(NOTHING_LEFT);
        /// 99th percentile of the one-way delays
        one_way_delay_p99_ms: Option<f64> = delay("one-way-p99", "One way", "p99").null(NOTHING_LEFT);
        /// Largest one-way delay
        one_way_delay_max_ms: Option<f64> = delay("one-way-max", "One way", "max").null(NOTHING_LEFT);
        /// Mean of the sender's RTT samples
        rtt_mean_ms: Option<f64> = delay("rtt", "RTT", "mean").null(NO_SAMPLE);
        /// Median of the sender's RTT samples
        rtt_p50_ms: Option<f64> = delay("rtt-p50", "RTT", "p50").null(NO_SAMPLE);
        /// 95th percentile of the sender's RTT samples
        rtt_p95_ms: Option<f64> = delay("rtt-p95", "RTT", "p95").null(NO_SAMPLE);
        /// 99th percentile of the sender's RTT samples
        rtt_p99_ms: Option<f64> = delay("rtt-p99", "RTT", "p99").null(NO_SAMPLE);
        /// Largest of the sender's RTT samples
        rtt_max_ms: Option<f64> = delay("rtt-max", "RTT", "max").null(NO_SAMPLE);
        /// Packets sent, retransmissions included
        sent_packets: u64 = number("sent", "Sent", "packets").neither();
        /// Packets towards the receiver that the queue or a policer dropped or that were lost at random; counted in the network,
        /// not by the sender
        lost_packets: u64 = number("lost", "Lost", "packets");
        /// `lost_packets` / `sent_packets`
        loss_ratio: f64 = share("loss", "Loss", "%");
        /// Packets that arrived with a mark / packets that arrived, in virtual time
        marking_ratio: Option<f64> = share("marked", "Marked", "%").neither().left_out("where none was marked");
        /// DualPI2's base probability p', mean over time; classic packets are dropped or marked with its square. A run's total
        /// has that of the first flow's user
        p_base_mean: Option<f64> = share("p-base", "Base probability", "").neither().left_out(NO_DUALPI2);
        /// Whole seconds in which packets waited throughout in DualPI2's classic queue, which got less than 5 % of the bytes. A
        /// run's total has those of the first flow's user
        classic_starvation_s: Option<f64> = number("starved", "Classic starved", "s").left_out(NO_DUALPI2);
        /// Packets with data that was sent before, needed or not; over QUIC packets that were declared lost
        retransmitted_packets: u64 = number("resent", "Resent", "packets");
        /// Acknowledgements that the receiver sent, in `sim`, `quic-virtual` (packets towards the sender) and `kernel`
        sent_acks: Option<u64> = number("acks", "ACKs", "packets").neither().null("in the other drivers");
        /// `throughput_mbit_s` / `queueing_delay_mean_ms`, in Mbit/s per ms
        power: Option<f64> = number("power", "Power", "Mbit/s/ms").geometric().more().null("at zero or null delay");
        /// `throughput_mbit_s` / `queueing_delay_p95_ms`, in Mbit/s per ms
        power95: Option<f64> = number("power95", "Power95", "Mbit/s/ms").geometric().more().null("at zero or null delay");
        /// `rtt_mean_ms` / DTT: how well a scheme keeps its delay target (Reminis paper, section 5.5)
        d3: Option<f64> = number("d3", "D3", "").geometric().null("for schemes without a delay target");
        /// Time from the start of a sized source to the acknowledgement of its last byte; of a page, until it has loaded
        completion_time_s: Option<f64> = number("completion", "Completion", "s").null("where nothing has an end, or it did not finish");
        /// Frames of a frame source with a deadline by its end; in a browser, those that arrived
        frames: Option<u64> = number("frames", "Frames", "").neither().null("without frames");
        /// Frames that arrived later than their deadline, or not at all / frames
        deadline_miss_ratio: Option<f64> = share("late-frames", "Late frames", "%").null("without deadlines");
        /// Median from a frame's creation to the arrival of its last byte
        frame_delay_p50_ms: Option<f64> = delay("frame-delay-p50", "Frame delay", "p50").left_out(NO_FRAME);
        /// 95th percentile from a frame's creation to the arrival of its last byte
        frame_delay_p95_ms: Option<f64> = delay("frame-delay-p95", "Frame delay", "p95").left_out(NO_FRAME);
        /// Gaps between whole frames above 3 frame times and above a frame time + 150 ms; of a video in a browser, stalls after
        /// the first frame
        freezes: Option<u64> = number("freezes", "Freezes", "").left_out(NO_MEDIA);
        /// Time in freezes / time
        freeze_ratio: Option<f64> = share("frozen", "Frozen", "%").left_out(NO_MEDIA);
        /// Mean rate that frames aimed at, headers included; of a video in a browser, that of the segments that were shown
        media_rate_mbit_s: Option<f64> = number("media-rate", "Media", "Mbit/s").more().left_out(NO_MEDIA);
        /// Changes of the media rate by more than a tenth; of a video in a browser, all
        rate_switches: Option<u64> = number("switches", "Switches", "").left_out(NO_MEDIA);
        /// Frames given up in the sender's queue, whole or in part, the warm-up's too
        frames_discarded: Option<u64> = number("discarded", "Discarded", "frames").left_out(NO_VIDEO);
        /// Time from the start of a video's player to the first frame
        startup_s: Option<f64> = number("startup", "Startup", "s").left_out(NO_FILM);
        /// Linear [QoE](how-to/video.md) of a video, by segment: QoE_lin of Mao, Netravali and Alizadeh (Pensieve, SIGCOMM
        /// 2017), section 5.1
        qoe_lin: Option<f64> = number("qoe", "QoE", "Mbit/s").within(ANY).more().left_out(NO_FILM);
    }
    run {
        /// Jain's index of the flows' bytes, (Σx)² / (n Σx²), for each whole second in which at least two flows are active
        /// throughout and something leaves the link; the mean over those seconds. The series has it by second
        jain_index = share("jain", "Jain", "").more().null("where there is no such second");
    }
    flow {
        /// Time from the flow's start, or a later end of the warm-up, until its bytes per second are within 25 % of an equal part of the active flows' throughput,
        /// and stay there for 5 s (Dong et al., PCC, NSDI 2015, section 4.2.2); judged in whole seconds in which at least two
        /// flows are active
        convergence_time_s = number("convergence", "Converged", "s").left_out("where that never happens");
    }
}

const NOTHING_LEFT: &str = "where no packet left the link, or none was observed";
const NO_SAMPLE: &str = "without a sample";
const NO_DUALPI2: &str = "behind any queue but `dualpi2`";
const NO_VIDEO: &str = "without a `video` source";
const NO_FRAME: &str = "without a `video` source or frames in a browser";
const NO_MEDIA: &str = "without a `video` source or a video in a browser";
const NO_FILM: &str = "without a video in a browser";

/// Times, rates and amounts.
const AT_LEAST_ZERO: (f64, f64) = (0.0, f64::INFINITY);
const SHARE: (f64, f64) = (0.0, 1.0);
const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// A number from zero on, averaged by the arithmetic mean; less is better. The macro fills in the rest.
const fn number(name: &'static str, title: &'static str, unit: &'static str) -> Metric {
    Metric {
        key: "",
        name,
        title,
        statistic: "",
        unit,
        range: AT_LEAST_ZERO,
        average: Kind::Mean,
        better: Better::Less,
        absent: Absent::Never,
        meaning: "",
        of: Of::Run(|_| None),
    }
}

const fn share(name: &'static str, title: &'static str, unit: &'static str) -> Metric {
    number(name, title, unit).within(SHARE)
}

const fn delay(name: &'static str, title: &'static str, statistic: &'static str) -> Metric {
    Metric { statistic, ..number(name, title, "ms") }
}

impl Metric {
    const fn within(self, range: (f64, f64)) -> Self {
        Self { range, ..self }
    }

    const fn geometric(self) -> Self {
        Self { average: Kind::Geometric, ..self }
    }

    const fn more(self) -> Self {
        Self { better: Better::More, ..self }
    }

    const fn neither(self) -> Self {
        Self { better: Better::Neither, ..self }
    }

    const fn null(self, when: &'static str) -> Self {
        Self { absent: Absent::Null(when), ..self }
    }

    const fn left_out(self, when: &'static str) -> Self {
        Self { absent: Absent::LeftOut(when), ..self }
    }
}

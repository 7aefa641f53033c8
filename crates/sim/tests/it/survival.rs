//! Every scheme survives the events of a cellular path: nothing panics, no flow is stuck, and the path's remaining capacity is
//! used again.

use crate::common::compare;
use cellcc_experiment::{LossDetection, PlanFile, Record};
use cellcc_test_support::schemes_without;
use cellcc_units::Span;
use std::sync::OnceLock;

/// What happens to a flow, and when it is judged.
struct Fault {
    name: &'static str,
    trace: &'static str,
    change: fn(&mut PlanFile),
    /// Five seconds after the change: the second before this one is looked at.
    judged_at: usize,
    /// Half of the capacity must be used in that second by every scheme that adapts to a path.
    half_is_due: bool,
    /// A fault's own test and the table share the runs.
    outcomes: OnceLock<Vec<Outcome>>,
}

/// A scheme's result under a fault.
struct Outcome {
    scheme: String,
    /// The utilisation in the judged second.
    used: f64,
    /// The longest time without a delivery after the start, except for the outage itself, in tenths of a second.
    longest_silence: usize,
}

static OUTAGES: [Fault; 4] = [
    outage("outage 1 s", "step=20Mbit/s@10s,0Mbit/s@1s,20Mbit/s@10s", 16, |_| ()),
    outage("outage 10 s", "step=20Mbit/s@10s,0Mbit/s@10s,20Mbit/s@10s", 25, |_| ()),
    outage("outage 30 s", "step=20Mbit/s@10s,0Mbit/s@30s,20Mbit/s@10s", 45, |file| {
        file.duration = Span::from_secs(50);
    }),
    outage("outage 120 s", "step=20Mbit/s@10s,0Mbit/s@120s,20Mbit/s@10s", 135, |file| {
        file.duration = Span::from_secs(140);
    }),
];

const fn outage(
    name: &'static str,
    trace: &'static str,
    judged_at: usize,
    change: fn(&mut PlanFile),
) -> Fault {
    Fault { name, trace, change, judged_at, half_is_due: true, outcomes: OnceLock::new() }
}

static RATE_OF_A_THOUSANDTH: Fault = Fault {
    name: "rate / 1000",
    trace: "step=200Mbit/s@10s,0.2Mbit/s@10s",
    change: |_| (),
    judged_at: 15,
    half_is_due: true,
    outcomes: OnceLock::new(),
};

static TENFOLD_RATE: Fault = Fault {
    name: "rate * 10",
    trace: "step=10Mbit/s@10s,100Mbit/s@10s",
    change: |_| (),
    judged_at: 15,
    half_is_due: false,
    outcomes: OnceLock::new(),
};

static LOSS: Fault = Fault {
    name: "loss 5 %",
    trace: "rate=20Mbit/s",
    change: |file| file.path.extra_loss = "0%@10s,5%@10s".into(),
    judged_at: 15,
    half_is_due: false,
    outcomes: OnceLock::new(),
};

static REORDERING: Fault = Fault {
    name: "reordering",
    trace: "rate=20Mbit/s",
    change: |file| file.path.reordered = "5%".parse().expect("a share"),
    judged_at: 15,
    half_is_due: false,
    outcomes: OnceLock::new(),
};

static TREBLE_RTT: Fault = Fault {
    name: "RTT * 3",
    trace: "rate=20Mbit/s",
    change: |file| file.path.extra_delay = "0ms@10s,40ms@10s".into(),
    judged_at: 15,
    half_is_due: true,
    outcomes: OnceLock::new(),
};

static QUEUE_OF_A_PACKET: Fault = Fault {
    name: "1 packet",
    trace: "rate=20Mbit/s",
    change: |file| file.path.queue = "1pkt".parse().expect("a limit"),
    judged_at: 15,
    half_is_due: false,
    outcomes: OnceLock::new(),
};

static FAST_AND_SHALLOW: Fault = Fault {
    name: "2 Gbit/s",
    trace: "rate=2Gbit/s",
    change: |file| file.duration = Span::from_secs(6),
    judged_at: 5,
    half_is_due: true,
    outcomes: OnceLock::new(),
};

static FAST_WITH_A_BDP: Fault = Fault {
    name: "2G, 1 BDP",
    trace: "rate=2Gbit/s",
    change: |file| {
        file.duration = Span::from_secs(6);
        file.path.queue = "3333pkt".parse().expect("a limit");
    },
    judged_at: 5,
    half_is_due: true,
    outcomes: OnceLock::new(),
};

static FAULTS: [&Fault; 12] = [
    &OUTAGES[0],
    &OUTAGES[1],
    &OUTAGES[2],
    &OUTAGES[3],
    &RATE_OF_A_THOUSANDTH,
    &TENFOLD_RATE,
    &LOSS,
    &REORDERING,
    &TREBLE_RTT,
    &QUEUE_OF_A_PACKET,
    &FAST_AND_SHALLOW,
    &FAST_WITH_A_BDP,
];

/// Schemes that do not adapt to a path: their arguments decide their utilisation.
const FIXED: [&str; 2] = ["fixed-window", "fixed-rate"];

/// Shortcomings, and why they are the scheme's own.
const SHORT: [(&str, &str, &str); 30] = [
    ("westwood", "2 Gbit/s", LATE_ESTIMATE),
    ("westwood", "2G, 1 BDP", LATE_ESTIMATE),
    ("westwood(profile=linux)", "2 Gbit/s", LATE_ESTIMATE),
    ("westwood(profile=linux)", "2G, 1 BDP", LATE_ESTIMATE),
    ("gcc", "outage 1 s", EIGHT_PERCENT),
    ("gcc", "outage 10 s", EIGHT_PERCENT),
    ("gcc", "outage 30 s", EIGHT_PERCENT),
    ("gcc", "outage 120 s", EIGHT_PERCENT),
    ("gcc", "2 Gbit/s", LONG_REPORTS),
    ("gcc", "2G, 1 BDP", LONG_REPORTS),
    ("scream", "2 Gbit/s", A_PACKET),
    ("scream", "2G, 1 BDP", A_PACKET),
    ("scream", "RTT * 3", "what the path takes longer is a queue to it, for 20 s"),
    ("sprout", "2 Gbit/s", GRID),
    ("sprout", "2G, 1 BDP", GRID),
    ("reminis(profile=code2022)", "RTT * 3", "the minimum RTT of the authors' program never rises"),
    ("copa(mode=default)", "RTT * 3", TEN_SECONDS),
    ("copa(profile=mvfst)", "RTT * 3", TEN_SECONDS),
    (
        "copa(profile=mvfst)",
        "outage 120 s",
        "mvfst paces by the smoothed RTT, which is a minute after that outage",
    ),
    (
        "roccet",
        "outage 120 s",
        "it paces by the RTT, which is that outage, and then probes with half the window for 10 s",
    ),
    ("c2tcp", "RTT * 3", "its setpoint counts in minimum RTTs, and the minimum never rises"),
    ("vegas", "RTT * 3", "its minimum RTT never rises (La, Walrand and Anantharam 1999)"),
    ("verus(preset=paper)", "RTT * 3", "the paper's minimum delay never rises either"),
    ("newreno", "2 Gbit/s", SHALLOW),
    ("vegas", "2 Gbit/s", SHALLOW),
    ("reminis", "2 Gbit/s", SHALLOW),
    ("reminis(profile=literal)", "2 Gbit/s", SHALLOW),
    ("reminis(profile=following)", "2 Gbit/s", SHALLOW),
    ("verus(preset=authors)", "2 Gbit/s", SHALLOW),
    ("verus(preset=paper)", "2 Gbit/s", SHALLOW),
];

/// 500 packets are 0.15 of a bandwidth-delay product there; with a whole one they do better (`2G, 1 BDP`).
const SHALLOW: &str = "it overflows a queue of 3 ms before it fills the path, and answers the loss";

const TEN_SECONDS: &str = "its minimum RTT is that of ten seconds, and five have passed";

/// Two filters that each keep seven eighths of their value per RTT have a twentieth of a rate that doubles every RTT.
const LATE_ESTIMATE: &str =
    "its estimate at the end of slow start is a small part of the rate, and Reno's growth follows";

const EIGHT_PERCENT: &str =
    "the outage's losses bound its rate for 5 s, and then it grows by 8 % in a second";
const LONG_REPORTS: &str = "it takes packets for lost that a report of 500 has no room for";

const A_PACKET: &str = "its window grows by a packet and 2 % per round";

const GRID: &str = "its grid of rates ends at 12 Mbit/s; `max_rate` makes it longer";

/// The utilisation in the second before `judged_at`.
fn use_in_second(record: &Record, judged_at: usize) -> f64 {
    let in_second = |name: &str| -> f64 {
        let column = record.series.column(name).expect("every run has it");
        column[(judged_at - 1) * 10..judged_at * 10].iter().map(|value| f64::from(*value)).sum()
    };
    in_second("flow0.throughput_mbit_s") / in_second("capacity_mbit_s")
}

/// The longest time without a delivery after the start, except for the outage itself, in tenths of a second.
fn longest_silence(record: &Record) -> usize {
    let delivered = record.series.column("flow0.throughput_mbit_s").expect("every run has it");
    let offered = record.series.column("capacity_mbit_s").expect("every run has it");
    let (mut longest, mut silent) = (0, 0);
    for (delivered, offered) in delivered.iter().zip(offered) {
        silent = if *delivered > 0.0 { 0 } else { silent + usize::from(*offered > 0.0) };
        longest = longest.max(silent);
    }
    longest
}

impl Fault {
    fn outcomes(&self) -> &[Outcome] {
        self.outcomes.get_or_init(|| {
            let schemes = schemes_without(&[]);
            let names: Vec<&str> = schemes.iter().map(String::as_str).collect();
            let records = compare(&names, self.trace, |file| {
                file.duration = Span::from_secs(30);
                file.path.queue = "500pkt".parse().expect("a limit");
                (self.change)(file);
            });
            let of_scheme = |(scheme, record): (String, &Record)| Outcome {
                scheme,
                used: use_in_second(record, self.judged_at),
                longest_silence: longest_silence(record),
            };
            schemes.into_iter().zip(&records[1..]).map(of_scheme).collect()
        })
    }

    fn is_survived(&self) {
        let adapting = self.outcomes().iter().filter(|outcome| !FIXED.contains(&outcome.scheme.as_str()));
        for Outcome { scheme, used, longest_silence } in adapting {
            let is_short = self.half_is_due && *used < 0.5;
            let is_known = SHORT.iter().any(|(short, fault, _)| short == scheme && *fault == self.name);
            assert_eq!(is_short, is_known, "{scheme} uses {used:.2} after `{}`", self.name);
            // A probe after a time-out doubles its wait, but packets in the queue wait for the outage's end.
            assert!(*longest_silence <= 50, "{scheme} is silent for {longest_silence} tenths of a second");
        }
    }
}

#[test]
fn every_scheme_survives_outages_of_one_to_120_seconds() {
    OUTAGES.iter().for_each(Fault::is_survived);
}

/// It once slept for as long as an outage of 11 s or more: its base RTT became the outage, and unseen losses filled its window.
#[test]
fn tide_has_nine_tenths_of_the_link_two_seconds_after_an_outage_of_any_length() {
    for (rate, begins_at, outage, recovery) in tide_outages() {
        let before = if begins_at > 0 { format!("{rate}@{begins_at}s,") } else { String::new() };
        let trace = format!("step={before}0bit/s@{outage}s,{rate}@4s");
        let records = compare(&["tide"], &trace, |file| {
            file.duration = Span::from_secs(begins_at + outage + 4);
            file.path.rtt = Span::from_millis(40);
            file.path.queue = "200pkt".parse().expect("a limit");
            file.endpoint.recovery = recovery;
        });
        let used = use_in_second(&records[1], (begins_at + outage + 3) as usize);
        assert!(used >= 0.9, "{used:.2} of {rate} after {outage} s at {begins_at} s, {recovery:?}");
    }
}

/// The link's rate, when its outage begins and how long it is, in seconds, and the loss detection.
fn tide_outages() -> impl Iterator<Item = (&'static str, u64, u64, LossDetection)> {
    let outages = [1, 10, 30, 120].into_iter().flat_map(|outage| [(0, outage), (12, outage)]);
    outages.flat_map(|(begins_at, outage)| {
        [LossDetection::Quic, LossDetection::Rack].into_iter().flat_map(move |recovery| {
            ["20Mbit/s", "500Mbit/s"].map(|rate| (rate, begins_at, outage, recovery))
        })
    })
}

#[test]
fn every_scheme_survives_a_rate_that_falls_to_a_thousandth() {
    RATE_OF_A_THOUSANDTH.is_survived();
}

#[test]
fn every_scheme_survives_a_rate_that_rises_tenfold() {
    TENFOLD_RATE.is_survived();
}

#[test]
fn every_scheme_survives_loss_of_five_percent() {
    LOSS.is_survived();
}

#[test]
fn every_scheme_survives_reordering() {
    REORDERING.is_survived();
}

#[test]
fn every_scheme_survives_an_rtt_that_rises_threefold() {
    TREBLE_RTT.is_survived();
}

#[test]
fn every_scheme_survives_a_queue_of_one_packet() {
    QUEUE_OF_A_PACKET.is_survived();
}

#[test]
fn every_scheme_survives_two_gigabits_with_a_shallow_queue() {
    FAST_AND_SHALLOW.is_survived();
}

#[test]
fn every_scheme_survives_two_gigabits_with_a_queue_of_one_bdp() {
    FAST_WITH_A_BDP.is_survived();
}

#[test]
fn the_share_that_every_scheme_uses_five_seconds_after_a_fault() {
    let mut rows: Vec<String> = schemes_without(&[]).iter().map(|scheme| format!("{scheme:<26}")).collect();
    let mut header = format!("{:<26}", "used 5 s after");
    for fault in FAULTS {
        header += &format!("{:>13}", fault.name);
        for (row, outcome) in rows.iter_mut().zip(fault.outcomes()) {
            *row += &format!("{:>13.2}", outcome.used);
        }
    }
    let table = header + "\n" + &rows.join("\n") + "\n";
    insta::assert_snapshot!(table);
}

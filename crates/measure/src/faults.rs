//! `cellcc-measure faults`: every scheme under seventeen faults. docs/fidelity/faults.md has the causes.
//!
//! A link of 20 Mbit/s and 40 ms with a queue of 200 packets, for 60 s, or until 30 s after an outage; network assistance is
//! an oracle. A cell says how many seconds after the fault's end a second begins in which the scheme has half of the link
//! (`never`: none does), and its mean share of the link from 10 to 20 s after the end. A fault that does not end counts from
//! its beginning.
//! A star: no such second begins within 10 s, or that share is below a half.
//!
//! The third table is for acknowledgements that share 50 kbit/s: for each scheme and each way to thin them, the share of the
//! link, the mean RTT in ms and the acknowledgements sent per packet.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use crate::{Arguments, Outcome, usage};
use cellcc_experiment::{Driver, LossDetection, Plan, PlanFile, Record, ReportSource};
use cellcc_sim::SimDriver;
use cellcc_units::{QueueLimit, Ratio, Span};
use std::process::ExitCode;

/// Profiles that behave as schemes of their own. They stand after the schemes of the registry.
const PROFILES: [&str; 5] = [
    "reminis(profile=following)",
    "reminis(profile=literal)",
    "reminis(profile=code2022)",
    "rbbr(profile=tperf)",
    "verus(preset=authors)",
];

fn schemes() -> Vec<String> {
    let registry = cellcc_schemes::registry();
    let names = registry.schemes().iter().map(|info| info.name.to_string());
    names.chain(PROFILES.map(String::from)).collect()
}

const LINK: &str = "rate=20Mbit/s";
/// Bins of the series in a second.
const BINS_A_SECOND: usize = 10;
/// A second with half of the link is to begin within so many, and a mean share of a half is to hold for as many more.
const RECOVERY_SECONDS: usize = 10;

/// A fault, and how it changes the runs.
struct Fault {
    name: &'static str,
    change: fn(&mut PlanFile),
    /// When it ends, or begins where it does not end, in seconds.
    over_at: usize,
    /// The link's rate from then on, in Mbit/s.
    link: f64,
}

impl Fault {
    const fn new(name: &'static str, change: fn(&mut PlanFile), over_at: usize) -> Self {
        Self { name, change, over_at, link: 20.0 }
    }
}

fn trace(file: &mut PlanFile, trace: &str) {
    file.traces = vec![trace.into()];
}

fn reverse(file: &mut PlanFile, trace: &str, packets: u64) {
    file.path.reverse.trace = trace.into();
    file.path.reverse.queue = QueueLimit::Packets(packets).into();
}

fn outage(file: &mut PlanFile, seconds: u64) {
    trace(file, &format!("step=20Mbit/s@20s,0bit/s@{seconds}s,20Mbit/s@30s"));
    file.duration = Span::from_secs(20 + seconds + 30);
}

const FAULTS: [Fault; 17] = [
    Fault::new("outage1", |file| outage(file, 1), 21),
    Fault::new("outage10", |file| outage(file, 10), 30),
    Fault::new("outage30", |file| outage(file, 30), 50),
    Fault::new("outage120", |file| outage(file, 120), 140),
    Fault::new("drop1000", |file| trace(file, "step=20Mbit/s@20s,20kbit/s@10s,20Mbit/s@30s"), 30),
    Fault {
        link: 100.0,
        ..Fault::new("rise1000", |file| trace(file, "step=100kbit/s@20s,100Mbit/s@40s"), 20)
    },
    Fault::new("loss5", |file| file.path.extra_loss = "0%@20s,5%@10s,0%@30s".into(), 30),
    Fault::new("loss30", |file| file.path.extra_loss = "0%@20s,30%@10s,0%@30s".into(), 30),
    Fault::new("loss5s", |file| file.path.loss = Ratio::new(0.05), 0),
    Fault::new("loss30s", |file| file.path.loss = Ratio::new(0.3), 0),
    Fault::new("rttx3", |file| file.path.extra_delay = "0ms@20s,80ms@40s".into(), 20),
    Fault::new("rttx3t", |file| file.path.extra_delay = "0ms@20s,80ms@10s,0ms@30s".into(), 30),
    Fault::new("q1", |file| file.path.queue = QueueLimit::Packets(1).into(), 0),
    Fault::new("ackloss3", |file| reverse(file, "step=100Mbit/s@20s,0bit/s@3s,100Mbit/s@37s", 1), 23),
    Fault::new("ack50k", |file| reverse(file, "rate=50kbit/s", 100), 0),
    Fault::new(
        "reorder",
        |file| {
            (file.path.reordered, file.path.reordered_by) =
                ("5%".parse().expect("a share"), Span::from_millis(30))
        },
        0,
    ),
    Fault::new(
        "jitter",
        |file| (file.path.jitter, file.path.jitter_reorders) = (Span::from_millis(30), true),
        0,
    ),
];

/// How acknowledgements are thinned: the column's name, the receiver's policy and offload, the queue on the way back.
const THINNED: [(&str, &str, Option<&str>, &str); 6] = [
    ("every packet", "every-packet", None, "100pkt"),
    ("every second", "quic", None, "100pkt"),
    ("every 11th", "quic(threshold=10, max-ack-delay=25ms)", None, "100pkt"),
    ("every 21st", "quic(threshold=20, max-ack-delay=100ms)", None, "100pkt"),
    ("TCP's, gro", "delayed", Some("gro(flush=4ms)"), "100pkt"),
    ("TCP's, filter", "delayed", None, "droptail(100pkt, ack-filter)"),
];

pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    match arguments {
        ["quic"] => print_table(LossDetection::Quic)?,
        ["rack"] => print_table(LossDetection::Rack)?,
        ["ack50k"] => print_thinned()?,
        _ => return usage("faults"),
    }
    Ok(ExitCode::SUCCESS)
}

fn print_table(recovery: LossDetection) -> Outcome<()> {
    let columns = FAULTS.iter().map(|fault| cells(fault, recovery)).collect::<Result<Vec<_>, _>>()?;
    print!("{:<28}", "scheme");
    FAULTS.iter().for_each(|fault| print!(" {:>11} ", fault.name));
    println!();
    for (index, scheme) in schemes().iter().enumerate() {
        print!("{scheme:<28}");
        columns.iter().for_each(|column| print!(" {:>12}", column[index]));
        println!();
    }
    Ok(())
}

fn print_thinned() -> Outcome<()> {
    let columns = THINNED.iter().map(|(_, acks, offload, queue)| thinned(acks, *offload, queue));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    print!("{:<28}", "scheme");
    THINNED.iter().for_each(|(name, ..)| print!(" {name:>17}"));
    println!();
    for (index, scheme) in schemes().iter().enumerate() {
        print!("{scheme:<28}");
        columns.iter().for_each(|column| print!(" {:>17}", column[index]));
        println!();
    }
    Ok(())
}

/// Each scheme's result if acknowledgements share 50 kbit/s and are thinned like this.
fn thinned(acks: &str, offload: Option<&str>, queue: &str) -> Outcome<Vec<String>> {
    let recovery = if acks == "delayed" { LossDetection::Rack } else { LossDetection::Quic };
    let records = records(recovery, |file| {
        reverse(file, "rate=50kbit/s", 1);
        file.path.reverse.queue = queue.parse().expect("a queue");
        file.endpoint.acks = Some(acks.parse().expect("a policy"));
        file.endpoint.offload = offload.map(|text| text.parse().expect("an offload"));
    })?;
    let cell = |record: &Record| {
        let total = &record.total;
        let acks = total.sent_acks.unwrap_or(0) as f64 / total.sent_packets as f64;
        format!("{:.2} {:>4.0} {acks:.3}", total.utilisation, total.rtt_mean_ms.unwrap_or(f64::NAN))
    };
    Ok(records.iter().map(cell).collect())
}

/// Each scheme's result under `fault`.
fn cells(fault: &Fault, recovery: LossDetection) -> Outcome<Vec<String>> {
    Ok(records(recovery, fault.change)?.iter().map(|record| cell(fault, record)).collect())
}

/// A run of each scheme, changed like this.
fn records(recovery: LossDetection, change: impl FnOnce(&mut PlanFile)) -> Outcome<Vec<Record>> {
    let driver = SimDriver::new(cellcc_schemes::registry());
    let mut file = PlanFile {
        schemes: schemes(),
        traces: vec![LINK.into()],
        duration: Span::from_secs(60),
        ..PlanFile::default()
    };
    file.path.rtt = Span::from_millis(40);
    file.path.queue = QueueLimit::Packets(200).into();
    file.endpoint.recovery = recovery;
    file.netassist.source = ReportSource::Oracle;
    change(&mut file);
    let plan = Plan::new(&file, &driver, "faults")?;
    // The first run is the limit.
    plan.runs.iter().skip(1).map(|run| Ok(driver.run(&run.scenario)?)).collect()
}

fn cell(fault: &Fault, record: &Record) -> String {
    let rates = record.series.column("flow0.throughput_mbit_s").expect("every flow has it");
    let shares: Vec<f64> = rates.iter().map(|&rate| f64::from(rate) / fault.link).collect();
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    let after = &shares[fault.over_at * BINS_A_SECOND..];
    let first = after.windows(BINS_A_SECOND).position(|second| mean(second) >= 0.5);
    let share = mean(&after[RECOVERY_SECONDS * BINS_A_SECOND..2 * RECOVERY_SECONDS * BINS_A_SECOND]);
    let in_time = first.is_some_and(|first| first <= RECOVERY_SECONDS * BINS_A_SECOND);
    let star = if in_time && share >= 0.5 { ' ' } else { '*' };
    let first = first.map_or("never".into(), |first| format!("{:.1}", first as f64 / BINS_A_SECOND as f64));
    format!("{first}/{share:.2}{star}")
}

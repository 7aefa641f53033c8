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
use cellcc_experiment::{Driver, LossDetection, Plan, PlanFile, Record};
use cellcc_runner::score::faults::{self, FAULTS, Fault, Recovery};
use cellcc_sim::SimDriver;
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
    let mut file = faults::link(&schemes(), faults::RTT);
    faults::reverse(&mut file, "rate=50kbit/s", 1);
    file.path.reverse.queue = queue.parse().expect("a queue");
    file.endpoint.acks = Some(acks.parse().expect("a policy"));
    file.endpoint.offload = offload.map(|text| text.parse().expect("an offload"));
    let records = records(recovery, file)?;
    let cell = |record: &Record| {
        let total = &record.total;
        let acks = total.sent_acks.unwrap_or(0) as f64 / total.sent_packets as f64;
        format!("{:.2} {:>4.0} {acks:.3}", total.utilisation, total.rtt_mean_ms.unwrap_or(f64::NAN))
    };
    Ok(records.iter().map(cell).collect())
}

/// Each scheme's result under `fault`.
fn cells(fault: &Fault, recovery: LossDetection) -> Outcome<Vec<String>> {
    let file = fault.plan_file(&schemes(), faults::RTT);
    Ok(records(recovery, file)?.iter().map(|record| cell(fault.recovery(record))).collect())
}

/// A run of each scheme.
fn records(recovery: LossDetection, mut file: PlanFile) -> Outcome<Vec<Record>> {
    let driver = SimDriver::new(cellcc_schemes::registry());
    file.endpoint.recovery = recovery;
    let plan = Plan::new(&file, &driver, "faults")?;
    // The first run is the limit.
    plan.runs.iter().skip(1).map(|run| Ok(driver.run(&run.scenario)?)).collect()
}

fn cell(recovery: Recovery) -> String {
    let star = if recovery.is_back() { ' ' } else { '*' };
    let first = recovery.after_s.map_or("never".into(), |after| format!("{after:.1}"));
    format!("{first}/{:.2}{star}", recovery.share)
}

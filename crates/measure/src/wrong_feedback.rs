//! Eight kinds of wrong reports (docs/fidelity/natcp.md, "Beyond the paper"):
//! `cargo run --release -p cellcc-measure -- wrong-feedback FOLDER`, a folder of traces.
//!
//! The guard was developed on every other trace of `lte-mahimahi`, by name, beginning with the first: their means stand
//! next to those of the others.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

#[path = "../../sim/tests/it/wrong_feedback/table.rs"]
mod table;

use crate::{Arguments, Outcome, usage};
use cellcc_experiment::ReportSource;
use std::process::ExitCode;
use table::{FAULTS, row};

pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    let [folder] = arguments else { return usage("wrong-feedback") };
    let files = match std::fs::read_dir(folder) {
        Ok(files) => files.flatten(),
        Err(error) => {
            eprintln!("{folder}: {error}; give a folder of traces");
            return Ok(ExitCode::from(2));
        }
    };
    let mut traces: Vec<String> = files.map(|file| file.path().display().to_string()).collect();
    traces.sort();
    let half = |first| traces.iter().skip(first).step_by(2).cloned().collect::<Vec<String>>();
    if half(1).is_empty() {
        eprintln!("{folder} holds fewer than two traces; give a folder of traces");
        return Ok(ExitCode::from(2));
    }
    println!("to CUBIC alone: throughput (on the trace with the least), RTT; guard off: throughput, RTT");
    for (name, source) in [("causal", ReportSource::Causal), ("oracle", ReportSource::Oracle)] {
        for fault in &FAULTS {
            for (half_name, traces) in
                [("developed on", half(0)), ("held out", half(1)), ("all", traces.clone())]
            {
                let row = row(fault, source, &traces);
                println!("{name:<7} {:<25} {half_name:<13} {row}", fault.name);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

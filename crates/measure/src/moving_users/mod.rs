//! Three users who move between two sites, each with a daemon, for minutes: `cellcc-measure moving-users`.
//!
//! The arguments are the program `cellcc` and how long. The exit status is 1 if a flow was lost, a sender learned of a new site
//! too late, or a process grew. Needs root, nftables and nats-server.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement has a clock and prints"
)]

mod run;

use crate::{Arguments, Outcome, usage};
use cellcc_units::Span;
use run::Schedule;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Also the warm-up.
const MOVE_INTERVAL: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: Arguments) -> Outcome<ExitCode> {
    let [program, time] = arguments else { return usage("moving-users") };
    let Ok(time) = time.parse::<Span>() else { return usage("moving-users") };
    let moves = (time.as_nanos() / MOVE_INTERVAL.as_nanos() as u64) as usize;
    let schedule = Schedule { warm_up: MOVE_INTERVAL, move_interval: MOVE_INTERVAL, moves };
    let folder = tempfile::tempdir()?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    ctrlc::set_handler(move || stopped.store(true, Ordering::Relaxed))?;
    let outcome = run::run(program.as_ref(), folder.path(), &schedule, &stop)?;
    print!("{outcome}");
    let problems = outcome.problems();
    for problem in &problems {
        eprintln!("{problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

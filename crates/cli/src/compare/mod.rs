//! `cellcc compare`: flags and a Scenario become a Plan, the Plan is run, and its Records are reported.

mod args;
mod bar;
mod drivers;
mod events;
mod further;
mod request;

pub(crate) use args::Args;
pub(crate) use bar::Bar;
pub(crate) use drivers::{Drivers, Prepare};
pub(crate) use request::{of_words, with};

use crate::exit::{Exit, tell};
use crate::free_folder::first_free;
use crate::interrupt::on_interrupt_or_hangup;
use crate::present::{self, HeldAgainst};
use args::ExecutionArgs;
use cellcc_runner::{Existing, Host, Outcome, OutputFolder, Runner};
use cellcc_version::VERSION;
use events::Events;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn run(mut args: Args) -> Result<(), Exit> {
    if args.execution.resume && args.execution.out.is_none() {
        args.execution.out = Some(last_folder()?);
    }
    let request = further::resumed(request::request(&args)?, &args.execution);
    request.check()?;
    args.execution.shown.check()?;
    let drivers = &request.file.drivers;
    let events = Events::new(args.execution.events.as_deref(), drivers)?;
    let driver = Drivers::new(drivers, &events.recordings())?;
    let plan = request.plan(&driver, VERSION)?;

    let execution = &args.execution;
    let out = match &execution.out {
        Some(out) => out.clone(),
        None => first_free((1_u32..).map(numbered))?,
    };
    let mut runner = Runner {
        out: OutputFolder::create(&out)?,
        jobs: execution.jobs.and_then(|jobs| NonZeroUsize::new(jobs.into())).unwrap_or_else(processors),
        shard: execution.shard,
        existing: match execution {
            ExecutionArgs { resume: true, .. } => Existing::Resume,
            ExecutionArgs { force: true, .. } => Existing::Replace,
            _ => Existing::Refuse,
        },
        series: execution.series,
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        scenario: request.scenario_toml().map_err(Exit::failed)?,
    };
    let real_time = driver.real_time(&plan);
    if let Some((runs, length)) = real_time.filter(|_| !execution.shown.quiet) {
        let runs = if runs == 1 { "1 run takes".into() } else { format!("{runs} runs take") };
        tell(&format!("{runs} real time, one at a time: {length} in all"));
    }
    let stop = stop_on_signal(real_time.is_some())?;
    let outcome = further::run(request, plan, &mut runner, &driver, &stop, execution.shown.quiet)?;
    conclude(&outcome, &runner.out, execution)?;
    events.conclude()
}

/// Where results go by default.
const RESULTS: &str = "cellcc-out";

/// The one of those folders that was made last.
fn last_folder() -> Result<PathBuf, Exit> {
    let folders = std::fs::read_dir(RESULTS).into_iter().flatten().flatten();
    let numbers = folders.filter_map(|folder| folder.file_name().to_str()?.parse::<u32>().ok());
    let last = numbers.max().ok_or_else(|| {
        Exit::input(format!("--resume: {RESULTS} holds no results; name their folder with --out"))
    })?;
    Ok(numbered(last))
}

/// `cellcc-out/001`, ...
fn numbered(number: u32) -> PathBuf {
    format!("{RESULTS}/{number:03}").into()
}

fn conclude(outcome: &Outcome, out: &OutputFolder, execution: &ExecutionArgs) -> Result<(), Exit> {
    if outcome.interrupted {
        let shard = execution.shard.map(|shard| format!(" --shard {shard}")).unwrap_or_default();
        // Two lines: a terminal would break one of them within a word.
        tell(&format!(
            "interrupted: {} of {} runs are finished and kept\nto go on: cellcc compare --resume --out {}{shard}",
            outcome.finished,
            outcome.runs,
            quoted(out.path())
        ));
        return Err(Exit::Interrupted);
    }
    let shown = present::results(out, execution.format, HeldAgainst::ByPlan, &execution.shown);
    present::failures(&outcome.failures)?;
    shown
}

pub(crate) fn processors() -> NonZeroUsize {
    NonZeroUsize::new(Host::this().cpus).unwrap_or(NonZeroUsize::MIN)
}

/// The first interrupt ends the runs in virtual time, and lets those in real time, where there are some, come to their end; the second
/// does not.
pub(crate) fn stop_on_signal(is_real_time: bool) -> Result<Arc<AtomicBool>, Exit> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        let run = if is_real_time { ", and the run in real time comes to its end" } else { "" };
        tell(&format!("interrupted: no further run is begun{run}\nonce more to leave at once"));
    };
    on_interrupt_or_hangup(handler)?;
    Ok(stop)
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

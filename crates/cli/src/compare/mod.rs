//! `cellcc compare`: flags and a Scenario become a Plan, the Plan is run, and its Records are reported.

mod args;
mod events;
mod request;

pub(crate) use args::Args;
pub(crate) use request::{of_words, with};

use crate::exit::{Exit, tell};
use crate::free_folder::first_free;
use crate::interrupt::stop_on_signal;
use crate::present::{self, HeldAgainst};
use crate::running::{Bar, jobs};
use crate::terminal::quoted;
use args::ExecutionArgs;
use cellcc_runner::{Drivers, Existing, Outcome, OutputFolder, Runner};
use cellcc_version::VERSION;
use events::Events;
use std::path::PathBuf;

pub(crate) fn run(mut args: Args) -> Result<(), Exit> {
    if args.execution.resume && args.execution.out.is_none() {
        args.execution.out = Some(last_folder()?);
    }
    let request = request::request(&args)?;
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
    let runner = Runner {
        out: OutputFolder::create(&out)?,
        jobs: jobs(execution.jobs),
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
    let bar = Bar::new(execution.shown.quiet);
    let outcome = runner.run(&plan, &driver, &bar, &stop);
    bar.clear();
    conclude(&outcome?, &runner.out, execution)?;
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

//! `cellcc compare`: flags and a Scenario become a Plan, the Plan is run, and its Records are reported.

mod events;
mod request;

pub(crate) use request::{of_words, with};

use crate::exit::{Exit, tell};
use crate::free_folder::first_free;
use crate::interrupt::stop_on_signal;
use crate::own::version;
use crate::present::{self, HeldAgainst};
use crate::running::{Bar, jobs};
use crate::terminal::quoted;
use crate::{conditions, grid};
use cellcc_report::TableFormat;
use cellcc_runner::{Drivers, Existing, Outcome, OutputFolder, Runner, SeriesDetail, Shard};
use events::Events;
use std::path::PathBuf;

/// Without a flag the Scenario file decides, or the quick start.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
All flags: cellcc compare --help

Examples:
  cellcc compare
  cellcc compare --schemes 'cubic,reminis(dtt=40ms)' --traces my-traces/ --seeds 1..3 --out results
  cellcc compare --schemes '2*cubic+reminis@5s..60s' --traces 100Mbit/s lte-drive --queue 800pkt")]
pub(crate) struct Args {
    /// Scenario file in TOML; flags override it.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    conditions: conditions::Flags,
    #[command(flatten, next_help_heading = "Execution and output")]
    execution: ExecutionArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExecutionArgs {
    /// Number of parallel runs [default: one per CPU].
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Output folder [default: the next free one of cellcc-out/001, 002, ...].
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Finish the interrupted runs of --out.
    ///
    /// Without --out, of the last folder of cellcc-out; without other flags, with its settings.
    #[arg(long, conflicts_with = "replace")]
    resume: bool,
    /// Replace results that are already in --out.
    #[arg(long, alias = "force", requires = "out")]
    replace: bool,
    /// Time series and curves to keep: off, sampled (curves: only points that a figure can resolve) or full.
    #[arg(hide_short_help = true, long, value_name = "HOW-MUCH", default_value = "sampled")]
    series: SeriesDetail,
    /// Run only one shard of the plan, e.g. 2/8, for array jobs; `cellcc merge` joins the shards.
    #[arg(hide_short_help = true, long, value_name = "INDEX/COUNT", requires = "out")]
    shard: Option<Shard>,
    /// Write an event log per flow (every event, every decision of its scheme) to this folder, for
    /// `cellcc replay`: RUN.flowINDEX.events.
    #[arg(hide_short_help = true, long, value_name = "DIR")]
    events: Option<PathBuf>,
    /// Output format.
    ///
    /// JSON and CSV: one row per run; table and Markdown: one row per scheme.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
    #[command(flatten)]
    shown: present::Shown,
}

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
    let plan = request.plan(&driver, version())?;

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
            ExecutionArgs { replace: true, .. } => Existing::Replace,
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
    // Reading the results takes as much memory again.
    drop((plan, bar));
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

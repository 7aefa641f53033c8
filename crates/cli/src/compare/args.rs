//! The flags of `cellcc compare`.

use crate::{conditions, grid, present};
use cellcc_report::TableFormat;
use cellcc_runner::{SeriesDetail, Shard};
use std::path::PathBuf;

/// A flag that is not given leaves what the Scenario file says, or the quick start.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc compare
  cellcc compare --schemes 'cubic,reminis(dtt=40ms)' --traces my-traces/ --seeds 1..3 --out results
  cellcc compare --schemes '2*cubic+reminis@5s..60s' --traces 100Mbit/s lte-drive --queue 800pkt")]
pub(crate) struct Args {
    /// A Scenario in TOML; flags have the last word.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) conditions: conditions::Flags,
    #[command(flatten, next_help_heading = "Execution and output")]
    pub(crate) execution: ExecutionArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExecutionArgs {
    /// How many runs go on at a time [default: one per processor].
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// The output folder [default: the next free one of cellcc-out/001, 002, ...].
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Finish what was interrupted in --out [default: the last one of cellcc-out/001, ...]; with nothing else given, just that.
    #[arg(long, conflicts_with = "force")]
    pub(crate) resume: bool,
    /// Replace results that --out holds already.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// How much of time series and curves to keep: off, sampled (of curves the points that a figure can show apart) or full.
    #[arg(long, value_name = "HOW-MUCH", default_value = "sampled")]
    pub(crate) series: SeriesDetail,
    /// Run only a share of the plan, such as 2/8, for array jobs; `cellcc merge` joins the shares.
    #[arg(long, value_name = "INDEX/COUNT", requires = "out")]
    pub(crate) shard: Option<Shard>,
    /// Write the event log of each flow (every event, every decision of its scheme) to a file in this folder, for
    /// `cellcc replay`: RUN.flowINDEX.events.
    #[arg(long, value_name = "DIR")]
    pub(crate) events: Option<PathBuf>,
    /// How to print the table: JSON and CSV have a row a run, the others a row a scheme.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    pub(crate) format: TableFormat,
    #[command(flatten)]
    pub(crate) shown: present::Shown,
}

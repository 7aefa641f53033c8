//! `cellcc report`: table, figures and report again, from a folder of results.

use crate::exit::Exit;
use crate::grid;
use crate::present::{self, HeldAgainst};
use cellcc_report::TableFormat;
use cellcc_runner::{OutputFolder, Results};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder that `compare` or `merge` left.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The scheme that the others are held against, in a table of ratios [default: that of the plan].
    #[arg(long, value_name = "SCHEME")]
    baseline: Option<String>,
    /// Other results, which are held against these row by row, in tables of ratios and in sentences that say what has changed.
    #[arg(long, value_name = "DIR", conflicts_with = "baseline")]
    against: Option<PathBuf>,
    #[command(flatten)]
    shown: present::Shown,
    /// How to print the table.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let folder = OutputFolder::open(&args.folder)?;
    let others = args.against.as_deref().map(Results::read).transpose()?;
    let name = args.against.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let held_against = match (&others, &args.baseline) {
        (Some(others), _) => HeldAgainst::Results(&others.records, &name),
        (None, Some(scheme)) => HeldAgainst::Scheme(scheme),
        (None, None) => HeldAgainst::ByPlan,
    };
    present::results(&folder, args.format, held_against, &args.shown)
}

//! `cellcc report`: table, figures and report again, from a folder of results.

use crate::exit::Exit;
use crate::{grid, present};
use cellcc_report::TableFormat;
use cellcc_runner::OutputFolder;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder that `compare` or `merge` left.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The scheme that the others are held against, in a table of ratios [default: that of the plan].
    #[arg(long, value_name = "SCHEME")]
    baseline: Option<String>,
    #[command(flatten)]
    shown: present::Shown,
    /// How to print the table.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let folder = OutputFolder::open(&args.folder)?;
    present::results(&folder, args.format, args.baseline.as_deref(), &args.shown)
}

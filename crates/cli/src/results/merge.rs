//! `cellcc merge`: the folders of all shares become the folder of the whole plan.

use crate::exit::Exit;
use crate::grid;
use crate::present::{self, HeldAgainst};
use cellcc_report::TableFormat;
use cellcc_runner::Existing;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folders that `compare --shard 1/N`, `2/N`, ... left.
    #[arg(required = true, value_name = "SHARD_DIR")]
    shards: Vec<PathBuf>,
    /// The folder for the whole.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Replace results that the folder holds already.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    shown: present::Shown,
    /// How to print the table.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let existing = if args.force { Existing::Replace } else { Existing::Refuse };
    let merged = cellcc_runner::merge(&args.shards, &args.out, existing)?;
    present::results(&merged.out, args.format, HeldAgainst::ByPlan, &args.shown)?;
    present::failures(&merged.failures)
}

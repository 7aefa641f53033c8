//! `cellcc report`: table, figures and report again, from a folder of results; `cellcc merge`, which joins the folders of
//! shares first.

use crate::exit::{Exit, tell};
use crate::grid;
use crate::present::{self, HeldAgainst};
use cellcc_report::TableFormat;
use cellcc_runner::{Existing, OutputFolder, Results, RunnerError, SeriesOf};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc report results --baseline cubic
  cellcc report new --against old")]
pub(crate) struct Report {
    /// Output folder of `compare` or `merge`.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Baseline scheme of a table of ratios [default: the plan's].
    #[arg(long, value_name = "SCHEME")]
    baseline: Option<String>,
    /// Other results to compare with row by row, in tables of ratios, sentences about changes, and report-against.html.
    #[arg(long, value_name = "DIR", conflicts_with = "baseline")]
    against: Option<PathBuf>,
    #[command(flatten)]
    shown: present::Shown,
    /// Output format.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

pub(crate) fn report(args: &Report) -> Result<(), Exit> {
    let scalars = |folder: &Path| Results::read_with(folder, SeriesOf::NoRun);
    let others = args.against.as_deref().map(scalars).transpose()?;
    let name = args.against.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let held_against = match (&others, &args.baseline) {
        (Some(others), _) => HeldAgainst::Results(&others.records, &name),
        (None, Some(scheme)) => HeldAgainst::Scheme(scheme),
        (None, None) => HeldAgainst::ByPlan,
    };
    let (path, why) = match OutputFolder::open(&args.folder) {
        Ok(folder) => return present::results(&folder, args.format, held_against, &args.shown),
        Err(RunnerError::Unwritable { path, source }) => (path, source),
        Err(error) => return Err(error.into()),
    };
    // An archive, or another user's folder: its content can be read all the same.
    present::table(&scalars(&args.folder)?, args.format, held_against, &args.shown)?;
    let alone =
        format!("the table alone, no figures and no report: cannot write to {}: {why}", path.display());
    match why.kind() {
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied if !args.shown.png => {
            tell(&format!("{alone}; a copy of the folder gets them"));
            Ok(())
        }
        _ => Err(Exit::failed(alone)),
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc merge shard-1 shard-2 --out results")]
pub(crate) struct Merge {
    /// Output folders of `compare --shard 1/N`, `2/N`, ...
    #[arg(required = true, value_name = "SHARD_DIR")]
    shards: Vec<PathBuf>,
    /// Output folder for the whole.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Replace results that are already in --out.
    #[arg(long, alias = "force")]
    replace: bool,
    #[command(flatten)]
    shown: present::Shown,
    /// Output format.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

pub(crate) fn merge(args: &Merge) -> Result<(), Exit> {
    let existing = if args.replace { Existing::Replace } else { Existing::Refuse };
    let merged = cellcc_runner::merge(&args.shards, &args.out, existing)?;
    present::results(&merged.out, args.format, HeldAgainst::ByPlan, &args.shown)?;
    present::failures(&merged.failures)
}

//! The flags of `cellcc reproduce`.

use cellcc_claims::Scale;
use cellcc_runner::Shard;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc reproduce natcp
  cellcc reproduce REM-04 'RBBR-1*' table-2
  cellcc reproduce --docs docs/fidelity/natcp.md")]
pub(crate) struct Args {
    /// Claims: REM-04, 'REM-*', a paper (reminis), or a place in one (table-2) [default: all; with --docs and pages, none].
    #[arg(value_name = "CLAIM")]
    pub(super) claims: Vec<String>,
    /// Check the tables of these pages as well [default: README.md and all of docs].
    #[arg(long, value_name = "PAGE", num_args = 0..)]
    pub(super) docs: Option<Vec<PathBuf>>,
    /// How much to run: paper, as the pages document it, or smaller, shorter runs on the same links.
    #[arg(long, value_name = "SCALE", default_value = "paper", value_parser = ["smaller", "paper"])]
    scale: String,
    /// Take the verdicts down, in claims/state.tsv, docs/fidelity/claims.md and README.md, and put into pages what drifted.
    #[arg(long)]
    pub(super) write: bool,
    /// The output folder [default: the next free one of cellcc-out/001, 002, ...].
    #[arg(long, short, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Finish what was interrupted in --out.
    #[arg(long, requires = "out")]
    pub(super) resume: bool,
    /// Run only a share, such as 2/8, for array jobs; `cellcc merge` joins the shares.
    #[arg(long, value_name = "INDEX/COUNT", requires = "out")]
    pub(super) shard: Option<Shard>,
    /// How many runs go on at a time [default: one per processor].
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
    /// No progress bar and no remarks on standard error; errors are named all the same.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl Args {
    pub(super) fn scale(&self) -> Scale {
        if self.scale == "smaller" { Scale::Smaller } else { Scale::Paper }
    }
}

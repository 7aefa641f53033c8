//! The flags of `cellcc check`.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc check bbr3
  cellcc check 'reminis(dtt=40ms)' --suite quick
  cellcc check cubic --suite rfc9743,cubic --driver sim,quic-virtual --junit cubic.xml
  cellcc check bbr3 --case bbr/15
  cellcc check noq:cubic
  sudo cellcc check kernel:bbr --require")]
pub(crate) struct Args {
    /// What is checked: a scheme, NAME or NAME(KEY=VALUE,...); noq:NAME, of noq's own; or kernel:NAME, of this machine's kernel
    /// through the emulator.
    #[arg(value_name = "SUBJECT")]
    pub(super) subject: String,
    /// Suites, separated by commas: bbr, rfc9743, newreno, cubic, or quick, short cases of them [default: those about the subject].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) suite: Vec<String>,
    /// Cases: bbr/15, 15, or a pattern such as 'bbr/1*'.
    #[arg(long, value_name = "CASE")]
    pub(super) case: Vec<String>,
    /// What runs them, separated by commas: sim, quic-virtual, quic [default: sim; quic-virtual for noq:NAME].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) driver: Vec<String>,
    /// Write the verdicts as JUnit's XML.
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// How to print the verdicts: text, a line a condition, or json, an object a condition.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    pub(super) format: String,
    /// What `--format json` printed before: only what has become worse is a failure.
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Fail where a driver judges none of the cases, as where this machine's kernel has no NAME.
    #[arg(long)]
    pub(super) require: bool,
    /// How many runs go on at a time [default: one per processor].
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
    /// No progress bar and no remarks on standard error; errors are named all the same.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

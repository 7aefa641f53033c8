//! The results of every command: a table on standard output, figures and a report in the folder.

use crate::exit::{ALL_OF_CELLCC, Exit, print, tell};
use crate::terminal;
use cellcc_experiment::Record;
use cellcc_report::{Report, ReportFile, TableColumn, TableFormat, TableOptions};
use cellcc_runner::{Failure, OutputFolder, Results, SeriesOf};
use std::fmt::Write as _;
use std::path::Path;

#[derive(Debug, clap::Args)]
pub(crate) struct Shown {
    /// Also write every figure as PNG.
    #[arg(hide_short_help = true, long)]
    pub(crate) png: bool,
    /// Columns of the table, e.g. rtt-p95,power.
    ///
    /// [default: all that the runs have, except d3]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    columns: Vec<TableColumn>,
    /// Sort rows by this column, best first, e.g. power.
    #[arg(long, value_name = "COLUMN")]
    sort: Option<TableColumn>,
    /// Omit the confidence intervals from the table.
    #[arg(hide_short_help = true, long)]
    no_intervals: bool,
    /// Print only errors on standard error, without progress bar and notes.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Shown {
    /// Refuses figures that this build cannot draw, before any run.
    pub(crate) fn check(&self) -> Result<(), Exit> {
        if self.png && cfg!(not(feature = "png")) {
            return Err(Exit::input(format!("--png: this build draws no pixels; {ALL_OF_CELLCC}")));
        }
        Ok(())
    }
}

/// The baseline of results.
pub(crate) enum HeldAgainst<'a> {
    /// The baseline of their plan.
    ByPlan,
    Scheme(&'a str),
    /// Other results, which have this name.
    Results(&'a [Record], &'a str),
}

/// Prints the table of a folder's results and makes its report.
pub(crate) fn results(
    folder: &OutputFolder,
    format: TableFormat,
    held_against: HeldAgainst,
    args: &Shown,
) -> Result<(), Exit> {
    args.check()?;
    let results = Results::read_with(folder.path(), SeriesOf::FirstSeeds)?;
    let report = report(&results, held_against)?;
    let Results { info, .. } = &results;
    // A share shows a part of every trace: its report would mislead.
    let files = if info.shard.is_none() { report.files() } else { Vec::new() };
    let write = |name: &str, content: &[u8]| {
        folder.write(name, content).map_err(|error| {
            let folder = folder.path().display();
            Exit::failed(format!(
                "cannot write {folder}/{name}: {error}; the results are whole, and `cellcc report {folder}` reports them"
            ))
        })
    };
    for ReportFile { name, content } in &files {
        write(name, content.as_bytes())?;
        #[cfg(feature = "png")]
        if let Some(stem) = name.strip_suffix(".svg").filter(|_| args.png) {
            write(&format!("{stem}.png"), &cellcc_report::png(content).map_err(Exit::failed)?)?;
        }
    }
    let written = files.last().map(|report| address(&folder.path().join(&report.name)));
    let printed = print_table(&report, format, args);
    if !args.quiet {
        match (written, info.shard) {
            (Some(address), _) => tell(&format!("report: {address}")),
            (None, Some(shard)) => tell(&format!(
                "shard {shard} is in {}; when all are there, `cellcc merge` joins them",
                folder.path().display()
            )),
            (None, None) => {}
        }
    }
    printed
}

/// Prints the table of results, and makes nothing.
pub(crate) fn table(
    results: &Results,
    format: TableFormat,
    held_against: HeldAgainst,
    args: &Shown,
) -> Result<(), Exit> {
    args.check()?;
    print_table(&report(results, held_against)?, format, args)
}

fn report<'a>(results: &'a Results, held_against: HeldAgainst<'a>) -> Result<Report<'a>, Exit> {
    let report = Report::new(&results.info.title, &results.records, &results.info.baseline);
    match held_against {
        HeldAgainst::ByPlan => Ok(report),
        HeldAgainst::Scheme(scheme) => report.against(scheme).map_err(Exit::input),
        HeldAgainst::Results(others, name) => Ok(report.against_results(others, name)),
    }
}

fn print_table(report: &Report, format: TableFormat, args: &Shown) -> Result<(), Exit> {
    let (columns, sort, no_intervals) = (args.columns.clone(), args.sort, args.no_intervals);
    let options = TableOptions { columns, sort, no_intervals, highlights: true };
    print(&report.table(format, terminal::width(), &options))
}

/// Names the runs that failed.
pub(crate) fn failures(failures: &[Failure]) -> Result<(), Exit> {
    for failure in failures {
        tell(&format!("error: {}: {}", failure.label, failure.cause));
    }
    if failures.is_empty() { Ok(()) } else { Err(Exit::FailedRuns) }
}

/// The file as an address that terminals make clickable and every browser opens.
pub(crate) fn address(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.into());
    let mut address = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                address.push(char::from(byte));
            }
            _ => {
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address
}

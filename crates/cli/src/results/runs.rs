//! `cellcc runs`: the runs of stored results one by one, outliers first.

use crate::exit::{Exit, print};
use crate::{grid, terminal};
use cellcc_report::{RunsOptions, TableColumn, TableFormat, runs_table};
use cellcc_runner::Results;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc runs results --worst rtt-p95
  cellcc runs results --worst power --count 5 --columns power,utilisation,queueing-p95
  cellcc runs results --format csv")]
pub(crate) struct Args {
    /// The folder that `compare` or `merge` left.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Put the run with the worst value in this column first: rtt-p95, or by its name in CSV and JSON, rtt_p95_ms.
    #[arg(long, value_name = "COLUMN")]
    worst: Option<TableColumn>,
    /// Columns of the table, separated by commas [default: that of --worst, throughput, rtt-p95].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    columns: Vec<TableColumn>,
    /// No more rows than these [default: 20 for people, all in JSON and CSV].
    #[arg(long, short = 'n', value_name = "N")]
    count: Option<usize>,
    /// How to print it: JSON and CSV have every scalar.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

/// Rows that a person reads.
const FOR_PEOPLE: usize = 20;

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let Results { records, .. } = Results::read(&args.folder)?;
    let few = match args.format {
        TableFormat::Table | TableFormat::Markdown => Some(FOR_PEOPLE),
        TableFormat::Json | TableFormat::Csv => None,
    };
    let options = RunsOptions { worst: args.worst, columns: args.columns.clone(), count: args.count.or(few) };
    print(&runs_table(&records, args.format, terminal::width(), &options))
}

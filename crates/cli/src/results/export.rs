//! The runs of stored results one by one: `cellcc export` writes them, their time series and their curves as one table each,
//! for pandas, Polars and DuckDB; `cellcc runs` lists them, outliers first.

use crate::exit::{ALL_OF_CELLCC, Exit, print, tell, write_file};
use crate::{grid, terminal};
use cellcc_report::{RunsOptions, TableColumn, TableFormat, long_tables, runs_table};
use cellcc_runner::{Results, lie_by_digits};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc export results --out tables
  duckdb -c \"select scheme, max(\\\"flow0.rtt_ms\\\") from 'tables/series.parquet' group by scheme\"")]
pub(crate) struct Export {
    /// Output folder of `compare` or `merge`.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Folder for the tables: runs, series, and curves if a scheme reported any.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Write CSV instead of Parquet.
    #[arg(long)]
    csv: bool,
    /// Print only errors on standard error.
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn export(args: &Export) -> Result<(), Exit> {
    if !args.csv && cfg!(not(feature = "parquet")) {
        return Err(Exit::input(format!("this build writes no Parquet; use --csv, or {ALL_OF_CELLCC}")));
    }
    let Results { records, .. } = Results::read(&args.folder)?;
    std::fs::create_dir_all(&args.out)
        .map_err(|error| Exit::input(format!("cannot create {}: {error}", args.out.display())))?;
    let ending = if args.csv { "csv" } else { "parquet" };
    for (name, csv) in long_tables(&records) {
        let path = args.out.join(format!("{name}.{ending}"));
        let content = if args.csv { csv.into_bytes() } else { parquet(&csv)? };
        write_file(&path, content)?;
        if !args.quiet {
            tell(&format!("wrote {}", path.display()));
        }
    }
    Ok(())
}

#[cfg(feature = "parquet")]
fn parquet(csv: &str) -> Result<Vec<u8>, Exit> {
    cellcc_report::parquet(csv).map_err(Exit::failed)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &str) -> Result<Vec<u8>, Exit> {
    unreachable!("refused before")
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc runs results --worst rtt-p95
  cellcc runs results --worst power --count 5 --columns power,utilisation,queueing-p95
  cellcc runs results --format csv")]
pub(crate) struct Runs {
    /// Output folder of `compare` or `merge`.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Sort runs by this column, worst first: rtt-p95, or its CSV and JSON name, rtt_p95_ms.
    #[arg(long, value_name = "COLUMN")]
    worst: Option<TableColumn>,
    /// Columns of the table, comma-separated [default: that of --worst, throughput, rtt-p95].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    columns: Vec<TableColumn>,
    /// Most rows [default: 20 in tables, all in JSON and CSV].
    #[arg(long, short = 'n', value_name = "N")]
    count: Option<usize>,
    /// Output format; JSON and CSV have every scalar.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

/// Rows that a person reads.
const FOR_PEOPLE: usize = 20;

pub(crate) fn runs(args: &Runs) -> Result<(), Exit> {
    let Results { info, records } = Results::read(&args.folder)?;
    let few = match args.format {
        TableFormat::Table | TableFormat::Markdown => Some(FOR_PEOPLE),
        TableFormat::Json | TableFormat::Csv => None,
    };
    let options = RunsOptions {
        worst: args.worst,
        columns: args.columns.clone(),
        count: args.count.or(few),
        planned: if lie_by_digits(&args.folder) { info.plan.len() } else { 0 },
    };
    print(&runs_table(&records, args.format, terminal::width(), &options))
}

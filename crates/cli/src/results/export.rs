//! `cellcc export`: runs, time series and curves as one table each, for pandas, Polars and DuckDB.

use crate::exit::{ALL_OF_CELLCC, Exit, tell, write_file};
use cellcc_report::long_tables;
use cellcc_runner::Results;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc export results --out tables
  duckdb -c \"select scheme, max(\\\"flow0.rtt_ms\\\") from 'tables/series.parquet' group by scheme\"")]
pub(crate) struct Args {
    /// The folder that `compare` or `merge` left.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The folder for the tables: runs, series, and where a scheme showed some, curves.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// CSV in the place of Parquet.
    #[arg(long)]
    csv: bool,
    /// No remarks on standard error.
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
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

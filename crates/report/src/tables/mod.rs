//! Tables for a terminal, for Markdown and for programs.

pub(crate) mod column;
pub(crate) mod grid;
pub(crate) mod long;
pub(crate) mod number;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod rows;
pub(crate) mod runs;
pub(crate) mod text_table;
pub(crate) mod wrap;

use crate::comparison::Comparison;
use crate::relative::HeldAgainst;
use crate::{TableFormat, TableOptions};
use cellcc_experiment::Record;
use text_table::{Style, summary};

/// [`crate::table`], with options.
pub(crate) fn table(
    records: &[Record],
    format: TableFormat,
    held_against: HeldAgainst,
    width: usize,
    options: &TableOptions,
) -> String {
    match format {
        TableFormat::Table => summary(records, Style::Terminal(width), held_against, options),
        TableFormat::Json => rows::json(&all(records), &Comparison::new(records)),
        TableFormat::Csv => rows::csv(&all(records), &Comparison::new(records)),
        TableFormat::Markdown => summary(records, Style::Markdown, held_against, options),
    }
}

fn all(records: &[Record]) -> Vec<&Record> {
    records.iter().collect()
}

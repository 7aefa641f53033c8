//! Tables for a terminal, for Markdown and for programs.

pub(crate) mod column;
pub(crate) mod grid;
pub(crate) mod number;
pub(crate) mod rows;
pub(crate) mod text_table;
pub(crate) mod wrap;

use crate::{TableFormat, TableOptions};
use cellcc_experiment::Record;
use text_table::{Style, summary};

/// What [`crate::table`] says, with options.
pub(crate) fn table(
    records: &[Record],
    format: TableFormat,
    baseline: Option<&str>,
    width: usize,
    options: &TableOptions,
) -> String {
    match format {
        TableFormat::Table => summary(records, Style::Terminal(width), baseline, options),
        TableFormat::Json => rows::json(records),
        TableFormat::Csv => rows::csv(records),
        TableFormat::Markdown => summary(records, Style::Markdown, baseline, options),
    }
}

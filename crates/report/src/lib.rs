//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Records in; tables, SVG figures and one offline HTML file out. Everything is made from [`Record`]s and from nothing else,
//! except that [`Explanation`] reads the traces that they name, and [`Figure`] and [`at_line`] take bare values, for data that
//! are no run of ours.
//!
//! A row of the tables is a scheme under one of the plan's variations.
//!
//! | function | output |
//! |---|---|
//! | [`Report`] | the table and the files in the folder of its results |
//! | [`table`] | one row per scheme for people (text, Markdown), one row per run for programs (JSON, CSV) |
//! | [`html`] | the report: one file that loads nothing |
//! | [`figures`] | the figures of Records, for a paper |
//! | [`Explanation`] | the lower bound of the delay, and each scheme's addition |
//! | [`Figure`] | the content of a figure; as SVG, or in an HTML page |
//! | [`at_line`] | how the delay of a scheme compares with another one's along its knob |
//! | [`claims_page`] | the papers' claims, and our results |
//! | [`Plot`] | the figure of a paper: its content and size |
//! | [`png`] | an SVG as pixels, with the feature of that name |

mod claim_figures;
mod claims;
mod comparison;
mod conditions;
mod data;
mod drawing;
mod explain;
mod figure;
mod figures;
mod flows;
mod gain;
mod harm;
mod html;
mod notes;
mod plot;
mod relative;
mod report;
mod tables;

pub use claims::{ClaimFigure, ClaimRow, claims_page};
pub use explain::{
    AgainstLine, AtLine, Bound, DelayAgainst, ExplainError, Explanation, FrontierFigure, LinkDelay, LinkPart,
    SchemeDelay, UseAndDelay, at_line, least_delays,
};
pub use figure::{Axis, Figure, Key, Length, Mark, Panel, Paper, Scale, Shape, Style};
pub use figures::time::TimeLine;
pub use gain::gain;
pub use plot::{Named, Plot, PlotKind};
pub use report::{Report, ReportFile};
pub use tables::column::Column as TableColumn;
pub use tables::number::{NONE, three_digits};
pub use tables::text_table::highlighted;

use cellcc_experiment::Record;
use cellcc_units::instead;
use relative::HeldAgainst;
use std::str::FromStr;
use thiserror::Error;

/// Forms of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableFormat {
    /// For a terminal: one row per scheme.
    #[default]
    Table,
    /// One array of objects, one per run, units in the keys.
    Json,
    /// Flat rows with a header.
    Csv,
    /// [`Table`](Self::Table) as Markdown.
    Markdown,
}

impl FromStr for TableFormat {
    type Err = ReportError;

    fn from_str(text: &str) -> Result<Self, ReportError> {
        match text {
            "table" => Ok(Self::Table),
            "json" => Ok(Self::Json),
            "csv" => Ok(Self::Csv),
            "markdown" => Ok(Self::Markdown),
            _ => Err(ReportError::Format(text.chars().take(60).collect())),
        }
    }
}

/// Reasons why Records cannot be reported.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReportError {
    /// Not the name of a [`TableFormat`].
    #[error("`{0}` is not a format of a table; there are table, json, csv and markdown")]
    Format(String),
    /// A scheme, with the flag that names it, that no Record has.
    #[error("--{0} {1}: not among the schemes of these runs; there are {2}")]
    Scheme(&'static str, String, String),
    /// Not the name of a [`TableColumn`].
    #[error("`{given}` is not a column of the table{}", instead(given, "there are", known))]
    Column {
        /// The given text.
        given: String,
        /// The known ones.
        known: String,
    },
    /// Data that a figure cannot show.
    #[error("{0}")]
    Plot(String),
    /// A text that is not an SVG figure, or one too large for memory.
    #[error("the figure cannot be drawn: {0}")]
    Drawing(String),
    /// A text that is no CSV.
    #[error("the table cannot be written as Parquet: {0}")]
    Parquet(String),
    /// A file that is not a font, or one that cannot be read in part.
    #[error("not a font that can be drawn with; name a file of TrueType or OpenType, .ttf or .otf")]
    Font,
}

/// The shown part of a table for people.
#[derive(Debug, Clone, Default)]
pub struct TableOptions {
    /// These columns; none named: all that the runs have, but D3.
    pub columns: Vec<TableColumn>,
    /// The row with the best value in this column comes first; otherwise the order is that of the plan.
    pub sort: Option<TableColumn>,
    /// Nothing below the averages.
    pub no_intervals: bool,
    /// The best values and intervals have marks, for [`highlighted`].
    pub highlights: bool,
}

/// The listed runs, and their columns.
#[derive(Debug, Clone, Default)]
pub struct RunsOptions {
    /// The run with the worst value in this column comes first; otherwise the order is that of the plan.
    pub worst: Option<TableColumn>,
    /// These columns; none named: that of `worst`, the throughput and the RTT's 95th percentile.
    pub columns: Vec<TableColumn>,
    /// No more runs than these.
    pub count: Option<usize>,
    /// Runs of the plan, with those that failed: their number says where in its folder a file of a run is.
    pub planned: usize,
}

/// The default width of a table in columns of text.
pub const DEFAULT_WIDTH: usize = 100;

/// The Records as a table; that for a terminal is at most `width` columns of text wide, where one column of numbers fits.
///
/// JSON and CSV have one row per run, in the order of the Records, with every scalar. The forms for people have one row per
/// scheme and variation: the average over traces, or for a single trace over its seeds, with its 95 % confidence interval
/// (docs/metrics.md defines averages and intervals).
///
/// With a `baseline`, one of the Records' schemes, they also have each row's ratios to it.
pub fn table(records: &[Record], format: TableFormat, baseline: Option<&str>, width: usize) -> String {
    let held_against = baseline.map_or(HeldAgainst::Nothing, HeldAgainst::Scheme);
    tables::table(records, format, held_against, width, &TableOptions::default())
}

/// One row a run, without those of the limit; in the forms for people with the file of its time series in the folder of results.
pub fn runs_table(records: &[Record], format: TableFormat, width: usize, options: &RunsOptions) -> String {
    tables::runs::runs(records, format, width, options)
}

/// Runs, their time series and, where there are some, their curves, each as the name of a table and the table as CSV: one row
/// per run, bin or point, with the id of its run.
pub fn long_tables(records: &[Record]) -> Vec<(&'static str, String)> {
    let runs = table(records, TableFormat::Csv, None, DEFAULT_WIDTH);
    let curves = records.iter().any(|run| !run.curves.is_empty());
    let curves = curves.then(|| ("curves", tables::long::curves(records)));
    [("runs", runs), ("series", tables::long::series(records))].into_iter().chain(curves).collect()
}

/// A table of CSV as the content of a Parquet file: whole numbers, numbers and texts by the content of each column.
///
/// # Errors
/// [`ReportError::Parquet`] where the text is no CSV.
#[cfg(feature = "parquet")]
pub fn parquet(csv: &str) -> Result<Vec<u8>, ReportError> {
    tables::parquet::parquet(csv)
}

/// A table of anything, for a terminal of this width, or without one in Markdown: with the design of all tables, columns of numbers
/// to the right and no word cut.
pub fn plain_table(header: &[&str], rows: &[Vec<String>], width: Option<usize>) -> String {
    let style = width.map_or(tables::text_table::Style::Markdown, tables::text_table::Style::Terminal);
    tables::text_table::plain(header, rows, style)
}

/// A text in lines of at most `width` characters, where its words are not longer.
pub fn wrapped(text: &str, width: usize) -> String {
    tables::wrap::wrap_text(text, width)
}

/// The report: one HTML file of at most about 5 MB that loads nothing from the network; with a `baseline`, one of the
/// Records' schemes, also each row's ratios to it.
pub fn html(title: &str, records: &[Record], baseline: Option<&str>) -> String {
    let held_against = baseline.map_or(HeldAgainst::Nothing, HeldAgainst::Scheme);
    html::html(title, records, held_against, html::Placed::Alone)
}

/// The figures for a paper, each named as a file. Equal Records give equal bytes.
pub fn figures(title: &str, records: &[Record]) -> Vec<Figure> {
    figures::figures(title, records)
}

/// A figure as PNG of 288 pixels an inch; the same on every machine, as the font comes with it.
///
/// # Errors
/// [`ReportError::Drawing`] where `svg` is not an SVG document.
#[cfg(feature = "png")]
pub fn png(svg: &str) -> Result<Vec<u8>, ReportError> {
    drawing::png::png(svg, None)
}

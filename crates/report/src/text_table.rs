//! The summary for people: a terminal's table of at most 100 columns, or Markdown.

use crate::column::{Column, columns};
use crate::comparison::{Comparison, Row};
use crate::number::{self, NONE, three_digits};
use crate::relative::{self, RatioTable};
use crate::statistics::Estimate;
use cellcc_experiment::Record;
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, presets,
};
use std::fmt::Write as _;

/// Columns of text that a terminal's table may take.
const WIDTH: u16 = 100;

/// With more traces than this, only averages are printed; a single trace is its own average.
const MOST_TRACES: usize = 12;

/// Characters of a trace's name beside which the columns of schemes are arranged; a longer one wraps.
const LONGEST_TRACE: usize = 30;

/// Characters of `0.0123, 0.0123`, a wide pair of numbers.
const WIDEST_PAIR: usize = 14;

/// What the row of the limit means.
pub(crate) const LIMIT_NOTE: &str =
    "(limit): what a sender that knew the link's future would get; a reference, not a scheme.";

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Terminal,
    Markdown,
}

/// One row a scheme, then the traces one by one where they are few, then the notes.
pub(crate) fn summary(records: &[Record], style: Style, baseline: Option<&str>) -> String {
    let comparison = Comparison::new(records);
    let mut text = String::new();
    if let [_, _, ..] = comparison.traces[..] {
        let _ = writeln!(
            text,
            "{}\n",
            heading(&format!("Averages over {} traces", comparison.traces.len()), style)
        );
    }
    text.push_str(&averages(&comparison, &columns(records), style));
    let relative = baseline.map(|baseline| relative::tables(&comparison, baseline)).unwrap_or_default();
    for table in relative.iter().chain(&relative::fidelity(&comparison)) {
        let _ =
            write!(text, "\n{}\n\n{}", heading(&cell(&table.caption, style), style), ratios(table, style));
    }
    if (2..=MOST_TRACES).contains(&comparison.traces.len()) {
        let title = heading("By trace: utilisation, p95 queueing delay in ms", style);
        let _ = write!(text, "\n{title}\n\n{}", by_trace(&comparison, style));
    }
    let mut footnotes = footnotes(&comparison);
    if !relative.is_empty() {
        footnotes.insert(0, relative::POWER_NOTE.into());
    }
    if !footnotes.is_empty() {
        text.push('\n');
    }
    for note in footnotes {
        let _ = match style {
            Style::Terminal => writeln!(text, "{note}"),
            Style::Markdown => writeln!(text, "- {}", escape_markdown(&note)),
        };
    }
    text
}

/// What a reader of the averages must know.
pub(crate) fn footnotes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    if comparison.rows.iter().any(Row::is_limit) {
        notes.push(LIMIT_NOTE.into());
    }
    if comparison.seeds.len() > 1 {
        let seeds = comparison.seeds.len();
        notes.push(format!("±: half the 95 % confidence interval over {seeds} seeds (Student's t)."));
    }
    notes.extend(comparison.notes());
    notes
}

/// An estimate as text: the mean, then what follows `±`.
pub(crate) fn estimate_texts(estimate: Option<Estimate>) -> (String, Option<String>) {
    match estimate {
        None => (NONE.into(), None),
        Some(Estimate { mean, half_width }) => {
            (three_digits(mean), half_width.map(|half| format!("± {}", number::half_width(mean, half))))
        }
    }
}

/// Columns of numbers beside which a row's name still fits; the others follow in a table of their own.
const COLUMNS_BESIDE: usize = 8;
/// The same beside names longer than this many letters, as those with varied conditions are.
const LONG_NAME: usize = 20;
const COLUMNS_BESIDE_LONG: usize = 6;

fn averages(comparison: &Comparison, columns: &[&Column], style: Style) -> String {
    let groups: Vec<_> = match style {
        Style::Terminal => {
            let long = comparison
                .rows
                .iter()
                .any(|row| !row.variation.is_empty() && row.label().chars().count() > LONG_NAME);
            columns.chunks(if long { COLUMNS_BESIDE_LONG } else { COLUMNS_BESIDE }).collect()
        }
        Style::Markdown => vec![columns],
    };
    let tables: Vec<_> = groups.into_iter().map(|group| averages_of(comparison, group, style)).collect();
    tables.join("\n")
}

fn averages_of(comparison: &Comparison, columns: &[&Column], style: Style) -> String {
    let (unit_before, interval_before) = if style == Style::Terminal { ("\n", "\n") } else { (", ", " ") };
    let mut table = new_table(style);
    let titles = columns.iter().map(|column| match column.unit {
        "" => column.title.to_owned(),
        unit => format!("{}{unit_before}{unit}", column.title),
    });
    table.set_header(std::iter::once("Scheme".to_owned()).chain(titles));
    for &row in &comparison.rows {
        let cells =
            columns.iter().map(|column| match estimate_texts(comparison.average(row, column.quantity)) {
                (mean, Some(interval)) => format!("{mean}{interval_before}{interval}"),
                (mean, None) => mean,
            });
        table.add_row(std::iter::once(cell(&row.label(), style)).chain(cells));
    }
    finish(table, style)
}

fn ratios(ratios: &RatioTable, style: Style) -> String {
    let before = if style == Style::Terminal { "\n" } else { ", " };
    let mut table = new_table(style);
    let titles = ratios.columns.iter().map(|(title, of)| match *of {
        "" => (*title).to_owned(),
        of => format!("{title}{before}{of}"),
    });
    table.set_header(std::iter::once(ratios.of.to_owned()).chain(titles));
    for (name, values) in &ratios.rows {
        let cells = values.iter().map(|value| value.map_or(NONE.into(), three_digits));
        table.add_row(std::iter::once(cell(name, style)).chain(cells));
    }
    finish(table, style)
}

/// Traces as rows and schemes as columns, in as many tables as the width asks for.
fn by_trace(comparison: &Comparison, style: Style) -> String {
    let value = |row: Row, trace, quantity| estimate_texts(comparison.on_trace(row, trace, quantity)).0;
    let mut text = String::new();
    for rows in fitting(comparison, style) {
        let mut table = new_table(style);
        table.set_header(
            std::iter::once("Trace".to_owned()).chain(rows.iter().map(|row| cell(&row.label(), style))),
        );
        for &trace in &comparison.traces {
            let cells = rows.iter().map(|&row| {
                let utilisation = value(row, trace, |run| Some(run.total.utilisation));
                let delay = value(row, trace, |run| run.total.queueing_delay_p95_ms);
                format!("{utilisation}, {delay}")
            });
            table.add_row(std::iter::once(cell(trace.name, style)).chain(cells));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&finish(table, style));
    }
    text
}

/// Groups of rows that fit, as columns, beside the traces' names.
fn fitting<'a>(comparison: &'a Comparison, style: Style) -> Vec<&'a [Row<'a>]> {
    if style == Style::Markdown {
        return vec![&comparison.rows];
    }
    let length = |text: &str| text.chars().count();
    let longest = comparison.traces.iter().map(|trace| length(trace.name)).max().unwrap_or(0);
    let room = usize::from(WIDTH).saturating_sub(longest.min(LONGEST_TRACE) + 2);
    let widest = comparison.rows.iter().map(|row| length(&row.label())).max().unwrap_or(0);
    let column = widest.max(WIDEST_PAIR) + 2;
    comparison.rows.chunks((room / column).max(1)).collect()
}

fn new_table(style: Style) -> Table {
    let mut table = Table::new();
    match style {
        Style::Terminal => {
            table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')));
            table.set_width(WIDTH).set_content_arrangement(ContentArrangement::Dynamic);
        }
        Style::Markdown => {
            table.load_style(presets::ASCII_MARKDOWN);
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    table
}

/// Numbers stand to the right.
fn finish(mut table: Table, style: Style) -> String {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
        // The names in the first column wrap, never the numbers.
        column.set_constraint(ColumnConstraint::ContentWidth);
        if style == Style::Terminal {
            column.set_padding((1, 0));
        }
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

fn heading(text: &str, style: Style) -> String {
    match style {
        Style::Terminal => text.into(),
        Style::Markdown => format!("### {text}"),
    }
}

/// A name, which the user chose, as the text of a cell.
fn cell(name: &str, style: Style) -> String {
    match style {
        Style::Terminal => name.into(),
        Style::Markdown => escape_markdown(name),
    }
}

fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => escaped.push(' '),
            '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '\\' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

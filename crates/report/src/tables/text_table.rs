//! The summary for people: a terminal's table, or Markdown.

use crate::TableOptions;
use crate::comparison::{Comparison, Row};
use crate::flows;
use crate::relative::{self, HeldAgainst, Relative};
use crate::tables::column::{COLUMNS, Column, POWER, RTT_MEAN, columns};
use crate::tables::grid::{self, Below, Grid};
use crate::tables::number::{NONE, three_digits};
use crate::tables::wrap::{longest_part, wrap_name, wrap_text};
use cellcc_experiment::{Offset, Record};
use cellcc_statistics::FEWEST;
use cellcc_units::Span;
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width, presets,
};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// With more traces than this, only averages are printed; a single trace is its own average.
const MOST_TRACES: usize = 12;

/// Characters of a trace's name; a longer one wraps.
const LONGEST_TRACE: usize = 30;

/// Characters of `0.0123, 0.0123`, a wide pair of numbers.
const WIDEST_PAIR: usize = 14;

/// Spaces beside a name.
const NAME_PADDING: usize = 2;

/// Marks of a cell's text, none of which takes any room: what follows is the best, or an interval; and the end of both.
const BEST: char = '\u{2061}';
const DIM: char = '\u{2062}';
const PLAIN: char = '\u{2063}';

/// What the row of the limit means.
pub(crate) const LIMIT_NOTE: &str = "(limit): what a sender that knew the link's future would get; a reference, not a scheme. Where nothing waits, it has no power.";

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// At most so many columns of text wide.
    Terminal(usize),
    Markdown,
}

/// What came out in a sentence, one row a scheme, then the traces one by one where they are few, then the notes.
pub(crate) fn summary(
    records: &[Record],
    style: Style,
    held_against: HeldAgainst,
    options: &TableOptions,
) -> String {
    let comparison = Comparison::new(records);
    let asked_for: Vec<&Column> = options.columns.iter().map(|column| column.0).collect();
    let shown = if asked_for.is_empty() { columns(records) } else { asked_for };
    let averages = grid::averages(&comparison, &shown, options.sort.map(|column| column.0));
    let averages = if options.no_intervals { averages.without_intervals() } else { averages };
    let Relative { tables: relative, changes } = relative::relative(&comparison, held_against);
    let flows = flows::grid(&comparison);
    let with_intervals = || std::iter::once(&averages).chain(&flows).chain(&relative);
    let mut footnotes = footnotes(&comparison, with_intervals());
    if !relative.is_empty() {
        footnotes.insert(0, relative::NOTE.into());
    }
    footnotes.splice(0..0, changes);
    let mut text = match (headline(&comparison), style) {
        (None, _) => String::new(),
        (Some(sentence), Style::Terminal(width)) => wrap_text(&sentence, width) + "\n",
        (Some(sentence), Style::Markdown) => escape_markdown(&sentence) + "\n",
    };
    let fidelity = relative::fidelity(&comparison);
    for grid in with_intervals().chain(&fidelity) {
        if !text.is_empty() {
            text.push('\n');
        }
        if !grid.caption.is_empty() {
            let _ = writeln!(text, "{}\n", heading(&grid.caption, style));
        }
        text.push_str(&drawn(grid, style));
    }
    if (2..=MOST_TRACES).contains(&comparison.traces.len()) && fits_by_trace(&comparison, style) {
        let got = comparison.gets().axis().to_lowercase().replace(", mbit/s", " in Mbit/s");
        let title = heading(&format!("By trace: {got}, p95 queueing delay in ms"), style);
        let _ = write!(text, "\n{title}\n\n{}", by_trace(&comparison, style));
    }
    if !footnotes.is_empty() {
        text.push('\n');
    }
    for note in footnotes {
        let _ = match style {
            Style::Terminal(width) => writeln!(text, "{}", wrap_text(&note, width)),
            Style::Markdown => writeln!(text, "- {}", escape_markdown(&note)),
        };
    }
    highlighted(&text, options.highlights)
}

/// The text with its marks as a terminal's bold and faint letters, or without them.
fn highlighted(text: &str, is_terminal: bool) -> String {
    let sequences = if is_terminal { ["\x1b[1m", "\x1b[2m", "\x1b[0m"] } else { [""; 3] };
    let marks = [BEST, DIM, PLAIN].into_iter().zip(sequences);
    marks.fold(text.to_owned(), |text, (mark, sequence)| text.replace(mark, sequence))
}

/// What a reader of these tables must know.
pub(crate) fn footnotes<'a>(
    comparison: &Comparison,
    grids: impl Iterator<Item = &'a Grid> + Clone,
) -> Vec<String> {
    let mut notes = Vec::new();
    if comparison.rows.iter().any(Row::is_limit) {
        notes.push(LIMIT_NOTE.into());
    }
    notes.extend(warm_up_note(comparison));
    let has = |kind: fn(&Below) -> bool| grids.clone().flat_map(Grid::below).any(kind);
    if let Some((count, of)) = comparison.averages_over() {
        if has(|below| matches!(below, Below::Interval(_))) {
            notes.push(format!(
                "Below an average: its 95 % confidence interval over {of} (bootstrap-t; of geometric means, on logarithms)."
            ));
        } else if count < FEWEST {
            notes.push(format!(
                "No interval: {count} {of} are fewer than {FEWEST}, with which intervals miss the truth too often."
            ));
        }
    }
    if has(|below| *below == Below::NoSpread) {
        notes.push(format!("{NONE} below an average: {}.", no_spread(comparison)));
    }
    if has(|below| *below == Below::Unbounded) {
        notes.push(format!(
            "{NONE} below an average: nearly all of its values are the same, too few differ for an interval."
        ));
    }
    notes.extend(
        COLUMNS
            .iter()
            .filter(|column| column.is_usual())
            .flat_map(|column| comparison.left_out_of(column.title, column.measure)),
    );
    notes.extend(comparison.notes());
    notes
}

/// What of the runs is left out, the shortest and the longest.
fn warm_up_note(comparison: &Comparison) -> Option<String> {
    let runs = comparison.rows.iter().flat_map(|&row| comparison.runs_of(row));
    let spans: BTreeSet<Span> = runs.map(|run| run.scenario.warm_up).filter(|span| !span.is_zero()).collect();
    let (first, last) = (spans.first()?, spans.last()?);
    let length = if first == last { first.to_string() } else { format!("{first} to {last}") };
    Some(format!("The first {length} of each run are left out of all numbers, as the warm-up."))
}

/// Why values that are averaged are the same.
fn no_spread(comparison: &Comparison) -> &'static str {
    if !comparison.is_over_seeds() {
        return "every trace gave the same";
    }
    let runs = comparison.rows.iter().flat_map(|&row| comparison.runs_of(row));
    if runs.map(|run| run.scenario.offset).any(|offset| offset == Offset::Random) {
        return "every seed gave the same";
    }
    "every seed gave the same, since nothing in these runs is random; with --offset random the seed draws where in the trace \
     a run begins, and when its flows start"
}

/// A table that is not made of Records: columns of numbers stand to the right, and the words of the others are never cut, as
/// users copy names and addresses from here.
pub(crate) fn plain(header: &[&str], rows: &[Vec<String>], style: Style) -> String {
    let mut table = new_table(style);
    table.set_header(header.iter().map(|title| cell(title, style)));
    table.add_rows(rows.iter().map(|row| row.iter().map(|text| cell(text, style)).collect::<Vec<_>>()));
    let of_numbers = |column: usize| rows.iter().all(|row| is_number(&row[column]));
    for (at, column) in table.column_iter_mut().enumerate().filter(|(at, _)| *at == 0 || !of_numbers(*at)) {
        let cells = rows.iter().map(|row| row[at].as_str()).chain([header[at]]);
        let longest = cells.flat_map(str::split_whitespace).map(|word| word.chars().count()).max();
        let longest = longest.unwrap_or(0) as u16 + 2;
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(longest)));
    }
    finish(table, style, of_numbers)
}

/// True for a quantity, with or without its unit, and for none.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    text.is_empty() || text == NONE || digits.starts_with(|first: char| first.is_ascii_digit())
}

/// A table as text; in a terminal as several, each with a like number of columns, where they do not fit into one.
pub(crate) fn drawn(grid: &Grid, style: Style) -> String {
    let Style::Terminal(width) = style else { return drawn_part(grid, 0..grid.columns.len(), None, style) };
    let of_key = |key: usize| {
        let values = grid.rows.iter().filter_map(|row| row.values.get(key)).chain([&grid.keys[key]]);
        values.map(|text| text.chars().count()).max().unwrap_or(0) + 2
    };
    let width = width.saturating_sub(NAME_PADDING + (0..grid.keys.len()).map(of_key).sum::<usize>());
    let least_name =
        grid.rows.iter().map(|row| longest_part(&row.name)).max().unwrap_or(0).max(grid.of.len());
    let widths: Vec<usize> = (0..grid.columns.len()).map(|column| width_of(grid, column)).collect();
    let count = widths.len().max(1);
    let fits =
        |size: &usize| widths.chunks(*size).all(|part| least_name + part.iter().sum::<usize>() <= width);
    // As many tables as it takes, then as even as they can be.
    let size = (1..=count).map(|tables| count.div_ceil(tables)).find(fits).unwrap_or(1);
    let mut text = String::new();
    for from in (0..count).step_by(size) {
        let to = (from + size).min(widths.len());
        if !text.is_empty() {
            text.push('\n');
        }
        let room = width.saturating_sub(widths[from..to].iter().sum());
        text.push_str(&drawn_part(grid, from..to, Some(room), style));
    }
    text
}

/// Columns of text that a column of a terminal's table takes, with the space on either side of it.
fn width_of(grid: &Grid, column: usize) -> usize {
    let (title, unit) = &grid.columns[column];
    let lines = title.split('\n').chain(unit.split(", ")).map(|text| text.chars().count());
    let cells = grid.rows.iter().map(|row| &row.cells[column]).map(|cell| {
        let below = cell.below.as_ref().map_or(0, |below| below.text().chars().count());
        cell.value.chars().count().max(below)
    });
    lines.chain(cells).max().unwrap_or(0) + 2
}

fn drawn_part(
    grid: &Grid,
    columns: std::ops::Range<usize>,
    room_for_names: Option<usize>,
    style: Style,
) -> String {
    let mut table = new_table(style);
    let titles = grid.columns[columns.clone()].iter().map(|(title, unit)| match (unit.as_str(), style) {
        ("", _) => (*title).to_owned(),
        (unit, Style::Terminal(_)) => format!("{title}\n{}", unit.replace(", ", "\n")),
        (unit, Style::Markdown) => format!("{title}, {unit}"),
    });
    table.set_header(
        std::iter::once(grid.of.to_owned()).chain(grid.keys.iter().map(|key| cell(key, style))).chain(titles),
    );
    for row in &grid.rows {
        let name = room_for_names.map_or_else(|| cell(&row.name, style), |room| wrap_name(&row.name, room));
        let cells = row.cells[columns.clone()].iter().map(|value| {
            let best =
                if value.is_best { format!("{BEST}{}{PLAIN}", value.value) } else { value.value.clone() };
            match (&value.below, style) {
                (None, _) => best,
                (Some(below), Style::Terminal(_)) => format!("{best}\n{DIM}{}{PLAIN}", below.text()),
                (Some(below), Style::Markdown) => format!("{best} ({})", below.text()),
            }
        });
        table.add_row(
            std::iter::once(name).chain(row.values.iter().map(|value| cell(value, style))).chain(cells),
        );
    }
    // Behind the name stand the varied conditions.
    let is_key_of_numbers = |key: usize| grid.rows.iter().all(|row| is_number(&row.values[key]));
    finish(table, style, |at| at > grid.keys.len() || is_key_of_numbers(at - 1))
}

/// Traces as rows and schemes as columns.
fn by_trace(comparison: &Comparison, style: Style) -> String {
    let value = |row: Row, trace, quantity| {
        comparison.mean_on_trace(row, trace, quantity).map_or(NONE.into(), three_digits)
    };
    let got = comparison.gets().measure.quantity;
    let mut table = new_table(style);
    table.set_header(
        std::iter::once("Trace".to_owned())
            .chain(comparison.rows.iter().map(|row| cell(&row.label(), style))),
    );
    for &trace in &comparison.traces {
        let cells = comparison.rows.iter().map(|&row| {
            let delay = value(row, trace, |run| run.total.queueing_delay_p95_ms);
            format!("{}, {delay}", value(row, trace, got))
        });
        table.add_row(std::iter::once(cell(trace.name, style)).chain(cells));
    }
    finish(table, style, |_| true)
}

/// Whether there is a table with a row a trace and a column a row; the report has the others.
fn fits_by_trace(comparison: &Comparison, style: Style) -> bool {
    let Style::Terminal(width) = style else { return comparison.rows.len() <= MOST_TRACES };
    let length = |text: &str| text.chars().count();
    let longest = comparison.traces.iter().map(|trace| length(trace.name)).max().unwrap_or(0);
    let column = |row: &Row| length(&row.label()).max(WIDEST_PAIR) + 2;
    longest.min(LONGEST_TRACE) + 2 + comparison.rows.iter().map(column).sum::<usize>() <= width
}

/// In one sentence, which scheme carries the most, and which has the most power, where the schemes are several.
pub(crate) fn headline(comparison: &Comparison) -> Option<String> {
    let rows = || comparison.rows.iter().copied().filter(|row| !row.is_limit());
    let value = |row: Row, column: &Column| Some(comparison.average(row, column.measure)?.value);
    let best = |column: &Column| {
        let known = rows().filter_map(|row| Some((row, value(row, column)?)));
        known.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(row, _)| row)
    };
    let gets = comparison.gets();
    let words = |row: Row| {
        let carries = match value(row, gets)? {
            share if gets.unit.is_empty() => format!("{} % of the link", three_digits(share * 100.0)),
            rate => format!("{} {}", three_digits(rate), gets.unit),
        };
        Some(format!("{carries} at a mean RTT of {} ms", three_digits(value(row, &COLUMNS[RTT_MEAN])?)))
    };
    let (powerful, fast) = (best(&COLUMNS[POWER])?, best(gets)?);
    rows().nth(1)?;
    let most = format!("Most power: {}, {}.", powerful.label(), words(powerful)?);
    if powerful == fast {
        return Some(format!("{most} It carries the most, too."));
    }
    Some(format!("{most} Most throughput: {}, {}.", fast.label(), words(fast)?))
}

fn new_table(style: Style) -> Table {
    let mut table = Table::new();
    match style {
        Style::Terminal(width) => {
            table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')));
            table
                .set_width(u16::try_from(width).unwrap_or(u16::MAX))
                .set_content_arrangement(ContentArrangement::Dynamic);
        }
        Style::Markdown => {
            table.load_style(presets::ASCII_MARKDOWN);
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    table
}

/// Numbers stand to the right.
fn finish(mut table: Table, style: Style, is_number: impl Fn(usize) -> bool) -> String {
    for (_, column) in table.column_iter_mut().enumerate().skip(1).filter(|(at, _)| is_number(*at)) {
        column.set_cell_alignment(CellAlignment::Right);
        // The names in the first column wrap, never the numbers.
        column.set_constraint(ColumnConstraint::ContentWidth);
        if matches!(style, Style::Terminal(_)) {
            column.set_padding((1, 0));
        }
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

fn heading(text: &str, style: Style) -> String {
    match style {
        Style::Terminal(width) => wrap_text(text, width),
        Style::Markdown => format!("### {}", escape_markdown(text)),
    }
}

/// A name, which the user chose, as the text of a cell.
fn cell(name: &str, style: Style) -> String {
    match style {
        Style::Terminal(_) => name.into(),
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

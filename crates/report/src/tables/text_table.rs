//! The summary for people: a terminal's table, or Markdown.

use crate::TableOptions;
use crate::comparison::{Comparison, Row, Trace};
use crate::flows;
use crate::harm;
use crate::relative::{self, HeldAgainst, Relative};
use crate::tables::column::{Column, POWER, QUEUEING_P95, RTT_MEAN, THROUGHPUT, columns};
use crate::tables::grid::{self, Below, Cell, Grid, GridRow};
use crate::tables::number::{NONE, three_digits};
use crate::tables::wrap::{longest_part, wrap_name, wrap_text};
use cellcc_experiment::{BROWSER, Offset, Record};
use cellcc_statistics::FEWEST;
use cellcc_units::{Span, printable, printable_lines};
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width, presets,
};
use std::collections::BTreeSet;
use std::ops::Range;

/// With more traces than this, only averages are printed; a single trace is its own average.
const MOST_TRACES: usize = 12;

/// The ratio of the fastest link to the slowest from which a mean of their throughputs misleads. Our choice.
const UNLIKE: f64 = 10.0;

/// Spaces next to a name.
const NAME_PADDING: usize = 2;

/// Marks of a cell's text, none of which takes any room: the best, or an interval, begins; and the end of both.
const BEST: char = '\u{2061}';
const DIM: char = '\u{2062}';
const PLAIN: char = '\u{2063}';

/// The note on the limit's row.
pub(crate) const LIMIT_NOTE: &str = "(limit): an ideal sender that knows the link's future; no scheme can do better. Its power is undefined where its queueing delay is zero.";

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// At most so many columns of text wide.
    Terminal(usize),
    Markdown,
}

/// The headline, one row per scheme, then the traces one by one if they are few, then the notes.
pub(crate) fn summary(
    records: &[Record],
    style: Style,
    held_against: HeldAgainst,
    options: &TableOptions,
) -> String {
    let comparison = Comparison::new(records);
    let shown = if options.columns.is_empty() { columns(records) } else { options.columns.clone() };
    let averages = grid::averages(&comparison, &shown, options.sort);
    let averages = if options.no_intervals { averages.without_intervals() } else { averages };
    let Relative { tables: relative, changes } = relative::relative(&comparison, held_against);
    let flows = flows::grid(&comparison);
    let with_intervals = || std::iter::once(&averages).chain(&flows).chain(&relative);
    let mut footnotes = footnotes(&comparison, with_intervals());
    if !relative.is_empty() {
        footnotes.insert(0, relative::NOTE.into());
    }
    let harm = harm::harm(&comparison);
    if !harm.is_empty() {
        footnotes.insert(0, harm::NOTE.into());
    }
    footnotes.splice(0..0, changes);
    let fidelity = relative::fidelity(&comparison);
    let by_trace = by_trace(&comparison, style);
    let (heading, item) = if style == Style::Markdown { ("### ", "- ") } else { ("", "") };
    let headline = headline(&comparison).map(|sentence| said(&sentence, style) + "\n");
    let mut parts: Vec<String> = headline.into_iter().collect();
    for grid in harm.iter().chain(with_intervals()).chain(&fidelity).chain(&by_trace) {
        let caption = format!("{heading}{}\n\n", said(&grid.caption, style));
        let caption = if grid.caption.is_empty() { String::new() } else { caption };
        parts.push(caption + &drawn(grid, style));
    }
    if !footnotes.is_empty() {
        parts.push(footnotes.iter().map(|note| format!("{item}{}\n", said(note, style))).collect());
    }
    let text = parts.join("\n");
    if options.highlights { text } else { highlighted(&text, false) }
}

/// A table's text with its marks as a terminal's bold and faint letters, or without them.
pub fn highlighted(text: &str, is_terminal: bool) -> String {
    let sequences = if is_terminal { ["\x1b[1m", "\x1b[2m", "\x1b[0m"] } else { [""; 3] };
    let marks = [BEST, DIM, PLAIN].into_iter().zip(sequences);
    marks.fold(text.to_owned(), |text, (mark, sequence)| text.replace(mark, sequence))
}

/// The notes for a reader of these tables.
pub(crate) fn footnotes<'a>(
    comparison: &Comparison,
    grids: impl Iterator<Item = &'a Grid> + Clone,
) -> Vec<String> {
    let mut notes = Vec::new();
    if comparison.rows.iter().any(Row::is_limit) {
        notes.push(LIMIT_NOTE.into());
    }
    let titles: BTreeSet<&str> =
        grids.clone().flat_map(|grid| &grid.columns).map(|(title, _)| title.as_str()).collect();
    if titles.contains(POWER.title) {
        notes.push(
            "Power: throughput / mean queueing delay; power95: throughput / its 95th percentile.".into(),
        );
    }
    if titles.contains("Loss") && comparison.all_runs().any(|run| run.total.lost_packets > 0) {
        notes.push("Loss: packets dropped by the queue or lost on the path, of those sent.".into());
    }
    notes.extend(titles.contains(THROUGHPUT.title).then(|| unlike_links_note(comparison)).flatten());
    notes.extend(warm_up_note(comparison));
    let has = |kind: fn(&Below) -> bool| grids.clone().flat_map(Grid::below).any(kind);
    if let Some((count, of)) = comparison.averages_over() {
        if has(|below| matches!(below, Below::Interval(_))) {
            notes.push(format!(
                "Below an average: its 95 % confidence interval over {of} (bootstrap-t; of geometric means, on logarithms)."
            ));
        } else if count < FEWEST {
            notes.push(format!(
                "No confidence intervals: they need at least {FEWEST} {of}, and there are {count}."
            ));
        }
    }
    if has(|below| matches!(below, Below::Quartiles(_))) {
        notes.push(
            "Median below an average: a few values decide the average, and no interval is sure of it; the median and the \
             quartiles of the values say where most of them lie."
                .into(),
        );
    }
    if has(|below| *below == Below::NoSpread) {
        notes.push(format!("{NONE} below an average: {}.", no_spread(comparison)));
    }
    if has(|below| *below == Below::Unbounded) {
        notes.push(format!("{NONE} below an average: too few of its values differ for an interval."));
    }
    notes.extend(Column::usual().flat_map(|(column, _)| comparison.left_out_of(&column)));
    notes.extend(comparison.notes());
    notes
}

/// A warning where links differ so much that the fastest decide a mean of throughputs.
fn unlike_links_note(comparison: &Comparison) -> Option<String> {
    let limit = comparison.rows.iter().copied().find(Row::is_limit)?;
    let rates = comparison
        .traces
        .iter()
        .filter_map(|&trace| comparison.mean_on_trace(limit, trace, |run| THROUGHPUT.value(run)));
    let (low, high) =
        rates.fold((f64::INFINITY, 0.0_f64), |(low, high), rate| (low.min(rate), high.max(rate)));
    (high > UNLIKE * low).then(|| {
        format!(
            "Throughput is a mean over links of {} to {} Mbit/s, dominated by the fastest: compare utilisation.",
            three_digits(low),
            three_digits(high)
        )
    })
}

/// The warm-up that metrics leave out: the shortest and the longest of the runs.
fn warm_up_note(comparison: &Comparison) -> Option<String> {
    let spans = comparison.all_runs().map(|run| run.scenario.warm_up).filter(|span| !span.is_zero());
    let spans: BTreeSet<Span> = spans.collect();
    let (first, last) = (spans.first()?, spans.last()?);
    let length = if first == last { first.to_string() } else { format!("{first} to {last}") };
    Some(format!("The first {length} of each run are left out of all numbers, as the warm-up."))
}

/// Why values that are averaged are the same.
fn no_spread(comparison: &Comparison) -> &'static str {
    if !comparison.is_over_seeds() {
        return "every trace gave the same";
    }
    let is_random = |run: &Record| run.scenario.offset == Offset::Random || run.scenario.driver == BROWSER;
    if comparison.all_runs().any(is_random) {
        return "every seed gave the same";
    }
    "every seed gave the same; with --offset random the seed also draws where in the trace a run begins, and when its flows \
     start"
}

/// A table that is not made of Records: columns of numbers stand to the right, and the words of the others are never cut, as
/// users copy names and addresses from here.
pub(crate) fn plain(header: &[&str], rows: &[Vec<String>], style: Style) -> String {
    let mut table = new_table(style);
    let escaped = |row: &Vec<String>| row.iter().map(|text| printable_lines(text).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(escaped).collect();
    table.set_header(header.iter().map(|title| lines(title, style)));
    table.add_rows(rows.iter().map(|row| row.iter().map(|text| lines(text, style)).collect::<Vec<_>>()));
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
    let parts = split(grid, width).into_iter();
    let parts = parts.map(|(columns, room)| drawn_part(grid, columns, Some(room), style));
    parts.collect::<Vec<_>>().join("\n")
}

/// The columns of each table that a terminal has room for, and the room that they leave for names.
fn split(grid: &Grid, width: usize) -> Vec<(Range<usize>, usize)> {
    let of_key = |key: usize| {
        let texts = grid.rows.iter().map(|row| &row.of[key]).chain([&grid.of[key]]);
        texts.map(|text| printable(text).chars().count()).max().unwrap_or(0) + 2
    };
    let width = width.saturating_sub(NAME_PADDING + (1..grid.of.len()).map(of_key).sum::<usize>());
    let names = grid.rows.iter().map(|row| longest_part(&printable(&row.of[0])));
    let least_name = names.max().unwrap_or(0).max(grid.of[0].len());
    let widths: Vec<usize> = (0..grid.columns.len()).map(|column| width_of(grid, column)).collect();
    let count = widths.len().max(1);
    let fits =
        |size: &usize| widths.chunks(*size).all(|part| least_name + part.iter().sum::<usize>() <= width);
    // As many tables as it takes, then as even as they can be.
    let size = (1..=count).map(|tables| count.div_ceil(tables)).find(fits).unwrap_or(1);
    let part = |from: usize| {
        let columns = from..(from + size).min(widths.len());
        (columns.clone(), width.saturating_sub(widths[columns].iter().sum()))
    };
    (0..count).step_by(size).map(part).collect()
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

fn drawn_part(grid: &Grid, columns: Range<usize>, room_for_names: Option<usize>, style: Style) -> String {
    let mut table = new_table(style);
    let titles = grid.columns[columns.clone()].iter().map(|(title, unit)| match (unit.as_str(), style) {
        ("", _) => lines(title, style),
        (unit, Style::Terminal(_)) => format!("{title}\n{}", unit.replace(", ", "\n")),
        (unit, Style::Markdown) => format!("{title}, {unit}"),
    });
    table.set_header(grid.of.iter().map(|title| cell(title, style)).chain(titles));
    for row in &grid.rows {
        let name = room_for_names.map(|room| wrap_name(&printable(&row.of[0]), room));
        let name = name.unwrap_or_else(|| cell(&row.of[0], style));
        let cells = row.cells[columns.clone()].iter().map(|value| {
            let best =
                if value.is_best { format!("{BEST}{}{PLAIN}", value.value) } else { value.value.clone() };
            match (&value.below, style) {
                (None, _) => best,
                (Some(below), Style::Terminal(_)) => format!("{best}\n{DIM}{}{PLAIN}", below.text()),
                (Some(below), Style::Markdown) => format!("{best} ({})", below.text()),
            }
        });
        let keys = row.of[1..].iter().map(|value| cell(value, style));
        table.add_row(std::iter::once(name).chain(keys).chain(cells));
    }
    // Behind the name stand the varied conditions.
    let is_key_of_numbers = |key: usize| grid.rows.iter().all(|row| is_number(&row.of[key]));
    finish(table, style, |at| at >= grid.of.len() || is_key_of_numbers(at))
}

/// The schemes' gain and delay, traces as rows and schemes as columns; `None` if there is no room: the report has it.
fn by_trace(comparison: &Comparison, style: Style) -> Option<Grid> {
    let value = |row: Row, trace: Trace, column: &Column| {
        comparison.mean_on_trace(row, trace, |run| column.value(run)).map_or(NONE.into(), three_digits)
    };
    let got = comparison.gets();
    let of_trace = |&trace: &Trace| {
        let pair = |&row: &Row| format!("{}, {}", value(row, trace, &got), value(row, trace, &QUEUEING_P95));
        GridRow::named(trace.name.into(), comparison.rows.iter().map(pair).map(Cell::text).collect())
    };
    let title = got.axis().to_lowercase().replace(", mbit/s", " in Mbit/s");
    let grid = Grid {
        caption: format!("By trace: {title}, p95 queueing delay in ms"),
        of: vec!["Trace".into()],
        columns: comparison.rows.iter().map(|row| (row.label(), String::new())).collect(),
        rows: comparison.traces.iter().map(of_trace).collect(),
    };
    let has_room = match style {
        Style::Terminal(width) => split(&grid, width).len() == 1,
        Style::Markdown => comparison.rows.len() <= MOST_TRACES,
    };
    (has_room && (2..=MOST_TRACES).contains(&comparison.traces.len())).then_some(grid)
}

/// One or two sentences: the schemes with the most power and with the highest utilisation, if there are several schemes.
pub(crate) fn headline(comparison: &Comparison) -> Option<String> {
    let value = |row: Row, column: &Column| Some(comparison.average(row, column)?.value);
    let best = |column: &Column| {
        let known = comparison.schemes().filter_map(|row| Some((row, value(row, column)?)));
        known.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(row, _)| row)
    };
    let gets = comparison.gets();
    let at = |row: Row| {
        let gets = match value(row, &gets)? {
            share if gets.unit.is_empty() => format!("uses {} % of the link", three_digits(share * 100.0)),
            rate => format!("reaches {} {}", three_digits(rate), gets.unit),
        };
        Some(format!("it {gets} at a mean RTT of {} ms", three_digits(value(row, &RTT_MEAN)?)))
    };
    let (powerful, fast) = (best(&POWER)?, best(&gets)?);
    comparison.schemes().nth(1)?;
    let (ratio, most) = ("the best throughput-to-delay ratio (power)", gets.title.to_lowercase());
    if powerful == fast {
        return Some(format!("{} has {ratio} and the highest {most}: {}.", fast.label(), at(fast)?));
    }
    Some(format!(
        "{} has {ratio}: {}. {} has the highest {most}: {}.",
        powerful.label(),
        at(powerful)?,
        fast.label(),
        at(fast)?
    ))
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

/// A sentence, or several.
fn said(text: &str, style: Style) -> String {
    let text = printable_lines(text);
    match style {
        Style::Terminal(width) => wrap_text(&text, width),
        Style::Markdown => escape_markdown(&text),
    }
}

/// An untrusted name as the text of a cell.
fn cell(name: &str, style: Style) -> String {
    lines(&printable(name), style)
}

/// A text in lines as that of a cell.
fn lines(text: &str, style: Style) -> String {
    let text = printable_lines(text);
    match style {
        Style::Terminal(_) => text.into(),
        Style::Markdown => escape_markdown(&text),
    }
}

fn escape_markdown(text: &str) -> String {
    const SPECIAL: [char; 9] = ['|', '<', '>', '*', '_', '`', '[', ']', '\\'];
    let line = text.replace('\n', " ");
    line.chars().flat_map(|c| SPECIAL.contains(&c).then_some('\\').into_iter().chain([c])).collect()
}

//! `cellcc explain`: how much of the queueing delay is the link's own, and how much the sender's. `cellcc_report` makes its output.

use crate::exit::{Exit, print, tell, write_file};
use crate::grid;
use cellcc_link::{Access, DelayFloor, TraceCache};
use cellcc_report::{
    AgainstLine, DelayAgainst, ExplainError, Explanation, Figure, FrontierFigure, LinkDelay, LinkPart, NONE,
    SchemeDelay, TableFormat, least_delays,
};
use cellcc_runner::{Results, SeriesOf, traces, with_causes};
use cellcc_units::Span;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc explain results
  cellcc explain lte-drive 3g --rtt 40ms
  cellcc explain results --figure results/explain.svg")]
pub(crate) struct Args {
    /// Traces, as for `compare`, for their lower bound at several utilisations; or an output folder of `compare`, for its
    /// schemes and the bound.
    #[arg(required = true, value_name = "TRACE|DIR")]
    what: Vec<String>,
    /// Base RTT of traces; a folder has its own.
    #[arg(long, value_name = "TIME", default_value = "40ms")]
    rtt: Span,
    /// Length of each trace to use; a folder has its own.
    #[arg(long, short, value_name = "TIME", default_value = "60s")]
    duration: Span,
    /// Uplink access delay, as for `compare`; a folder has its own.
    #[arg(long, value_name = "ACCESS")]
    access: Option<Access>,
    /// Write a plot of utilisation against delay, with the bound as a line.
    #[arg(long, value_name = "FILE.svg")]
    figure: Option<PathBuf>,
    /// For a folder: compare the other schemes' delay with this scheme's at the same utilisation, on the line through several
    /// values of its parameter.
    #[arg(long, value_name = "SCHEME")]
    against: Option<String>,
    /// Output format.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    if args.rtt < Span::from_millis(1) {
        return Err(Exit::input(format!("--rtt {}: at least 1ms, the grain of traces", args.rtt)));
    }
    match args.what.as_slice() {
        [folder] if Path::new(folder).join("run-info.json").exists() => of_results(args, Path::new(folder)),
        _ if args.against.is_some() => Err(Exit::input(format!(
            "--against: {} is not a folder that `cellcc compare` left",
            args.what.join(" ")
        ))),
        given => of_links(args, given),
    }
}

fn of_links(args: &Args, given: &[String]) -> Result<(), Exit> {
    let cache = TraceCache::default();
    let texts = traces::expand(given)?;
    let parts = texts.iter().map(|text| {
        let source = cache.open(text).map_err(Exit::input)?;
        let Args { duration, rtt, access, .. } = *args;
        Ok(LinkPart { name: source.name, capacity: source.capacity, duration, rtt, access })
    });
    let parts = parts.collect::<Result<Vec<_>, Exit>>()?;
    let least = least_delays(&parts)?;
    write_figure(args, || FrontierFigure::new("The least queueing delay", &least))?;
    let rows: Vec<LinkDelay> =
        parts.iter().zip(&least).map(|(part, least)| LinkDelay::new(part, least)).collect();
    let headings = [
        ("trace", "trace"),
        ("a lone packet", "single packet"),
        ("use 0.90", "at 0.90"),
        ("use 0.95", "at 0.95"),
        ("use 0.98", "at 0.98"),
        ("p95 at 0.95", "p95 at 0.95"),
        ("p95 at 0.98", "p95 at 0.98"),
    ];
    let legend = format!(
        "Mean queueing delay in ms: of a single packet in an empty queue, and its lower bound at a\n\
         utilisation of 0.90, 0.95 and 0.98, for a sender that knows in advance how much each {}\n\
         carries, but not the timing within it; and that sender's 95th percentile.",
        args.rtt
    );
    print_rows(args.format, &headings, &rows, link_cells, &legend)
}

fn of_results(args: &Args, folder: &Path) -> Result<(), Exit> {
    let Results { info, records } = Results::read_with(folder, SeriesOf::NoRun)?;
    let explanation = Explanation::new(&records, &TraceCache::default())
        .map_err(|error| Exit::input(format!("{}: {}", folder.display(), with_causes(&error))))?;
    // The least delay takes the longest to find, and comparisons with a line alone do not need it.
    let least = || -> Result<Vec<DelayFloor>, Exit> {
        let least = least_delays(explanation.parts())?;
        write_figure(args, || explanation.figure(&info.title, &least))?;
        Ok(least)
    };
    let Some(against) = &args.against else {
        let rows = explanation.delays(&least()?);
        let legend = "Queueing delay in ms, arithmetic means over the runs. lower bound: the smallest mean at this\n\
                      utilisation, for a sender that knows in advance how much each RTT carries, but not the timing\n\
                      within it; self-inflicted: the mean minus that bound.";
        let legend = format!("{legend}{}", of_access(explanation.parts()));
        let headings = [
            ("scheme", "scheme"),
            ("use", "utilisation"),
            ("mean", "delay(mean)"),
            ("least", "lower bound"),
            ("own", "self-inflicted"),
            ("p95", "p95"),
        ];
        return print_rows(args.format, &headings, &rows, scheme_cells, &legend);
    };
    if args.figure.is_some() {
        least()?;
    }
    let rows = explanation.against(against)?;
    let legend = format!(
        "Utilisation, and 95th percentile and mean of the queueing delay in ms: arithmetic means over {} traces.\n\
         line: the delay of {against} at the same utilisation, between its settings; ratio: the scheme's delay\n\
         divided by that, and its 95 % interval over traces. Below 1 a scheme has less delay than {against}.",
        rows.first().map_or(0, |row| row.traces)
    );
    let headings = [
        ("scheme", "scheme"),
        ("use", "utilisation"),
        ("p95", "p95"),
        ("line", "line"),
        ("ratio", "ratio"),
        ("mean", "mean"),
        ("line", "line"),
        ("ratio", "ratio"),
    ];
    print_rows(args.format, &headings, &rows, against_cells, &legend)
}

/// The legend's sentence on runs with an access delay.
fn of_access(parts: &[LinkPart]) -> String {
    let accesses = parts.iter().filter_map(|part| part.access.as_ref());
    let longest = accesses.map(Access::longest).max();
    let note = |longest| {
        format!(
            "\nA packet that found the phone silent waited up to {longest} more, which counts as self-inflicted."
        )
    };
    longest.map(note).unwrap_or_default()
}

/// Writes the figure of `--figure`.
fn write_figure(args: &Args, figure: impl FnOnce() -> FrontierFigure) -> Result<(), Exit> {
    let Some(path) = &args.figure else { return Ok(()) };
    write_file(path, Figure::from(&figure()).svg())?;
    tell(&format!("wrote {}", path.display()));
    Ok(())
}

/// A table; in the forms for people with its legend. Each heading is its name in CSV, which programs read, and the one in tables.
fn print_rows<T: Serialize>(
    format: TableFormat,
    headings: &[(&str, &str)],
    rows: &[T],
    cells: fn(&T) -> Vec<String>,
    legend: &str,
) -> Result<(), Exit> {
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let is_csv = format == TableFormat::Csv;
    let headings: Vec<_> = headings.iter().map(|(csv, shown)| if is_csv { *csv } else { *shown }).collect();
    let text = grid::render(format, &headings, &cells, rows)?;
    match format {
        TableFormat::Table | TableFormat::Markdown => print(&format!("{text}\n\n{legend}")),
        TableFormat::Json | TableFormat::Csv => print(&text),
    }
}

fn link_cells(row: &LinkDelay) -> Vec<String> {
    let means = row.bounds.iter().map(|bound| millis(bound.queueing_mean_ms));
    let ends = row.bounds[1..].iter().map(|bound| millis(bound.queueing_p95_ms));
    [row.trace.clone(), millis(row.alone_mean_ms)].into_iter().chain(means).chain(ends).collect()
}

fn scheme_cells(row: &SchemeDelay) -> Vec<String> {
    vec![
        row.scheme.clone(),
        format!("{:.3}", row.utilisation),
        millis(row.queueing_mean_ms),
        millis(row.least_mean_ms),
        millis(row.queueing_mean_ms - row.least_mean_ms),
        millis(row.queueing_p95_ms),
    ]
}

fn against_cells(row: &AgainstLine) -> Vec<String> {
    let of = |delay: &DelayAgainst| {
        let none = || NONE.to_owned();
        let ratio = match (delay.ratio, delay.interval) {
            (Some(ratio), Some((low, high))) => format!("{ratio:.2} ({low:.2} to {high:.2})"),
            (Some(ratio), None) => format!("{ratio:.2}"),
            (None, _) => none(),
        };
        [millis(delay.queueing_ms), delay.line_ms.map_or_else(none, millis), ratio]
    };
    let first = [row.scheme.clone(), format!("{:.3}", row.utilisation)];
    first.into_iter().chain(of(&row.p95)).chain(of(&row.mean)).collect()
}

/// Milliseconds as tables have them.
fn millis(value: f64) -> String {
    if value < 99.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

impl From<ExplainError> for Exit {
    fn from(error: ExplainError) -> Self {
        Self::input(error)
    }
}

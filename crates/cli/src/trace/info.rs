//! `cellcc trace info`.

use crate::exit::{Exit, print};
use crate::grid;
use cellcc_link::trace::Reading;
use cellcc_link::{CapacityStats, OUTAGE_BELOW_MBIT_S};
use cellcc_report::{NONE, TableFormat, three_digits};
use cellcc_runner::traces;
use cellcc_units::{Span, printable};
use serde::Serialize;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc trace info lte-drive my.mahi")]
pub(crate) struct Args {
    /// Trace files, folders of them, or names of synthetic links.
    #[arg(required = true, value_name = "FILE|DIR|NAME")]
    traces: Vec<String>,
    /// Meaning of files with one number per line: mahimahi, or a unit and a step such as kbit/s@100ms.
    #[arg(long = "as", value_name = "MEANING")]
    reading: Option<Reading>,
    /// Output format.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

/// Over how long a link without an end is looked at.
const ENDLESS: Span = Span::from_secs(60);

#[derive(Serialize)]
struct Info {
    trace: String,
    sha256: String,
    #[serde(flatten)]
    stats: CapacityStats,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<(), Exit> {
    let mut infos = Vec::new();
    let texts = traces::expand(&args.traces)?;
    for text in &texts {
        let source = super::open(text, args.reading)?;
        let stats = CapacityStats::new(&source.capacity, ENDLESS);
        let mut notes = source.notes;
        notes.extend(source.capacity.delay_note());
        notes.extend(stats.outage_throughout());
        infos.push(Info { trace: source.name, sha256: source.hash, stats, notes });
    }
    tell_apart(&mut infos, texts);
    let for_people = matches!(args.format, TableFormat::Table | TableFormat::Markdown);
    let (header, rows): (Vec<&str>, Vec<Vec<String>>) = if for_people {
        let mut rows: Vec<Vec<String>> = infos.iter().map(rounded).collect();
        if args.format == TableFormat::Table {
            rows.iter_mut().for_each(|row| row[0] = wrapped(&printable(&row[0])));
        }
        (HEADINGS.to_vec(), rows)
    } else {
        (COLUMNS.to_vec(), infos.iter().map(exact).collect())
    };
    let text = grid::render(args.format, &header, &rows, &infos)?;
    match for_people {
        true => print(&format!(
            "{text}\n{}\nRates: Mbit/s of whole seconds; jump: the largest from one to the next. Outages:\n\
             seconds below {OUTAGE_BELOW_MBIT_S} Mbit/s, and the longest. Gap: the longest time without any\n\
             capacity. Burst: a run of delivery opportunities at most 1 ms apart, p50/p95 of\n\
             its size and of the time to the next.",
            notes(&infos)
        )),
        false => print(&text),
    }
}

/// A line for each note, with its trace.
fn notes(infos: &[Info]) -> String {
    let lines = infos
        .iter()
        .flat_map(|info| info.notes.iter().map(|note| format!("\n{}: {note}\n", printable(&info.trace))));
    lines.collect()
}

/// Traces of one file name are called as they were given, with their folders.
fn tell_apart(infos: &mut [Info], texts: Vec<String>) {
    let names: Vec<String> = infos.iter().map(|info| info.trace.clone()).collect();
    for (info, text) in infos.iter_mut().zip(texts) {
        if names.iter().filter(|name| **name == info.trace).count() > 1 {
            info.trace = text;
        }
    }
}

const HEADINGS: [&str; 12] = [
    "trace",
    "length\ns",
    "mean",
    "p5",
    "p50",
    "p95",
    "jump",
    "out-\nages",
    "longest\ns",
    "gap\ns",
    "burst\nkB",
    "apart\nms",
];

/// A name in lines that leave room for the numbers in a terminal of 80 columns, cut at its hyphens, underscores and dots.
fn wrapped(name: &str) -> String {
    const LONGEST: usize = 14;
    let mut lines: Vec<String> = Vec::new();
    for part in name.split_inclusive(['-', '_', '.', '/']) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.chars().count() <= LONGEST => line.push_str(part),
            _ => lines.push(part.into()),
        }
    }
    lines.join("\n")
}

fn rounded(info: &Info) -> Vec<String> {
    let stats = &info.stats;
    let (sizes, gaps) = match &stats.bursts {
        None => (NONE.into(), NONE.into()),
        Some(bursts) => (
            format!("{:.1}/{:.1}", bursts.p50_size_bytes / 1e3, bursts.p95_size_bytes / 1e3),
            match (bursts.p50_gap_ms, bursts.p95_gap_ms) {
                (Some(p50), Some(p95)) => format!("{p50:.0}/{p95:.0}"),
                _ => NONE.into(),
            },
        ),
    };
    vec![
        info.trace.clone(),
        three_digits(stats.duration_s),
        three_digits(stats.mean_mbit_s),
        three_digits(stats.p5_mbit_s),
        three_digits(stats.p50_mbit_s),
        three_digits(stats.p95_mbit_s),
        three_digits(stats.largest_jump_mbit_s),
        stats.outage_count.to_string(),
        three_digits(stats.longest_outage_s),
        format!("{:.2}", stats.longest_gap_s),
        sizes,
        gaps,
    ]
}

const COLUMNS: [&str; 21] = [
    "trace",
    "sha256",
    "duration_s",
    "mean_mbit_s",
    "p5_mbit_s",
    "p50_mbit_s",
    "p95_mbit_s",
    "largest_jump_mbit_s",
    "outage_share",
    "outage_count",
    "longest_outage_s",
    "longest_gap_s",
    "burst_count",
    "burst_mean_size_bytes",
    "burst_p5_size_bytes",
    "burst_p50_size_bytes",
    "burst_p95_size_bytes",
    "burst_mean_gap_ms",
    "burst_p5_gap_ms",
    "burst_p50_gap_ms",
    "burst_p95_gap_ms",
];

fn exact(info: &Info) -> Vec<String> {
    let s = &info.stats;
    let text = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let b = s.bursts.as_ref();
    let mut row = vec![info.trace.clone(), info.sha256.clone()];
    row.extend(
        [
            Some(s.duration_s),
            Some(s.mean_mbit_s),
            Some(s.p5_mbit_s),
            Some(s.p50_mbit_s),
            Some(s.p95_mbit_s),
            Some(s.largest_jump_mbit_s),
            Some(s.outage_share),
            Some(s.outage_count as f64),
            Some(s.longest_outage_s),
            Some(s.longest_gap_s),
            b.map(|b| b.count as f64),
            b.map(|b| b.mean_size_bytes),
            b.map(|b| b.p5_size_bytes),
            b.map(|b| b.p50_size_bytes),
            b.map(|b| b.p95_size_bytes),
            b.and_then(|b| b.mean_gap_ms),
            b.and_then(|b| b.p5_gap_ms),
            b.and_then(|b| b.p50_gap_ms),
            b.and_then(|b| b.p95_gap_ms),
        ]
        .map(text),
    );
    row
}

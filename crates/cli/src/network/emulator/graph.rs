//! `cellcc graph`: a link's packet log in numbers and plots.

use crate::exit::{Exit, print, tell, unwritten, write_file};
use crate::grid;
use cellcc_emu::log::{self, Bin, DelayRange, Digest, Summary};
use cellcc_report::{Figure, Shape, TableFormat, TimeLine};
use cellcc_units::Span;
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc shell --down lte-drive --down-log down.log -- curl -O http://100.64.0.1:8000/file
  cellcc graph down.log")]
pub(crate) struct Args {
    /// Packet log of `cellcc shell`, `cellcc mm-link` or Mahimahi's mm-link, plain or gzip.
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Folder for the plots (SVG) and the bins (CSV), named after the log.
    #[arg(long, short, default_value = ".", value_name = "DIR")]
    out: PathBuf,
    /// Bin width of the throughput, in whole milliseconds.
    #[arg(long, default_value = "500ms", value_name = "TIME")]
    bin: Span,
    /// Output format.
    #[arg(long, default_value = "table", value_parser = grid::format_parser())]
    format: TableFormat,
}

/// `cellcc graph LOG`.
pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let digest = digest(Some(&args.log), whole_millis(args.bin)?)?;
    let name = args.log.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = stem.strip_suffix(".log").unwrap_or(stem);
    fs::create_dir_all(&args.out).map_err(|error| unwritten(&args.out, &error))?;
    for (ending, content) in [
        ("throughput.svg", throughput_figure(stem, &digest)),
        ("delay.svg", delay_figure(stem, &digest)),
        ("bins.csv", bins(&digest)?),
    ] {
        let path = args.out.join(format!("{stem}-{ending}"));
        write_file(&path, content)?;
        tell(&format!("wrote {}", path.display()));
    }
    let summary = digest.summary(&name);
    match args.format {
        TableFormat::Table => print(&summary_lines(&digest)),
        format => print(&grid::render(format, &COLUMNS, &[cells(&summary)], &[&summary])?),
    }
}

/// `mm-throughput-graph MS_PER_BIN [LOG]`.
pub(crate) fn throughput(bin_ms: NonZeroU64, log: Option<&Path>) -> Result<(), Exit> {
    let digest = digest(log, bin_ms)?;
    summary_lines(&digest).lines().for_each(tell);
    print(&throughput_figure("Throughput", &digest))
}

/// `mm-delay-graph [LOG]`.
pub(crate) fn delay(log: Option<&Path>) -> Result<(), Exit> {
    let digest = digest(log, UNSEEN_BIN_MS)?;
    delay_line(&digest).lines().for_each(tell);
    print(&delay_figure("Queueing delay", &digest))
}

/// Where the bins are not shown.
const UNSEEN_BIN_MS: NonZeroU64 = NonZeroU64::new(1000).expect("above zero");

fn whole_millis(bin: Span) -> Result<NonZeroU64, Exit> {
    const NANOS_PER_MILLI: u64 = 1_000_000;
    let millis = bin.as_nanos() / NANOS_PER_MILLI;
    NonZeroU64::new(millis).filter(|_| bin.as_nanos().is_multiple_of(NANOS_PER_MILLI)).ok_or_else(|| {
        Exit::input(format!("--bin {bin}: a log counts whole milliseconds; write 1ms or a multiple of it"))
    })
}

/// Reads a log, or standard input.
fn digest(log: Option<&Path>, bin_ms: NonZeroU64) -> Result<Digest, Exit> {
    let mut digest = Digest::new(bin_ms);
    match log {
        Some(path) => log::read(path, |entry| digest.add(entry))?,
        None => log::read_from("standard input", io::stdin().lock(), |entry| digest.add(entry))?,
    }
    if digest.duration_s() > 0.0 {
        return Ok(digest);
    }
    let name = log.map_or("standard input".into(), |path| path.display().to_string());
    Err(Exit::input(format!("{name}: covers no time: there is nothing to draw; was it written by mm-link?")))
}

/// Mahimahi's four lines, word for word, and the drops.
fn summary_lines(digest: &Digest) -> String {
    [throughput_lines(digest), delay_line(digest), signal_line(digest), drop_lines(digest)].concat()
}

fn throughput_lines(digest: &Digest) -> String {
    let mean = |bytes| digest.mean_mbit_s(bytes).unwrap_or(0.0);
    let used = digest
        .utilisation()
        .map_or("no capacity in the log".into(), |share| format!("{:.1}% utilization", 100.0 * share));
    format!(
        "Average capacity: {:.2} Mbits/s\nAverage throughput: {:.2} Mbits/s ({used})\n",
        mean(digest.total.offered_bytes),
        mean(digest.total.departed_bytes)
    )
}

fn delay_line(digest: &Digest) -> String {
    format!("95th percentile per-packet queueing delay: {} ms\n", or_dash(digest.queueing_delay_p95_ms()))
}

fn signal_line(digest: &Digest) -> String {
    format!("95th percentile signal delay: {} ms\n", or_dash(digest.signal_delay_p95_ms()))
}

/// The drops, which Mahimahi's script does not know; empty without any.
fn drop_lines(digest: &Digest) -> String {
    let share = 100.0 * digest.total.dropped_share();
    match digest.total.dropped_packets {
        0 => String::new(),
        count => format!("Dropped: {count} packets ({share:.2}% of those that came)\n"),
    }
}

fn or_dash(value: Option<u64>) -> String {
    value.map_or("-".into(), |value| value.to_string())
}

/// The columns of the summary, as its keys are.
const COLUMNS: [&str; 12] = [
    "log",
    "duration_s",
    "capacity_mbit_s",
    "arrived_mbit_s",
    "throughput_mbit_s",
    "utilisation",
    "queueing_delay_p95_ms",
    "signal_delay_p95_ms",
    "arrived_packets",
    "departed_packets",
    "dropped_packets",
    "dropped_bytes",
];

fn cells(summary: &Summary) -> Vec<String> {
    let real = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let whole = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    vec![
        summary.log.into(),
        summary.duration_s.to_string(),
        real(summary.capacity_mbit_s),
        real(summary.arrived_mbit_s),
        real(summary.throughput_mbit_s),
        real(summary.utilisation),
        whole(summary.queueing_delay_p95_ms),
        whole(summary.signal_delay_p95_ms),
        summary.arrived_packets.to_string(),
        summary.departed_packets.to_string(),
        summary.dropped_packets.to_string(),
        summary.dropped_bytes.to_string(),
    ]
}

/// A row a bin.
fn bins(digest: &Digest) -> Result<String, Exit> {
    let header = [
        "time_s",
        "capacity_mbit_s",
        "arrived_mbit_s",
        "departed_mbit_s",
        "dropped_mbit_s",
        "dropped_packets",
        "queueing_delay_mean_ms",
        "queueing_delay_max_ms",
    ];
    let rows: Vec<Vec<String>> = digest
        .timed_bins()
        .map(|(start_s, bin)| {
            let rate = |bytes| digest.bin_mbit_s(bytes).to_string();
            let mut row = vec![
                start_s.to_string(),
                rate(bin.offered_bytes),
                rate(bin.arrived_bytes),
                rate(bin.departed_bytes),
                rate(bin.dropped_bytes),
                bin.dropped_packets.to_string(),
            ];
            row.extend(
                bin.delays_ms().map_or_else(Default::default, |delays| delays.map(|ms| ms.to_string())),
            );
            row
        })
        .collect();
    grid::render(TableFormat::Csv, &header, &rows, &[(); 0])
}

fn throughput_figure(title: &str, digest: &Digest) -> String {
    let line = |name: &str, shape, of: fn(&Bin) -> u64| TimeLine {
        name: format!("{name}, mean {:.2}", digest.mean_mbit_s(of(&digest.total)).unwrap_or(0.0)),
        shape,
        start_s: digest.timed_bins().next().map_or(0.0, |(start_s, _)| start_s),
        step_s: digest.bin_s(),
        values: digest.bins.iter().map(|bin| digest.bin_mbit_s(of(bin)) as f32).collect(),
    };
    type Counter = fn(&Bin) -> u64;
    let all: [(_, _, Counter); 4] = [
        ("Capacity", Shape::Area, |bin| bin.offered_bytes),
        ("Ingress", Shape::Line, |bin| bin.arrived_bytes),
        ("Egress", Shape::Line, |bin| bin.departed_bytes),
        ("Dropped", Shape::Line, |bin| bin.dropped_bytes),
    ];
    let is_shown = |name: &str, of: Counter| of(&digest.total) > 0 || name.ends_with("gress");
    let lines = all.into_iter().filter(|(name, _, of)| is_shown(name, *of));
    let lines: Vec<TimeLine> = lines.map(|(name, shape, of)| line(name, shape, of)).collect();
    Figure::over_time(title, "Throughput, Mbit/s", &lines).svg()
}

fn delay_figure(title: &str, digest: &Digest) -> String {
    // The shortest and the longest delay of each range, one after the other.
    let ends = |range: &Option<DelayRange>| match range {
        Some(range) => [range.least_ms as f32, range.most_ms as f32],
        None => [f32::NAN; 2],
    };
    let Some(delays) = &digest.delays else {
        return Figure::over_time(title, "Queueing delay, ms", &[]).svg();
    };
    let each = TimeLine {
        name: "Each packet".into(),
        shape: Shape::Line,
        start_s: delays.start_ms as f64 / 1e3,
        step_s: delays.width_ms as f64 / 1e3 / 2.0,
        values: delays.ranges.iter().flat_map(ends).collect(),
    };
    let level = digest.queueing_delay_p95_ms().map(|p95| TimeLine {
        name: format!("95th percentile, {p95} ms"),
        shape: Shape::Dashed,
        values: vec![p95 as f32; 2],
        step_s: each.step_s * each.values.len().saturating_sub(1).max(1) as f64,
        ..each
    });
    Figure::over_time(title, "Queueing delay, ms", &std::iter::once(each).chain(level).collect::<Vec<_>>())
        .svg()
}

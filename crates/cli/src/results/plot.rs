//! `cellcc plot`: a figure of stored results, for a paper.

use crate::exit::{ALL_OF_CELLCC, Exit, tell, write_file};
use cellcc_report::{Length, Named, Paper, Plot, PlotKind, ReportError, TableColumn};
use cellcc_runner::{Results, SeriesOf};
use cellcc_units::{Bytes, input};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc plot results --x rtt-p95 --y throughput --out delay.pdf
  cellcc plot results --x queue --y throughput,rtt-p95 --out queue.pdf --width 88mm --font-size 8pt
  cellcc plot results --x rtt-p95 --y utilisation --scheme 'reminis(dtt=2x)=Reminis' --scheme cubic
  cellcc plot results --kind ccdf --x queueing --facet path.queue --out tails.pdf
  cellcc plot results --kind box --x queue --y rtt-p95 --out boxes.pdf

Columns: those of `compare --columns`, or their CSV and JSON names, such as rtt_p99_ms. A varied run parameter is named by its key, \
path.queue, or the end of it, which takes precedence over a column.")]
pub(crate) struct Args {
    /// Output folder of `compare` or `merge`.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Horizontal axis: a column of the table, or a varied run parameter.
    #[arg(long, value_name = "COLUMN|KEY", required_unless_present = "kind")]
    x: Option<String>,
    /// Vertical axis: columns of the table, comma-separated, one plot each [default: utilisation, or throughput if the link is
    /// unknown].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    y: Vec<TableColumn>,
    /// Kind of figure: scatter, box (quartiles over traces), bars, cdf, ccdf (share of packets for rtt and queueing, else of
    /// traces), or time (of the first trace) [default: scatter, or lines over a varied parameter].
    #[arg(long, value_name = "KIND")]
    kind: Option<PlotKind>,
    /// One plot for each value of this varied parameter, side by side.
    #[arg(long, value_name = "KEY")]
    facet: Option<String>,
    /// Output file: .svg, .pdf (for LaTeX) or .png [default: plot.svg in the folder].
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show only this scheme, under this NAME; repeat it for several, in order.
    #[arg(long = "scheme", value_name = "SCHEME[=NAME]")]
    schemes: Vec<Named>,
    /// Show only runs with this value of a varied parameter, e.g. path.queue=65pkt, or on a trace, e.g. trace=lte-drive.
    #[arg(long, value_name = "KEY=VALUE")]
    only: Vec<Named>,
    /// Label the points instead of a legend.
    #[arg(long)]
    labels: bool,
    /// Omit the 95 % intervals.
    #[arg(long)]
    no_intervals: bool,
    /// Title of the horizontal axis.
    #[arg(long, value_name = "TEXT")]
    x_title: Option<String>,
    /// Title of the vertical axis; repeat it for several plots.
    #[arg(long = "y-title", value_name = "TEXT")]
    y_titles: Vec<String>,
    /// Width, e.g. 88mm or 252pt [default: 3.5in, one column of a paper; 7.16in for plots side by side].
    #[arg(long, value_name = "LENGTH")]
    width: Option<Length>,
    /// Height [default: as the plots need].
    #[arg(long, value_name = "LENGTH")]
    height: Option<Length>,
    /// Font size; lines and marks scale with it [default: 7.44pt].
    #[arg(long, value_name = "LENGTH")]
    font_size: Option<Length>,
    /// TrueType or OpenType font [default: DejaVu Sans; in SVG the reader's sans serif].
    #[arg(long, value_name = "FILE.ttf|FILE.otf")]
    font: Option<PathBuf>,
    /// Print only errors on standard error.
    #[arg(long, short)]
    quiet: bool,
}

/// No font is larger: those of Chinese, Japanese and Korean have 20 MB.
const MOST_FONT: Bytes = Bytes::new(64 << 20);

/// The version and the command, for the metadata of a PDF, which others read: of paths only the names of files.
fn made_by(args: &Args) -> String {
    let paths = [Some(&args.folder), args.out.as_ref(), args.font.as_ref()];
    let word = |word: OsString| {
        let is_path = paths.into_iter().flatten().any(|path| path.as_os_str() == word);
        let name = Path::new(&word).file_name().filter(|_| is_path).unwrap_or(&word);
        name.to_string_lossy().into_owned()
    };
    let words: Vec<String> = std::env::args_os().skip(1).map(word).collect();
    format!("cellcc {}: cellcc {}", cellcc_version::VERSION, words.join(" "))
}

pub(crate) fn run(args: &Args) -> Result<(), Exit> {
    let out = args.out.clone().unwrap_or_else(|| args.folder.join("plot.svg"));
    let kind = out.extension().map(|kind| kind.to_string_lossy().to_lowercase()).unwrap_or_default();
    let named =
        |path: &Path, error: &dyn std::fmt::Display| Exit::input(format!("{}: {error}", path.display()));
    let font =
        args.font.as_ref().map(|path| input::read(path, MOST_FONT).map_err(|error| named(path, &error)));
    let plot = Plot {
        x: args.x.clone(),
        y: args.y.clone(),
        kind: args.kind,
        facet: args.facet.clone(),
        schemes: args.schemes.clone(),
        only: args.only.clone(),
        x_title: args.x_title.clone(),
        y_titles: args.y_titles.clone(),
        no_intervals: args.no_intervals,
        paper: Paper {
            width: args.width,
            height: args.height,
            font_size: args.font_size,
            labels: args.labels,
        },
        font: font.transpose()?,
        made_by: made_by(args),
    };
    let series = if args.kind == Some(PlotKind::Time) { SeriesOf::FirstSeeds } else { SeriesOf::NoRun };
    let Results { info, records } = Results::read_with(&args.folder, series)?;
    let figure = plot.figure(&info.title, &records).map_err(Exit::input)?;
    let content = plot.file(&figure, &kind).map_err(|error| match (&error, &args.font) {
        (ReportError::Font, Some(font)) => named(font, &error),
        (ReportError::Plot(_), _) if cfg!(not(feature = "pdf")) => {
            Exit::input(format!("--out {}: {error}; {ALL_OF_CELLCC}", out.display()))
        }
        (ReportError::Plot(_), _) => Exit::input(format!("--out {}: {error}", out.display())),
        _ => Exit::failed(error),
    })?;
    write_file(&out, content)?;
    if !args.quiet {
        tell(&format!("wrote {}", out.display()));
    }
    Ok(())
}

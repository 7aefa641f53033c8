//! `cellcc trace convert`.

use crate::exit::{Exit, tell};
use cellcc_link::trace::Reading;
use cellcc_link::{Capacity, Source, trace};
use cellcc_units::Span;
use cellcc_units::output::WholeFile;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc trace convert drive.csv drive.mahi --duration 60s")]
pub(crate) struct Args {
    /// Trace file, synthetic link, rate=... or step=...; `FILE,offset=10s,duration=60s` takes a part.
    #[arg(value_name = "IN")]
    from: String,
    /// Output file: .mahi, .up or .down (Mahimahi), .mbps (seconds, Mbit/s) or .csv, and .gz or .xz after it.
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// Meaning of a file with one number per line: mahimahi, or a unit and a step such as kbit/s@100ms.
    #[arg(long = "as", value_name = "MEANING")]
    reading: Option<Reading>,
    /// Bin width of a rate trace.
    #[arg(long, default_value = "100ms", value_name = "TIME")]
    bin: Span,
    /// Length to write [default: the trace once].
    #[arg(long, short, value_name = "TIME")]
    duration: Option<Span>,
    /// Replace an existing output file.
    #[arg(long, alias = "force")]
    replace: bool,
}

enum Format {
    Mahimahi,
    Rate,
    Csv,
}

enum Compression {
    None,
    Gzip,
    Xz,
}

pub(super) fn run(args: &Args) -> Result<(), Exit> {
    let (format, compression) = by_ending(&args.to)?;
    if !(Span::from_millis(1)..=Span::from_secs(60)).contains(&args.bin) {
        return Err(Exit::input(format!(
            "--bin {} is out of range; write 1ms to 60s, such as 100ms",
            args.bin
        )));
    }
    let Source { capacity, mut notes, .. } = super::open(&args.from, args.reading)?;
    notes.extend(capacity.delay_note().map(|note| format!("{note}: the output has only the rates")));
    notes.iter().for_each(|note| tell(&format!("{}: {note}", args.from)));
    let length = args.duration.or(capacity.period()).ok_or_else(|| {
        Exit::input(format!("`{}` has no end; say how much to write, such as --duration 60s", args.from))
    })?;
    if length.is_zero() || length > Span::from_secs(86_400) {
        return Err(Exit::input(format!("--duration {length} is out of range; write above 0s up to 24h")));
    }
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Exit::input(format!("{} is there already; --replace replaces it", args.to.display()))
        }
        io::ErrorKind::StorageFull | io::ErrorKind::Interrupted => {
            Exit::failed(format!("cannot write {}: {error}", args.to.display()))
        }
        _ => Exit::input(format!("cannot write {}: {error}", args.to.display())),
    };
    let file = WholeFile::named(&args.to);
    let file = if args.replace { file } else { file.and_then(WholeFile::unless_there) };
    let write = |out: &mut dyn Write| write(&capacity, length, args.bin, &format, out);
    let compressed = |file: &mut BufWriter<&File>| match compression {
        Compression::None => write(file),
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(file, flate2::Compression::default());
            write(&mut encoder).and_then(|()| encoder.finish().map(drop))
        }
        Compression::Xz => {
            let mut encoder = XzEncoder::new(file, 6);
            write(&mut encoder).and_then(|()| encoder.finish().map(drop))
        }
    };
    file.and_then(|file| file.fill(compressed)).map_err(failed)
}

fn write(
    capacity: &Capacity,
    length: Span,
    bin: Span,
    format: &Format,
    mut out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Mahimahi => trace::write::mahimahi(capacity, length, &mut out),
        Format::Rate => trace::write::rate(capacity, length, bin, &mut out),
        Format::Csv => trace::write::csv(capacity, length, bin, &mut out),
    }
}

fn by_ending(path: &Path) -> Result<(Format, Compression), Exit> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, compression) = if let Some(stem) = name.strip_suffix(".gz") {
        (stem, Compression::Gzip)
    } else if let Some(stem) = name.strip_suffix(".xz") {
        (stem, Compression::Xz)
    } else {
        (name.as_str(), Compression::None)
    };
    let format = match stem.rsplit_once('.').map(|(_, ending)| ending) {
        Some("mahi" | "up" | "down") => Format::Mahimahi,
        Some("mbps") => Format::Rate,
        Some("csv") => Format::Csv,
        _ => {
            return Err(Exit::input(format!(
                "the ending of {} names no format; write .mahi, .up, .down, .mbps or .csv, and .gz or .xz after it",
                path.display()
            )));
        }
    };
    Ok((format, compression))
}

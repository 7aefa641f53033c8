//! `cellcc trace record`.

#![allow(clippy::disallowed_methods, reason = "a recording has a date")]

use crate::exit::{Exit, tell, unwritten};
use crate::interrupt::on_interrupt_or_hangup;
use crate::network::process::most_open_files;
use cellcc_record::wire::PACKET_SIZES;
use cellcc_record::{
    DEFAULT_PORT, Directions, Ended, Progress, QueueDelay, RecordError, RecordSettings, Recorded, Recording,
    Request, ServeSettings, ServerEvent, Summary, record, serve,
};
use cellcc_units::output::WholeFile;
use cellcc_units::{Bytes, Span};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::fs;
use std::io::{BufWriter, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cellcc trace record --serve                      at the far end
  cellcc trace record HOST --duration 60s --max-bytes 500MB

Recording keeps the path's queue full, and so uses all of its capacity: on a metered connection limit it by --max-bytes.")]
pub(crate) struct Args {
    /// The far end, where `cellcc trace record --serve` runs.
    #[arg(value_name = "SERVER[:PORT]", required_unless_present = "serve")]
    server: Option<String>,
    /// Run as the far end, on this address [default: every address, port 9347].
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = "", conflicts_with = "server")]
    serve: Option<String>,
    /// Direction to record, as seen from here.
    #[arg(long, value_enum, default_value = "down")]
    direction: Direction,
    /// Duration; with --serve, the longest allowed [default: 60s; with --serve 10min].
    #[arg(long, short, value_name = "TIME")]
    duration: Option<Span>,
    /// Stop after this much data, both directions together; with --serve, the most for one recording [default: 1GB; with
    /// --serve 10GB].
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<Bytes>,
    /// Target for the queueing delay on the path.
    #[arg(long, value_name = "TIME..TIME", default_value_t = QueueDelay::DEFAULT)]
    queue_delay: QueueDelay,
    /// Packet size, IP header included; smaller if the path does not carry it.
    #[arg(long, value_name = "BYTES", default_value = "1500B")]
    packet_size: Bytes,
    /// Folder for NAME.down.mahi, NAME.up.mahi and NAME.json.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// NAME of the recording [default: date and time, such as 2026-01-31T120000Z].
    #[arg(long)]
    name: Option<String>,
    /// With --serve: most recordings at once.
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    max_recordings: usize,
    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Down,
    Up,
    Both,
}

const LONGEST: Span = Span::from_secs(86_400);
/// A queue that is empty for a larger share of the time shows the sender rather than the link: the agreement that is asked of
/// a recording is 2 % in each second.
const UNSATURATED: f64 = 0.02;

pub(super) fn run(args: &Args) -> Result<(), Exit> {
    if args.duration.is_some_and(|duration| duration < Span::from_secs(1) || duration > LONGEST) {
        return Err(Exit::input("--duration is out of range; write 1s to 24h, such as 60s"));
    }
    let stop = stop_on_signal()?;
    most_open_files();
    match (&args.serve, &args.server) {
        (Some(address), _) => run_server(args, address, &stop),
        (None, Some(server)) => run_client(args, server, &stop),
        (None, None) => Err(Exit::input("name the far end, or be it with --serve")),
    }
}

fn exit(error: RecordError) -> Exit {
    if error.is_input() { Exit::input(error) } else { Exit::failed(error) }
}

fn stop_on_signal() -> Result<Arc<AtomicBool>, Exit> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    on_interrupt_or_hangup(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(stop)
}

fn run_server(args: &Args, address: &str, stop: &AtomicBool) -> Result<(), Exit> {
    let everywhere =
        [SocketAddr::from(([0u16; 8], DEFAULT_PORT)), SocketAddr::from(([0u8; 4], DEFAULT_PORT))];
    let addresses = if address.is_empty() { everywhere.to_vec() } else { vec![resolve(address, "--serve")?] };
    let mut result = Ok(());
    for address in addresses {
        let settings = ServeSettings {
            address,
            max_recordings: args.max_recordings,
            max_duration: args.duration.unwrap_or(Span::from_secs(600)),
            max_bytes: args.max_bytes.unwrap_or(Bytes::new(10_000_000_000)),
        };
        result = serve(&settings, stop, &mut |event| tell(&said(event)));
        // A machine without IPv6 has only the second.
        if result.is_ok() {
            break;
        }
    }
    result.map_err(exit)
}

fn said(event: ServerEvent) -> String {
    match event {
        ServerEvent::Listening(address) => format!("listening on UDP {address}; Ctrl-C ends it"),
        ServerEvent::Began(peer) => format!("{peer}: recording"),
        ServerEvent::Ended(peer, bytes) => format!("{peer}: ended after {}", amount(bytes)),
        ServerEvent::Refused(peer) => {
            format!("{peer}: refused, as many recordings as --max-recordings are going on")
        }
        ServerEvent::Closed { ignored } => {
            format!("closed; {ignored} datagrams belonged to no recording and were ignored")
        }
    }
}

fn resolve(text: &str, flag: &str) -> Result<SocketAddr, Exit> {
    let found = text.to_socket_addrs().or_else(|_| (text, DEFAULT_PORT).to_socket_addrs());
    found.ok().and_then(|mut addresses| addresses.next()).ok_or_else(|| {
        Exit::input(format!(
            "{flag} `{text}` is no address that can be found; write it as 192.0.2.1:{DEFAULT_PORT}"
        ))
    })
}

fn run_client(args: &Args, server: &str, stop: &AtomicBool) -> Result<(), Exit> {
    if !PACKET_SIZES.contains(&args.packet_size) {
        return Err(Exit::input("--packet-size is out of range; write 200B to 9000B, such as 1500B"));
    }
    let request = Request {
        directions: match args.direction {
            Direction::Down => Directions::Down,
            Direction::Up => Directions::Up,
            Direction::Both => Directions::Both,
        },
        packet: args.packet_size,
        queue_delay: args.queue_delay,
        max_bytes: args.max_bytes.unwrap_or(Bytes::new(1_000_000_000)),
        duration: args.duration.unwrap_or(Span::from_secs(60)),
    };
    let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let name = args.name.clone().unwrap_or_else(|| date.replace(':', ""));
    if name.is_empty() || name.contains('/') {
        return Err(Exit::input(format!("--name `{name}` is no file name; write one such as drive-1")));
    }
    fs::create_dir_all(&args.out)
        .map_err(|error| Exit::input(format!("cannot make {}: {error}", args.out.display())))?;
    let settings = RecordSettings { server: resolve(server, "SERVER")?, request };
    tell(&format!(
        "this uses all the data that the path carries, for {}, up to {} (--max-bytes); Ctrl-C ends it and keeps the recording so far",
        request.duration, request.max_bytes
    ));
    let bar = bar(request.max_bytes, args.quiet);
    let recorded = record(&settings, stop, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let recorded = recorded.map_err(exit)?;
    write(&args.out, &name, &date, &request, &recorded)?;
    tell(ended(recorded.ended));
    if recorded.down.is_none() && recorded.up.is_none() {
        return Err(Exit::failed(
            "fewer than two packets arrived, or all at once: raise --max-bytes, and where the path does not carry packets of this size, try --packet-size 1400B",
        ));
    }
    Ok(())
}

fn bar(cap: Bytes, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(cap.get()), target);
    let template = "{bar:20} {decimal_bytes} of at most {decimal_total_bytes}  {wide_msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_position(progress.bytes.get());
    let recorded = match progress.recorded {
        Some(span) => format!("recorded {:.1} s", span.as_secs_f64()),
        None => format!("filling the queue for {:.1} s", progress.elapsed.as_secs_f64()),
    };
    let rtt = progress.rtt.map_or(String::new(), |rtt| format!(", RTT {:.0} ms", rtt.as_millis_f64()));
    bar.set_message(format!("{recorded}, {:.1} Mbit/s{rtt}", progress.rate.as_mbit_per_sec()));
}

fn ended(ended: Ended) -> &'static str {
    match ended {
        Ended::Duration => "ended: after the requested time",
        Ended::Bytes => "ended: --max-bytes is used up",
        Ended::Interrupted => "ended: interrupted; the recording so far is kept",
        Ended::FarEnd => "ended: the far end allows no more",
        Ended::Silence => "ended: nothing came from the far end for 30 s; the recording so far is kept",
    }
}

fn amount(bytes: Bytes) -> String {
    format!("{:.1} MB", bytes.as_f64() / 1e6)
}

/// The file that accompanies the traces. No addresses: a recording is to be passed on.
#[derive(Serialize)]
struct Sidecar<'a> {
    schema: u32,
    version: &'static str,
    date: &'a str,
    queue_delay: String,
    duration_s: f64,
    max_bytes: u64,
    used_bytes: u64,
    ended: Ended,
    missing_reports: u64,
    down: Option<&'a Summary>,
    up: Option<&'a Summary>,
}

fn write(out: &Path, name: &str, date: &str, request: &Request, recorded: &Recorded) -> Result<(), Exit> {
    for (direction, recording) in [("down", &recorded.down), ("up", &recorded.up)] {
        let Some(recording) = recording else { continue };
        let path = out.join(format!("{name}.{direction}.mahi"));
        write_file(&path, |file| recording.write_mahimahi(file))?;
        tell(&line(&path, recording));
        warn(recording.summary());
    }
    let sidecar = Sidecar {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        date,
        queue_delay: request.queue_delay.to_string(),
        duration_s: request.duration.as_secs_f64(),
        max_bytes: request.max_bytes.get(),
        used_bytes: recorded.bytes.get(),
        ended: recorded.ended,
        missing_reports: recorded.reports_missing,
        down: recorded.down.as_ref().map(Recording::summary),
        up: recorded.up.as_ref().map(Recording::summary),
    };
    let text = serde_json::to_string_pretty(&sidecar).map_err(Exit::failed)?;
    write_file(&out.join(format!("{name}.json")), |file| writeln!(file, "{text}"))
}

fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&fs::File>) -> std::io::Result<()>,
) -> Result<(), Exit> {
    WholeFile::named(path).and_then(|file| file.fill(write)).map_err(|error| unwritten(path, &error))
}

fn line(path: &Path, recording: &Recording) -> String {
    let summary = recording.summary();
    format!(
        "{}: {:.1} s, {:.2} Mbit/s, {:.2} % lost, waited {:.0} ms (p50), {:.0} ms (p95)",
        path.display(),
        summary.duration_s,
        summary.mean_mbit_s,
        summary.lost_share * 100.0,
        summary.queueing_ms.p50,
        summary.queueing_ms.p95
    )
}

fn warn(summary: &Summary) {
    if summary.unsaturated_share > UNSATURATED {
        tell(&format!(
            "warning: the queue was empty for {:.1} % of the time, at most {:.2} s at once: there the trace shows the \
             sender, not the link; record again with a longer queue, such as --queue-delay 750ms..3s",
            summary.unsaturated_share * 100.0,
            summary.longest_unsaturated_s
        ));
    }
    if summary.socket_overflows > 0 {
        tell(&format!(
            "warning: the receiver lost {} packets itself, not the path: close other programs there, or raise the \
             kernel's limit net.core.rmem_max",
            summary.socket_overflows
        ));
    }
}

//! What `cellcc get` and `cellcc put` have in common.

#![allow(clippy::disallowed_methods, reason = "a transfer takes real time")]

use crate::advice;
use crate::exit::{Exit, print, tell};
use crate::watch::Watch;
use cellcc_experiment::Source;
use cellcc_quic::Congestion;
use cellcc_quic::qlog::Directory;
use cellcc_quic::transfer::{
    ClientSettings, Direction, Fingerprint, Identity, Interval, MAX_CONNECTIONS, MAX_STREAMS, MIN_INTERVAL,
    Outcome, Payload, Progress, Request, Started, TransferError, Trust, VERSION,
};
use cellcc_units::{Bytes, Rate, Span};
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use tokio::runtime::Runtime;
use tokio::sync::watch;

#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten, next_help_heading = "What is transferred")]
    pub(crate) made: Made,
    #[command(flatten, next_help_heading = "How")]
    how: How,
    #[command(flatten, next_help_heading = "Whom to trust (one of the first three)")]
    who: Who,
    #[command(flatten, next_help_heading = "What is shown")]
    shown: Shown,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Made {
    /// How long [default: 10s, unless the amount is given].
    #[arg(long, short, value_name = "TIME")]
    time: Option<Span>,
    /// So much, all connections together: 100MB.
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["rate", "frames"])]
    bytes: Option<Bytes>,
    /// A constant rate on each connection: 5Mbit/s.
    #[arg(long, value_name = "RATE", conflicts_with = "frames")]
    rate: Option<Rate>,
    /// On each connection 60 frames a second with this mean rate, each of which must arrive within the deadline:
    /// 20Mbit/s,40ms.
    #[arg(long, value_name = "RATE,DEADLINE")]
    frames: Option<String>,
}

#[derive(Debug, clap::Args)]
struct How {
    /// The congestion control of the sender, at whichever end that is [default: the server's].
    #[arg(long, value_name = "SCHEME")]
    scheme: Option<String>,
    /// Connections at once.
    #[arg(long, short = 'P', value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_CONNECTIONS)))]
    connections: u16,
    /// Streams in each connection; a stream has at most 2 MB under way.
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_STREAMS)))]
    streams: u16,
}

#[derive(Debug, clap::Args)]
struct Who {
    /// The server's certificate must have this fingerprint; `cellcc serve` prints it.
    #[arg(long, value_name = "FINGERPRINT", conflicts_with_all = ["ca", "insecure"])]
    pin: Option<Fingerprint>,
    /// The server's certificate must be of one of these authorities, in PEM.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    ca: Option<PathBuf>,
    /// Any certificate will do: whoever is on the path may answer instead of the server.
    #[arg(long)]
    insecure: bool,
    /// The certificate to show to the server, in PEM, where it wants one.
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Shown {
    /// How often it is told how it goes [default: 1s; 250ms with --watch].
    #[arg(long, short, value_name = "TIME")]
    interval: Option<Span>,
    /// JSON lines on standard output in place of lines and table.
    #[arg(long)]
    json: bool,
    /// A live view: rate, RTT, window, and what the scheme shows of its inside.
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Write the Record, as `cellcc compare` has them in runs.jsonl, and FILE.series.csv beside it.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write what each data connection does to a qlog file in this folder.
    #[arg(long, value_name = "FOLDER")]
    qlog: Option<PathBuf>,
    /// Nothing on standard error but errors.
    #[arg(long, short)]
    quiet: bool,
}

/// Where the server is, and a path there.
#[derive(Debug, Clone)]
pub(crate) struct Url {
    host: String,
    port: u16,
    /// Without the `/` at its beginning.
    pub(crate) path: String,
}

/// The port of `cellcc serve`.
const USUAL_PORT: u16 = 4433;
/// As iperf3's.
const USUAL_TIME: Span = Span::from_secs(10);
const USUAL_INTERVAL: Span = Span::from_secs(1);
const WATCH_INTERVAL: Span = Span::from_millis(250);

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no address of a server; write quic://HOST:PORT or quic://HOST:PORT/PATH");
        let rest = text.strip_prefix("quic://").unwrap_or(text);
        if rest.contains("://") {
            return Err(wrong());
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (host, port) = v6.split_once(']').ok_or_else(wrong)?;
                (host, port.strip_prefix(':'))
            }
            None => match authority.split_once(':') {
                Some((_, port)) if port.contains(':') => {
                    return Err(format!(
                        "`{text}`: write an IPv6 address in brackets: quic://[2001:db8::1]:4433"
                    ));
                }
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = port.map_or(Ok(USUAL_PORT), |port| port.parse().map_err(|_| wrong()))?;
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Self { host: host.into(), port, path: path.into() })
    }
}

impl Made {
    /// What is made up to be sent.
    pub(crate) fn payload(&self) -> Result<Payload, Exit> {
        let text = match (self.bytes, self.rate, &self.frames) {
            (Some(bytes), ..) => format!("sized({bytes})"),
            (_, Some(rate), _) => format!("rate({rate})"),
            (.., Some(frames)) => format!("frames({frames})"),
            _ => "bulk".into(),
        };
        let source: Source = text.parse().map_err(Exit::input)?;
        if self.time.is_some_and(Span::is_zero) {
            return Err(Exit::input("--time: a transfer lasts longer than that"));
        }
        let time = match source {
            Source::Sized(_) => self.time,
            _ => Some(self.time.unwrap_or(USUAL_TIME)),
        };
        Ok(Payload::Made { source, time })
    }

    /// A file is as long as it is.
    pub(crate) fn refuse_with_file(&self) -> Result<(), Exit> {
        let given = [
            ("--time", self.time.is_some()),
            ("--bytes", self.bytes.is_some()),
            ("--rate", self.rate.is_some()),
            ("--frames", self.frames.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((flag, _)) => {
                Err(Exit::input(format!("{flag} does not go with a file, which is as long as it is")))
            }
            None => Ok(()),
        }
    }
}

/// What is wanted.
pub(crate) struct Asked {
    pub(crate) url: Url,
    pub(crate) direction: Direction,
    pub(crate) payload: Payload,
    pub(crate) file: Option<PathBuf>,
    /// At the end that sends.
    pub(crate) advice: advice::Args,
}

/// Transfers, and says how it went.
pub(crate) fn run(asked: Asked, common: Common) -> Result<ExitCode, Exit> {
    let (mut settings, advice) = settings(asked, &common)?;
    if let Some(path) = &common.shown.record {
        // Better now than after the transfer.
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| Exit::input(format!("--record: cannot write {}: {error}", path.display())))?;
    }
    let mut display = Display::new(&common.shown);
    let runtime = runtime()?;
    settings.adviser = runtime.block_on(advice.adviser())?;
    let outcome = runtime.block_on(async {
        let stop = signals();
        cellcc_quic::transfer::transfer(&settings, stop, &mut |progress| display.show(progress)).await
    });
    display.close();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(TransferError::Interrupted) => return Err(Exit::Interrupted),
        Err(error) => return Err(exit(error)),
    };
    if let Some(path) = &common.shown.record {
        write_record(path, &outcome)?;
    }
    display.end(&outcome)?;
    if outcome.is_interrupted() { Err(Exit::Interrupted) } else { Ok(ExitCode::SUCCESS) }
}

/// What the flags say, but for the adviser, who needs a runtime.
fn settings(asked: Asked, common: &Common) -> Result<(ClientSettings, advice::Args), Exit> {
    let Asked { url, direction, payload, file, advice } = asked;
    let Common { how, who, shown, .. } = common;
    let interval = shown.interval.unwrap_or(if shown.watch { WATCH_INTERVAL } else { USUAL_INTERVAL });
    if interval < MIN_INTERVAL {
        return Err(Exit::input(format!("--interval {interval}: the shortest is {MIN_INTERVAL}")));
    }
    let scheme = how.scheme.as_deref().map(|text| {
        Congestion::named(text)
            .map(|congestion| congestion.scheme().text().to_owned())
            .map_err(|error| Exit::input(format!("--scheme: {error}")))
    });
    let trust = match (who.pin, &who.ca, who.insecure) {
        (Some(pin), ..) => Trust::Pin(pin),
        (_, Some(path), _) => Trust::Authorities(path.clone()),
        (.., true) => Trust::Anyone,
        _ => {
            return Err(Exit::input(
                "which certificate may the server have? Give --pin with the fingerprint that `cellcc serve` prints, \
                 --ca with the authorities' certificates, or --insecure",
            ));
        }
    };
    let identity = match (&who.cert, &who.key) {
        (Some(certificate), Some(key)) => Some(Identity::load(certificate, key).map_err(exit)?),
        _ => None,
    };
    let unknown = |why: String| Exit::input(format!("{}:{}: {why}", url.host, url.port));
    let server = (url.host.as_str(), url.port)
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?
        .next()
        .ok_or_else(|| unknown("the name has no address".into()))?;
    let settings = ClientSettings {
        server,
        server_name: url.host.clone(),
        trust,
        identity,
        request: Request {
            version: VERSION,
            direction,
            payload,
            scheme: scheme.transpose()?,
            connections: how.connections,
            streams: how.streams,
            interval,
        },
        file,
        qlog: qlog(shown.qlog.clone())?,
        adviser: None,
    };
    Ok((settings, advice))
}

/// The folder for qlog files, which is tried out.
pub(crate) fn qlog(folder: Option<PathBuf>) -> Result<Option<Directory>, Exit> {
    let directory = folder.map(Directory::new).transpose();
    directory.map_err(|error| Exit::input(format!("--qlog: {error}")))
}

/// What reads clocks and sockets.
pub(crate) fn runtime() -> Result<Runtime, Exit> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Exit::failed(format!("cannot start threads: {error}")))
}

/// True after the first interrupt; the second one ends the program.
pub(crate) fn signals() -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        interrupt().await;
        sender.send_replace(true);
        interrupt().await;
        tell("ended at once");
        // Destructors would wait for transfers; the kernel takes all back.
        std::process::exit(INTERRUPTED);
    });
    receiver
}

/// 128 and the number of SIGINT, as shells have it.
const INTERRUPTED: i32 = 130;

async fn interrupt() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let ends =
            signal(SignalKind::interrupt()).and_then(|int| Ok((int, signal(SignalKind::terminate())?)));
        if let Ok((mut int, mut term)) = ends {
            tokio::select! {
                _ = int.recv() => {}
                _ = term.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

pub(crate) fn exit(error: TransferError) -> Exit {
    if error.is_input() { Exit::input(error) } else { Exit::failed(error) }
}

fn write_record(path: &Path, outcome: &Outcome) -> Result<(), Exit> {
    let record = outcome.record();
    let mut beside = path.as_os_str().to_owned();
    beside.push(".series.csv");
    let text = serde_json::to_string(&record).map_err(Exit::failed)? + "\n";
    for (path, text) in [(path, text), (Path::new(&beside), record.series.to_csv())] {
        fs::write(path, text)
            .map_err(|error| Exit::failed(format!("cannot write {}: {error}", path.display())))?;
    }
    Ok(())
}

/// How a transfer is shown.
struct Display {
    kind: Kind,
    /// Standard output is closed, or cannot be written.
    failure: Option<Exit>,
}

enum Kind {
    Lines { has_header: bool },
    Json,
    Watch(Watch),
    Quiet,
}

impl Display {
    fn new(shown: &Shown) -> Self {
        let watch = || Watch::new().map_or(Kind::Lines { has_header: false }, Kind::Watch);
        let kind = match shown {
            Shown { json: true, .. } => Kind::Json,
            Shown { quiet: true, .. } => Kind::Quiet,
            Shown { watch: true, .. } => watch(),
            _ => Kind::Lines { has_header: false },
        };
        Self { kind, failure: None }
    }

    fn show(&mut self, progress: Progress) {
        match (&mut self.kind, progress) {
            (Kind::Quiet, _) => {}
            (Kind::Json, Progress::Started(started)) => self.json(&start_json(started)),
            (Kind::Json, Progress::Interval(interval)) => self.json(&interval_json(interval)),
            (Kind::Watch(watch), Progress::Started(started)) => watch.start(started),
            (Kind::Watch(watch), Progress::Interval(interval)) => watch.show(interval),
            (Kind::Lines { .. }, Progress::Started(started)) => tell(&introduction(started)),
            (Kind::Lines { has_header }, Progress::Interval(interval)) => {
                if !std::mem::replace(has_header, true) {
                    tell("   Time, s     Received     Mbit/s     RTT, ms         cwnd    Lost");
                }
                tell(&line(interval));
            }
        }
    }

    fn json(&mut self, value: &serde_json::Value) {
        if self.failure.is_none() {
            self.failure = print(&value.to_string()).err();
        }
    }

    /// Leaves the terminal as it was.
    fn close(&mut self) {
        if let Kind::Watch(watch) = &self.kind {
            watch.close();
        }
    }

    fn end(mut self, outcome: &Outcome) -> Result<(), Exit> {
        if matches!(self.kind, Kind::Json) {
            self.json(&end_json(outcome));
        } else {
            self.failure = print(&summary(outcome)).err();
        }
        self.failure.map_or(Ok(()), Err)
    }
}

pub(crate) fn introduction(started: &Started) -> String {
    let Started { server, software, scheme, connections, streams } = started;
    let are = if *connections == 1 { "connection" } else { "connections" };
    format!("{server} ({software}): {connections} {are} of {streams} streams, sent by {scheme}")
}

fn line(interval: &Interval) -> String {
    let real = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.1}"));
    format!(
        "{:>10} {:>12} {:>10.1} {:>11} {:>12} {:>7}",
        format!("{:.1}-{:.1}", interval.from.as_secs_f64(), interval.to.as_secs_f64()),
        amount(interval.received),
        interval.goodput().as_mbit_per_sec(),
        real(interval.rtt_ms()),
        amount(interval.window()),
        interval.lost_packets,
    )
}

/// An amount with three significant digits or so.
pub(crate) fn amount(bytes: Bytes) -> String {
    let value = bytes.as_f64();
    match bytes.get() {
        0..=999 => format!("{value:.0} B"),
        1_000..=999_999 => format!("{:.1} kB", value / 1e3),
        1_000_000..=999_999_999 => format!("{:.2} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}

fn start_json(started: &Started) -> serde_json::Value {
    let mut value = json!(started);
    value["event"] = "start".into();
    value
}

fn interval_json(interval: &Interval) -> serde_json::Value {
    let flows = interval.flows.iter().map(|flow| {
        let sender = flow.sender.as_ref();
        json!({
            "received_bytes": flow.received.get(),
            "rtt_ms": sender.and_then(|it| it.rtt_ms),
            "min_rtt_ms": sender.and_then(|it| it.min_rtt_ms),
            "cwnd_bytes": sender.map(|it| it.window.get()),
            "inflight_bytes": sender.map(|it| it.inflight.get()),
            "pacing_rate_mbit_s": sender.and_then(|it| Some(it.pacing_rate?.as_mbit_per_sec())),
            "sent_packets": sender.map(|it| it.sent_packets),
            "lost_packets": sender.map(|it| it.lost_packets),
            "internals": sender.map(|it| &it.internals),
        })
    });
    let flows: Vec<_> = flows.collect();
    json!({
        "event": "interval",
        "from_s": interval.from.as_secs_f64(),
        "to_s": interval.to.as_secs_f64(),
        "received_bytes": interval.received.get(),
        "goodput_mbit_s": interval.goodput().as_mbit_per_sec(),
        "rtt_ms": interval.rtt_ms(),
        "cwnd_bytes": interval.window().get(),
        "inflight_bytes": interval.inflight().get(),
        "pacing_rate_mbit_s": interval.pacing_rate_mbit_s(),
        "lost_packets": interval.lost_packets,
        "connections": flows,
    })
}

fn end_json(outcome: &Outcome) -> serde_json::Value {
    let rtt = outcome.rtt().summary();
    let (sent, lost) = outcome.packets();
    let frames = outcome.frames();
    json!({
        "event": "end",
        "interrupted": outcome.is_interrupted(),
        "seconds": outcome.active().as_secs_f64(),
        "received_bytes": outcome.received().get(),
        "goodput_mbit_s": outcome.goodput().as_mbit_per_sec(),
        "rtt_mean_ms": rtt.map(|rtt| rtt.mean_ms),
        "rtt_p50_ms": rtt.map(|rtt| rtt.p50_ms),
        "rtt_p95_ms": rtt.map(|rtt| rtt.p95_ms),
        "rtt_p99_ms": rtt.map(|rtt| rtt.p99_ms),
        "rtt_max_ms": rtt.map(|rtt| rtt.max_ms),
        "sent_packets": sent,
        "lost_packets": lost,
        "frames": frames.map(|(frames, _)| frames),
        "deadline_miss_ratio": frames.map(|(_, missed)| missed),
    })
}

/// The table at the end.
fn summary(outcome: &Outcome) -> String {
    let rtt = outcome.rtt().summary();
    let (sent, lost) = outcome.packets();
    let percent = |part: u64, whole: u64| part as f64 * 100.0 / whole.max(1) as f64;
    let mut rows = vec![
        ("scheme", outcome.started().scheme.clone()),
        ("received", format!("{} in {:.2} s", amount(outcome.received()), outcome.active().as_secs_f64())),
        ("goodput", format!("{:.2} Mbit/s", outcome.goodput().as_mbit_per_sec())),
    ];
    if let Some(rtt) = rtt {
        let text = format!("{:.2} / {:.2} / {:.2} ms", rtt.mean_ms, rtt.p50_ms, rtt.p95_ms);
        rows.push(("RTT mean / p50 / p95", text));
    }
    rows.push(("packets lost", format!("{lost} of {sent} ({:.3} %)", percent(lost, sent))));
    if let Some((frames, missed)) = outcome.frames() {
        rows.push(("frames late", format!("{:.2} % of {frames}", missed * 100.0)));
    }
    if outcome.is_interrupted() {
        rows.push(("interrupted", "yes".into()));
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    rows.into_iter().for_each(|(name, value)| _ = table.add_row([name.to_owned(), value]));
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_a_port_and_a_path() {
        let url: Url = "quic://[::1]:5000/a/b".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("::1", 5000, "a/b"));
        let url: Url = "server".parse().unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("server", USUAL_PORT, ""));
        for wrong in
            ["http://server", "quic://", "quic://server:0", "quic://server:port", "::1", "quic://[::1"]
        {
            assert!(wrong.parse::<Url>().is_err(), "{wrong}");
        }
    }
}

//! The arguments that `cellcc get` and `cellcc put` share, and their meaning.

use super::Asked;
use crate::exit::Exit;
use crate::grid::TextOrJson;
use crate::network::advice;
use crate::network::process::{exit, qlog};
use cellcc_experiment::Source;
use cellcc_quic::Congestion;
use cellcc_transfer::{
    ClientSettings, Fingerprint, Identity, MAX_CONNECTIONS, MAX_STREAMS, MIN_INTERVAL, Payload, Request,
    Trust, VERSION,
};
use cellcc_units::{Bytes, Rate, Span};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten, next_help_heading = "Data")]
    pub(crate) made: Made,
    #[command(flatten, next_help_heading = "Connection")]
    how: How,
    #[command(flatten, next_help_heading = "Trust (one of the first three)")]
    who: Who,
    #[command(flatten, next_help_heading = "Output")]
    pub(super) shown: Shown,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Made {
    /// Duration [default: 10s, unless --bytes is given].
    #[arg(long, short, alias = "time", short_alias = 't', value_name = "TIME")]
    duration: Option<Span>,
    /// Amount of data, all connections together, e.g. 100MB.
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["rate", "frames"])]
    bytes: Option<Bytes>,
    /// Constant rate on each connection, e.g. 5Mbit/s.
    #[arg(long, value_name = "RATE", conflicts_with = "frames")]
    rate: Option<Rate>,
    /// Send 60 frames per second on each connection, at this mean rate and with this deadline, e.g. 20Mbit/s,40ms.
    #[arg(long, value_name = "RATE,DEADLINE")]
    frames: Option<String>,
}

#[derive(Debug, clap::Args)]
struct How {
    /// Scheme of the sender, at either end [default: the server's].
    #[arg(long, value_name = "SCHEME")]
    scheme: Option<String>,
    /// Number of parallel connections.
    #[arg(long, short = 'P', value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_CONNECTIONS)))]
    connections: u16,
    /// Streams per connection; a stream has at most 2 MB in flight.
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_STREAMS)))]
    streams: u16,
}

#[derive(Debug, clap::Args)]
struct Who {
    /// Accept only a certificate with this fingerprint; `cellcc serve` prints it.
    #[arg(long, value_name = "FINGERPRINT", conflicts_with_all = ["ca", "insecure"])]
    pin: Option<Fingerprint>,
    /// Accept only certificates of these authorities, in PEM.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    ca: Option<PathBuf>,
    /// Accept any certificate. Insecure: an attacker on the path can impersonate the server.
    #[arg(long)]
    insecure: bool,
    /// Client certificate, in PEM, if the server requires one.
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Shown {
    /// Time between progress lines [default: 1s; 250ms with --watch].
    #[arg(long, short, value_name = "TIME")]
    interval: Option<Span>,
    #[command(flatten)]
    pub(super) format: TextOrJson,
    /// Show a live view: rate, RTT, window, and the scheme's internal values.
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub(super) watch: bool,
    /// Write the Record, as in runs.jsonl of `cellcc compare`, and FILE.series.csv.
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// Write one qlog file per data connection to this folder.
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Print only errors on standard error.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// As iperf3's.
const DEFAULT_TIME: Span = Span::from_secs(10);
const DEFAULT_INTERVAL: Span = Span::from_secs(1);
const WATCH_INTERVAL: Span = Span::from_millis(250);

impl Made {
    /// The generated data.
    pub(crate) fn payload(&self) -> Result<Payload, Exit> {
        let text = match (self.bytes, self.rate, &self.frames) {
            (Some(bytes), ..) => format!("sized({bytes})"),
            (_, Some(rate), _) => format!("rate({rate})"),
            (.., Some(frames)) => format!("frames({frames})"),
            _ => "bulk".into(),
        };
        let source: Source = text.parse().map_err(Exit::input)?;
        if self.duration.is_some_and(Span::is_zero) {
            return Err(Exit::input("--duration: a transfer lasts longer than 0s"));
        }
        let time = match source {
            Source::Sized(_) => self.duration,
            _ => Some(self.duration.unwrap_or(DEFAULT_TIME)),
        };
        Ok(Payload::Made { source, time })
    }

    /// A file is as long as it is.
    pub(crate) fn refuse_with_file(&self) -> Result<(), Exit> {
        let given = [
            ("--duration", self.duration.is_some()),
            ("--bytes", self.bytes.is_some()),
            ("--rate", self.rate.is_some()),
            ("--frames", self.frames.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((flag, _)) => {
                Err(Exit::input(format!("{flag} does not go with a file, which has its own length")))
            }
            None => Ok(()),
        }
    }
}

/// The settings of the flags, except for the advice, which needs a runtime.
pub(super) fn settings(asked: Asked, common: &Common) -> Result<(ClientSettings, advice::Args), Exit> {
    let Asked { url, direction, payload, file, advice } = asked;
    let Common { how, who, shown, .. } = common;
    let interval = shown.interval.unwrap_or(if shown.watch { WATCH_INTERVAL } else { DEFAULT_INTERVAL });
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
                "choose how to verify the server: --pin with the fingerprint that `cellcc serve` prints, --ca with the authorities' certificates, or --insecure",
            ));
        }
    };
    let identity = match (&who.cert, &who.key) {
        (Some(certificate), Some(key)) => Some(Identity::load(certificate, key).map_err(exit)?),
        _ => None,
    };
    let settings = ClientSettings {
        server: url.resolve()?,
        server_name: url.host,
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
        advice: None,
    };
    Ok((settings, advice))
}

//! The arguments that `cellcc get` and `cellcc put` share, and what they mean.

use super::Asked;
use crate::exit::Exit;
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
    #[command(flatten, next_help_heading = "What is transferred")]
    pub(crate) made: Made,
    #[command(flatten, next_help_heading = "How")]
    how: How,
    #[command(flatten, next_help_heading = "Whom to trust (one of the first three)")]
    who: Who,
    #[command(flatten, next_help_heading = "What is shown")]
    pub(super) shown: Shown,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Made {
    /// How long [default: 10s, unless the amount is given].
    #[arg(long, short, value_name = "TIME")]
    time: Option<Span>,
    /// How much, all connections together: 100MB.
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
    /// Accept any certificate. Insecure: anybody on the path can impersonate the server.
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
pub(super) struct Shown {
    /// How often progress is shown [default: 1s; 250ms with --watch].
    #[arg(long, short, value_name = "TIME")]
    interval: Option<Span>,
    /// JSON lines on standard output in place of lines and table.
    #[arg(long)]
    pub(super) json: bool,
    /// A live view: rate, RTT, window, and what the scheme shows of its inside.
    #[arg(long, conflicts_with = "json")]
    pub(super) watch: bool,
    /// Write the Record, as `cellcc compare` has them in runs.jsonl, and FILE.series.csv next to it.
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// Write what each data connection does to a qlog file in this folder.
    #[arg(long, value_name = "FOLDER")]
    qlog: Option<PathBuf>,
    /// Nothing on standard error but errors.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// As iperf3's.
const DEFAULT_TIME: Span = Span::from_secs(10);
const DEFAULT_INTERVAL: Span = Span::from_secs(1);
const WATCH_INTERVAL: Span = Span::from_millis(250);

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
            _ => Some(self.time.unwrap_or(DEFAULT_TIME)),
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

/// What the flags say, but for the advice, which needs a runtime.
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
                "which certificate may the server have? Give --pin with the fingerprint that `cellcc serve` prints, \
                 --ca with the authorities' certificates, or --insecure",
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

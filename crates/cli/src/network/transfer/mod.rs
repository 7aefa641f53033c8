//! `cellcc get`, a download, and `cellcc put`, an upload.

#![allow(clippy::disallowed_methods, reason = "a transfer takes real time")]

mod args;
mod display;
mod json;
pub(crate) mod serve;
#[cfg(target_os = "linux")]
pub(crate) mod server;
mod text;
mod watch;

use crate::exit::{Exit, unwritten};
use crate::network::advice;
use crate::network::process::{exit, runtime, signals};
use crate::network::url::Url;
use args::Common;
use cellcc_experiment::Record;
use cellcc_transfer::{Direction, Outcome, Payload};
use cellcc_units::output::WholeFile;
use cellcc_version::VERSION;
use display::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc get quic://server:4433 --pin sha256:...                    for 10 s
  cellcc get quic://server:4433 --pin ... --scheme 'reminis(dtt=40ms)' --watch
  cellcc get quic://server:4433 --pin ... --frames 20Mbit/s,40ms    as video
  cellcc get quic://server:4433/video.mp4 --pin ... -o video.mp4

Exit status: 0 when complete; 1 when the transfer failed, 2 for bad input, 130 when interrupted.")]
pub(crate) struct Get {
    /// The server, with the path of a file to download one: quic://HOST:PORT/PATH.
    #[arg(value_name = "URL")]
    url: Url,
    /// Output file [default: the name in the URL, in this folder].
    #[arg(long, short, alias = "output", value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn get(args: Get) -> Result<ExitCode, Exit> {
    let Get { url, out, common } = args;
    let (payload, file) = if url.path.is_empty() {
        if out.is_some() {
            return Err(Exit::input(
                "--out needs a file to download: write its path after the address, quic://HOST:PORT/PATH",
            ));
        }
        (common.made.payload()?, None)
    } else {
        common.made.refuse_with_file()?;
        let name = url.path.rsplit('/').next().filter(|name| !name.is_empty());
        let file = out
            .or(name.map(PathBuf::from))
            .ok_or_else(|| Exit::input(format!("`{}` names a folder; write the path of a file", url.path)))?;
        (Payload::File { name: url.path.clone(), bytes: None }, Some(file))
    };
    // The server sends, and knows whom to ask.
    let advice = advice::Args::default();
    run(Asked { url, direction: Direction::Get, payload, file, advice }, common)
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc put quic://server:4433 --pin sha256:... --duration 30s
  cellcc put quic://server:4433/video.mp4 --pin ... --file video.mp4

Exit status: 0 when complete; 1 when the transfer failed, 2 for bad input, 130 when interrupted.")]
pub(crate) struct Put {
    /// The server, with the path there for --file: quic://HOST:PORT/PATH.
    #[arg(value_name = "URL")]
    url: Url,
    /// Send this file, to the path of the URL or under its own name.
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Network assistance")]
    advice: advice::Args,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn put(args: Put) -> Result<ExitCode, Exit> {
    let Put { url, file, advice, common } = args;
    let payload = match &file {
        None if url.path.is_empty() => common.made.payload()?,
        None => return Err(Exit::input(format!("/{}: name the file to send with --file", url.path))),
        Some(file) => {
            common.made.refuse_with_file()?;
            let own = file.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = Some(url.path.clone()).filter(|path| !path.is_empty()).or(own);
            let name = name.ok_or_else(|| Exit::input(format!("{} is not a file", file.display())))?;
            Payload::File { name, bytes: None }
        }
    };
    run(Asked { url, direction: Direction::Put, payload, file, advice }, common)
}

/// The request.
struct Asked {
    url: Url,
    direction: Direction,
    payload: Payload,
    file: Option<PathBuf>,
    /// At the end that sends.
    advice: advice::Args,
}

/// Transfers, and says how it went.
fn run(asked: Asked, common: Common) -> Result<ExitCode, Exit> {
    let (mut settings, advice) = args::settings(asked, &common)?;
    // Better now than after the transfer.
    let record = common.shown.record.as_deref().map(RecordFiles::create).transpose()?;
    let mut display = Display::new(&common.shown);
    let runtime = runtime()?;
    settings.advice = runtime.block_on(advice.config())?;
    let outcome = runtime.block_on(async {
        let stop = signals();
        cellcc_transfer::transfer(&settings, stop, &mut |progress| display.show(progress)).await
    });
    display.close();
    let outcome = outcome.map_err(exit)?;
    if let Some(record) = record {
        record.write(&outcome)?;
    }
    display.end(&outcome)?;
    if outcome.is_interrupted() { Err(Exit::Interrupted) } else { Ok(ExitCode::SUCCESS) }
}

/// Where `--record` goes: the Record, and next to it its time series.
struct RecordFiles([(PathBuf, WholeFile); 2]);

impl RecordFiles {
    fn create(path: &Path) -> Result<Self, Exit> {
        let mut series = path.as_os_str().to_owned();
        series.push(".series.csv");
        let file = |path: PathBuf| match WholeFile::named(&path) {
            Ok(file) => Ok((path, file)),
            Err(error) => Err(Exit::input(format!("--record: cannot write {}: {error}", path.display()))),
        };
        Ok(Self([file(path.into())?, file(series.into())?]))
    }

    fn write(self, outcome: &Outcome) -> Result<(), Exit> {
        let record = Record { version: VERSION.into(), ..outcome.record() };
        let text = serde_json::to_string(&record).map_err(Exit::failed)? + "\n";
        for ((path, file), text) in self.0.into_iter().zip([text, record.series.to_csv()]) {
            file.fill(|out| out.write_all(text.as_bytes())).map_err(|error| unwritten(&path, &error))?;
        }
        Ok(())
    }
}

//! What `cellcc get` and `cellcc put` have in common.

#![allow(clippy::disallowed_methods, reason = "a transfer takes real time")]

mod args;
mod display;
pub(crate) mod get;
mod json;
pub(crate) mod put;
pub(crate) mod serve;
#[cfg(target_os = "linux")]
pub(crate) mod server;
mod text;
mod watch;

pub(crate) use args::Common;

use crate::exit::{Exit, unwritten};
use crate::network::advice;
use crate::network::process::{exit, runtime, signals};
use crate::network::url::Url;
use cellcc_experiment::Record;
use cellcc_transfer::{Direction, Outcome, Payload};
use cellcc_units::output::WholeFile;
use cellcc_version::VERSION;
use display::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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

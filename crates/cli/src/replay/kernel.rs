//! Decisions of the schemes in the kernel's TCP, recorded there and repeated in user space.

#![allow(clippy::disallowed_methods, reason = "a recording takes real time")]

use super::named;
use crate::exit::{Exit, print, tell};
use crate::interrupt::on_interrupt_or_hangup;
use crate::network::tcp::Where;
use cellcc_control::event_log::{Header, StepReader, StepWriter};
use cellcc_kernel::{Difference, Pins, Recorder, Verified, verify};
use cellcc_units::Span;
use cellcc_units::output::WholeFile;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  cellcc replay record decisions.capture --duration 10s")]
pub(crate) struct Args {
    /// Output file; an existing one is replaced at the end.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Duration [default: until interrupted].
    #[arg(long, short, value_name = "TIME")]
    duration: Option<Span>,
    #[command(flatten)]
    place: Where,
}

/// A file that remembers its first error, which an event log does not report.
#[derive(Clone)]
struct Watched {
    file: Arc<Mutex<WholeFile>>,
    error: Arc<Mutex<Option<io::Error>>>,
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.lock().unwrap_or_else(PoisonError::into_inner).write(bytes);
        if let Err(error) = &written {
            let copy = io::Error::new(error.kind(), error.to_string());
            self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(copy);
        }
        written
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let named = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", args.file.display());
    let recorder = Recorder::start(&Pins::new(&args.place.pins))?;
    let file = WholeFile::named(&args.file).map_err(|error| Exit::input(named(&error)))?;
    let watched = Watched { file: Arc::new(Mutex::new(file)), error: Arc::default() };
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    on_interrupt_or_hangup(move || flag.store(true, Ordering::Relaxed))?;

    tell(&format!("recording {}; Ctrl-C ends it", recorder.schemes()));
    let began = Instant::now();
    let failed = Arc::clone(&watched.error);
    let is_over = || {
        let is_late = args.duration.is_some_and(|limit| began.elapsed().as_secs_f64() >= limit.as_secs_f64());
        let has_failed = failed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        is_late || has_failed || interrupted.load(Ordering::Relaxed)
    };
    let mut writer = StepWriter::new(Box::new(watched.clone()), recorder.schemes());
    let recorded = recorder.run(&mut writer, is_over)?;
    drop(writer);
    let failure = watched.error.lock().unwrap_or_else(PoisonError::into_inner).take();
    let file = Arc::into_inner(watched.file).expect("the writer was the only other one");
    let file = file.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or_else(|| file.finish(), Err).map_err(|error| Exit::failed(named(&error)))?;
    tell(&format!("{} steps in {}", recorded.steps, args.file.display()));
    if recorded.missed > 0 {
        tell(&format!(
            "warning: {} steps came faster than they could be written, and are missing; the others are whole",
            recorded.missed
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Repeats the decisions of a capture, and says whether one differs.
pub(super) fn differs(steps: StepReader<impl io::Read>, is_json: bool, path: &Path) -> Result<bool, Exit> {
    let header = steps.header().clone();
    let verified = verify(steps).map_err(|error| named(path, error))?;
    print(&if is_json { as_json(&header, &verified).to_string() } else { as_text(&verified) })?;
    Ok(verified.difference.is_some())
}

fn as_text(verified: &Verified) -> String {
    if let Some(difference) = &verified.difference {
        return described(difference);
    }
    let counts: Vec<_> = verified.steps.iter().map(|(core, count)| format!("{count} of {core}")).collect();
    format!("identical: {}", if counts.is_empty() { "no step".into() } else { counts.join(", ") })
}

fn as_json(header: &Header, verified: &Verified) -> Value {
    let difference = verified.difference.as_ref().map(|difference| {
        json!({
            "step": difference.number,
            "core": difference.core,
            "socket": difference.socket.to_string(),
            "given": difference.given,
            "recorded": difference.recorded,
            "replayed": difference.decided,
        })
    });
    json!({
        "recorded_scheme": header.scheme,
        "code_version": header.code,
        "steps": verified.steps.iter().map(|(core, count)| ((*core).to_owned(), json!(count))).collect::<Value>(),
        "identical": difference.is_none(),
        "difference": difference,
    })
}

/// The input, and each line of the decision that differs.
fn described(difference: &Difference) -> String {
    let Difference { number, core, socket, given, recorded, decided } = difference;
    let mut text = format!("different: step {number}, {core}, {socket}\ngiven: {given}\n");
    for (recorded, decided) in recorded.lines().zip(decided.lines()).filter(|(kernel, here)| kernel != here) {
        let _ = writeln!(text, "kernel:     {}\nuser space: {}", recorded.trim(), decided.trim());
    }
    text
}

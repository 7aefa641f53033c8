//! `cellcc video`: schemes tested with a video, a page or frames in a real browser over an emulated link.
//!
//! Each run is a `cellcc shell` with `cellcc serve --http` outside and Chromium inside; the page reports on Chromium's standard
//! error.

mod link;
mod outcome;
mod records;
mod session;
mod site;

use crate::conditions;
use crate::exit::{Exit, tell, unwritten, write_file};
use crate::free_folder::{first_free, numbered};
use crate::interrupt::on_interrupt_or_hangup;
use crate::present::{self, HeldAgainst, Shown};
use cellcc_control::split_list;
use cellcc_emu::guard::Guard;
use cellcc_experiment::Source;
use cellcc_http3::MAX_FRAME_BYTES;
use cellcc_report::TableFormat;
use cellcc_runner::OutputFolder;
use cellcc_units::{ParseError, Rate, Span};
use outcome::Run;
use serde::{Deserialize, Serialize};
use session::{Event, Server, Session};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Schemes take turns, each run from the same moment of the trace. Runs that the machine disturbed are invalid: they are marked, left out of \
averages and counted in the last line, and the exit status is 1. --resume continues after an interrupt, repeats invalid runs, and adds \
runs for a larger --runs.

Needs chromium; for a video also dash.js and, without --clip, ffmpeg, which makes one; for tcp: also nginx.

Examples:
  cellcc video --down lte-drive --rtt 40ms --schemes cubic,bbr,tide --player dash.all.min.js
  cellcc video --down lte-drive --rtt 40ms --schemes cubic,tcp:cubic --page
  cellcc video --down 5g-mmwave-walk --schemes bbr,tide --frames 20Mbit/s --duration 30s")]
pub(crate) struct Args {
    /// Capacity towards the browser: a trace file, a synthetic link, or a rate such as 100Mbit/s.
    #[arg(long, value_name = "FILE|NAME|RATE")]
    down: String,
    #[command(flatten)]
    path: conditions::Flags<true>,
    /// The server's schemes, comma-separated; tcp:NAME is nginx with that congestion control of the kernel. Assisted schemes
    /// receive the trace's recent rate.
    #[arg(long, short, value_name = "LIST")]
    schemes: String,
    /// Runs per scheme; fewer than ten give no intervals.
    #[arg(long, default_value_t = 10, value_name = "COUNT")]
    runs: u32,
    /// Duration of each run; with --page, the longest load time.
    #[arg(long, short, default_value = "2min", value_name = "TIME")]
    duration: Span,
    /// Load a page of 100 images, 2 MB in all, instead.
    #[arg(long, conflicts_with_all = ["frames", "clip", "player"])]
    page: bool,
    /// Send 60 frames per second over WebTransport instead, at this rate.
    #[arg(long, value_name = "RATE", value_parser = rate_of_frames, conflicts_with_all = ["clip", "player"])]
    frames: Option<Rate>,
    /// Folder with manifest.mpd and its segments [default: one of the duration is made, and kept].
    #[arg(long, value_name = "DIR")]
    clip: Option<PathBuf>,
    /// Player: dash.all.min.js of dash.js 5.
    #[arg(long, value_name = "FILE")]
    player: Option<PathBuf>,
    /// Output folder [default: the first free one of cellcc-out/video, video-2, ...].
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run the missing and invalid runs of --out.
    #[arg(long, requires = "out")]
    resume: bool,
    #[command(flatten, next_help_heading = "Output")]
    shown: Shown,
}

/// The settings of all runs; --resume requires the same ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Setup {
    down: String,
    /// The path's flags, as `cellcc shell` takes them.
    path: Vec<String>,
    duration: Span,
    what: What,
}

/// The browser's task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    Film,
    Page,
    Frames(Rate),
}

/// The finished runs, one per line.
const RUNS: &str = "runs.jsonl";
const SETUP: &str = "setup.json";
/// Results in the form of `cellcc compare`, for `cellcc report`, `runs`, `plot` and `export`.
const REPORT: &str = "report";

/// A rate whose frames a server sends.
fn rate_of_frames(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error: ParseError| error.to_string())?;
    let [least, most] =
        [1, MAX_FRAME_BYTES].map(|bytes| Rate::from_bytes_per_sec(bytes as u64 * Source::FRAMES_PER_SECOND));
    if (least..=most).contains(&rate) {
        Ok(rate)
    } else {
        Err(format!("{} frames a second have a rate of {least} to {most}", Source::FRAMES_PER_SECOND))
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Exit> {
    let mut guard = Guard::start()?;
    let servers: Vec<Server> =
        split_list(&args.schemes).into_iter().map(Server::parse).collect::<Result<_, _>>()?;
    if args.frames.is_some() && servers.iter().any(|server| matches!(server, Server::Tcp(_))) {
        return Err(Exit::input("--frames: WebTransport needs HTTP/3; leave tcp: out of --schemes"));
    }
    let setup = Setup {
        down: args.down.clone(),
        path: args.path.words(),
        duration: args.duration,
        what: match args.frames {
            Some(rate) => What::Frames(rate),
            None if args.page => What::Page,
            None => What::Film,
        },
    };
    args.shown.check()?;
    let out = folder(args, &setup)?;
    let site = site::make(&out.join("site"), &setup, args.clip.as_deref(), args.player.as_deref())?;
    // Until the end: another process that goes on with the same runs is refused.
    let report = OutputFolder::create(&out.join(REPORT))?;
    let mut runs = sound(&out)?;
    let (sender, events) = mpsc::channel();
    let interrupts = sender.clone();
    on_interrupt_or_hangup(move || _ = interrupts.send(Event::Interrupted))?;
    let session = Session::new(&setup, &site, &mut guard, sender, events)?;
    let plan = (1..=args.runs).flat_map(|run| servers.iter().map(move |server| (run, server)));
    let missing: Vec<_> =
        plan.filter(|(run, server)| !runs.iter().any(|done| done.is(*run, &server.text()))).collect();
    let say = |line: &str| {
        if !args.shown.quiet {
            tell(line);
        }
    };
    say(&format!(
        "runs: {}, about {} min, in {}",
        missing.len(),
        session.minutes(missing.len()),
        out.display()
    ));
    for (run, server) in missing {
        let done = session.run(run, server)?;
        say(&done.line());
        append(&out.join(RUNS), &done)?;
        runs.push(done);
    }
    let report = records::write(report, &runs, &args.down, &args.path, args.duration)?;
    present::results(&report, TableFormat::Table, HeldAgainst::ByPlan, &args.shown)?;
    let judged = runs.iter().filter(|run| run.sound().is_some()).count();
    let spoilt = runs.len() - judged;
    if spoilt > 0 {
        tell(&format!(
            "runs: {judged} judged, {spoilt} spoilt, which no average has; --resume runs them again, with the same flags and --out"
        ));
        return Err(Exit::FailedRuns);
    }
    say(&format!("runs: {judged} judged, none spoilt"));
    Ok(ExitCode::SUCCESS)
}

/// The folder of the results, with the setup in it.
fn folder(args: &Args, setup: &Setup) -> Result<PathBuf, Exit> {
    let folder = match &args.out {
        None => first_free(numbered("cellcc-out/video"))?,
        Some(out) if args.resume => {
            let path = out.join(SETUP);
            let text = fs::read_to_string(&path)
                .map_err(|error| Exit::input(format!("--resume: {}: {error}", path.display())))?;
            let of_old: Setup = serde_json::from_str(&text).map_err(Exit::input)?;
            if of_old != *setup {
                return Err(Exit::input(format!(
                    "--resume: {} has other runs: {text}; repeat their flags, or choose another --out",
                    out.display()
                )));
            }
            return Ok(out.clone());
        }
        Some(out) => crate::free_folder::new_folder(out)?,
    };
    let text = serde_json::to_string(setup).map_err(Exit::failed)?;
    let path = folder.join(SETUP);
    write_file(&path, text)?;
    Ok(folder)
}

/// The runs that ended earlier, except invalid ones.
fn sound(out: &Path) -> Result<Vec<Run>, Exit> {
    let text = fs::read_to_string(out.join(RUNS)).unwrap_or_default();
    // The last line is not whole where the machine stopped in the middle of it.
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let runs: Result<Vec<Run>, _> = lines.map(serde_json::from_str).collect();
    Ok(runs.map_err(Exit::input)?.into_iter().filter(|run| run.sound().is_some()).collect())
}

fn append(path: &Path, run: &Run) -> Result<(), Exit> {
    let line = serde_json::to_string(run).map_err(Exit::failed)? + "\n";
    let mut file =
        OpenOptions::new().create(true).append(true).open(path).map_err(|error| unwritten(path, &error))?;
    file.write_all(line.as_bytes()).map_err(|error| unwritten(path, &error))
}

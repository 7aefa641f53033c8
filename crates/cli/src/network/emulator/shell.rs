//! `cellcc shell`: a program whose traffic crosses an emulated link. Its flags are a Scenario's path.

use crate::conditions;
use crate::exit::Exit;
use crate::network::emulator::emulated::{self, Asked, How, MOST_USERS};
use cellcc_emu::log::{LogHeader, LogSpec};
use cellcc_emu::mahimahi::Chain;
use cellcc_emu::stage::{Stage, Stages};
use cellcc_experiment::conditions::Command;
use cellcc_experiment::{CellSetup, DEFAULT_DRIVER, Offset, PlanFile, Scenario};
use cellcc_link::{Capacity, Queue, TraceCache};
use cellcc_runner::{Request, ranges, traces};
use cellcc_units::{Bytes, Span};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// "Down" is the direction to the command, as to a phone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Data packets go to the command; the reverse path carries the packets from it. Without flags and Scenario, \
neither direction has a rate limit or delay, and each queue holds 3200pkt. --queue applies to both directions \
unless --up-queue is given, and --rtt is split equally between them. Without --cell, all --users have the \
channel of --down and are served in turn.

Examples:
  cellcc shell --down lte-drive --up 20Mbit/s --rtt 40ms -- \\
      sh -c 'curl http://$MAHIMAHI_BASE:8000/file'
  cellcc shell --down 5g-mmwave-walk --rtt 20ms --server 'iperf3 -s' -- \\
      sh -c 'iperf3 -R -c $MAHIMAHI_BASE'
  cellcc shell --scenario scenarios/quick-start.toml

The command reaches the outside at the address in $MAHIMAHI_BASE ($CELLCC_BASE6 for IPv6). Without a command, \
a shell opens.

A first SIGTERM or SIGINT is passed on to the command, a second one kills it. Its child processes end with it.

Exit status: that of the command; 3 if the emulator could not keep up (it says so); 2 for bad input; 1 if the \
emulator or the server fails.")]
pub(crate) struct Args {
    /// Capacity towards the command: a trace file, a synthetic link, or a rate such as 100Mbit/s [default: no limit].
    #[arg(long, value_name = "FILE|NAME|RATE")]
    down: Option<String>,
    #[command(flatten)]
    path: conditions::Flags<true>,
    /// Number of users behind one base station, each with its own queue and channel; the command runs once per user,
    /// distinguished by $CELLCC_USER.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=MOST_USERS as i64))]
    users: Option<u16>,
    /// Seed of random losses and delays.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Scenario file in TOML, for its path, cell and first trace; flags override it.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Log the packets to the command, in Mahimahi's format, for `cellcc graph`.
    #[arg(long, value_name = "FILE")]
    down_log: Option<PathBuf>,
    /// Log the packets from the command.
    #[arg(long, value_name = "FILE")]
    up_log: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Emulation")]
    how: How,
    /// The program and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Exit> {
    let guard = emulated::prepare()?;
    let scenario = scenario(&args)?;
    let traces = TraceCache::default();
    let users = scenario.cell.iter().flat_map(|cell| &cell.users);
    let channels: Vec<_> = std::iter::once(&scenario.trace).chain(users).collect();
    let capacities =
        traces.open_all(channels.iter().copied(), &scenario.path.reverse.trace).map_err(Exit::input)?;
    let Stages { up, down } = Stages::new(&scenario, &capacities).map_err(Exit::input)?;
    let header = |link: &str, trace: &str, queue: &Queue| LogHeader {
        link: link.into(),
        trace: trace.into(),
        command_line: std::env::args().collect::<Vec<_>>().join(" "),
        queue: queue.to_string(),
        config: String::new(),
    };
    let path = &scenario.path;
    let down = logged(down, args.down_log, header("Downlink", &scenario.trace, &path.queue), "--down-log")?;
    let up = logged(up, args.up_log, header("Uplink", &path.reverse.trace, &path.reverse.queue), "--up-log")?;
    let prompt = "[cellcc] ".into();
    emulated::run(
        guard,
        Asked { up, down, users: channels.len(), command: args.command, prompt, how: args.how },
    )
}

/// Runs the command of a line of Mahimahi's shells behind them.
pub(crate) fn run_chain(chain: Chain) -> Result<ExitCode, Exit> {
    let guard = emulated::prepare()?;
    let Chain { up, down, command, prefix: prompt, .. } = chain;
    emulated::run(guard, Asked { up, down, users: 1, command, prompt, how: How::default() })
}

/// The Scenario's file, or none, with these flags. `--queue` is for both directions, unless that of the reverse path is given.
pub(crate) fn with_path(base: Option<Request>, flags: &conditions::Flags<true>) -> Result<PlanFile, Exit> {
    let mut given = flags.0.clone();
    if let Some(queue) = given.get("path.queue").filter(|_| !given.contains_key("path.reverse.queue")) {
        given.insert("path.reverse.queue".into(), queue.clone());
    }
    let base = base.unwrap_or_else(|| Request { file: Command::Shell.defaults(), name: String::new() });
    Ok(base.with(&given)?.file)
}

/// The path as a Scenario: that of the file, and over it the flags.
fn scenario(args: &Args) -> Result<Scenario, Exit> {
    let conditions::Flags(given) = &args.path;
    let file = with_path(args.scenario.as_deref().map(Request::read).transpose()?, &args.path)?;
    ranges::check_emulated(&file, Bytes::new(args.how.mtu.into()))?;
    let has_jitter = !file.path.jitter.is_zero() || file.path.correlated_jitter.is_some();
    if given.contains_key("path.jitter_reorders") && !has_jitter {
        return Err(Exit::input(
            "--jitter-reorders without --jitter changes nothing; write for example --jitter 5ms",
        ));
    }
    let PlanFile { path, cell, traces, endpoint, netassist, .. } = file;
    let trace = args.down.as_deref().map(traces::normal).or_else(|| traces.into_iter().next());
    let trace = trace.unwrap_or_else(|| format!("rate={}", Capacity::MAX_RATE));
    let cell = users(args, &trace, cell)?;
    Ok(Scenario {
        scheme: String::new(),
        variation: String::new(),
        driver: DEFAULT_DRIVER.into(),
        trace,
        trace_sha256: String::new(),
        seed: args.seed,
        offset: Offset::Fixed,
        trace_offset: Span::ZERO,
        duration: Span::ZERO,
        warm_up: Span::ZERO,
        path: path.into(),
        endpoint: endpoint.into(),
        netassist: netassist.into(),
        cell,
        flows: Vec::new(),
    })
}

fn users(args: &Args, trace: &str, cell: Option<CellSetup>) -> Result<Option<CellSetup>, Exit> {
    let Some(count) = args.users.map(usize::from) else { return Ok(cell) };
    match cell {
        Some(cell) if !cell.users.is_empty() && cell.users.len() + 1 != count => Err(Exit::input(format!(
            "--users {count}: the cell has channels for {} users besides user 0; name {} of them",
            cell.users.len(),
            count - 1
        ))),
        None if count == 1 => Ok(None),
        Some(cell) if !cell.users.is_empty() => Ok(Some(cell)),
        cell => {
            let scheduler = cell.map_or_else(|| "round-robin".into(), |cell| cell.scheduler);
            Ok(Some(CellSetup { scheduler, users: vec![trace.into(); count - 1] }))
        }
    }
}

/// The stages with a log of the first, which is the link.
fn logged(
    stages: Vec<Stage>,
    path: Option<PathBuf>,
    header: LogHeader,
    flag: &str,
) -> Result<Vec<Stage>, Exit> {
    let Some(path) = path else { return Ok(stages) };
    let mut logged = Vec::new();
    for (place, stage) in stages.into_iter().enumerate() {
        if place > 0 {
            logged.push(stage);
            continue;
        }
        let spec = LogSpec { path: path.clone(), header: header.clone() };
        let parts = stage.logged(spec).ok_or_else(|| {
            Exit::input(format!(
                "{flag}: a cell with several users has no log; leave it out, or have one user"
            ))
        })?;
        logged.extend(parts);
    }
    Ok(logged)
}

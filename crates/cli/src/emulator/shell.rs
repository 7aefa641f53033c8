//! `cellcc shell`: a program whose traffic crosses an emulated link. Its flags are a Scenario's path.

use crate::emulator::emulated::{self, Asked, How, MOST_USERS};
use crate::exit::Exit;
use cellcc_control::split_list;
use cellcc_emu::log::{LogHeader, LogSpec};
use cellcc_emu::mahimahi::Chain;
use cellcc_emu::path::{Stages, stages};
use cellcc_emu::stage::Stage;
use cellcc_experiment::{CellSetup, DEFAULT_DRIVER, Offset, PlanFile, Scenario};
use cellcc_link::{Capacity, Delay, LossRate, Queue, TraceCache};
use cellcc_runner::{Request, ranges, traces};
use cellcc_units::{Bytes, Ratio, Span};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// "Down" is towards the command, as towards a phone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cellcc shell --down lte-drive --up 20Mbit/s --rtt 40ms -- \\
      sh -c 'curl http://$MAHIMAHI_BASE:8000/file'
  cellcc shell --down 5g-mmwave-walk --rtt 20ms --server 'iperf3 -s' -- \\
      sh -c 'iperf3 -R -c $MAHIMAHI_BASE'
  cellcc shell --scenario scenarios/quick-start.toml

The command reaches the outside at the address in $MAHIMAHI_BASE ($CELLCC_BASE6 for IPv6). Without a command, a shell is
opened.

A first SIGTERM or SIGINT is passed on to the command, a second one kills it. What the command leaves running ends with it.

Exit status: that of the command; 3 where the emulator could not keep up, and says so; 2 for bad input, 1 where the
emulator or the server fails.")]
pub(crate) struct Args {
    /// Capacity towards the command: a trace file, the name of a synthetic link, or a rate such as 100Mbit/s; no limit
    /// where it is not given.
    #[arg(long, value_name = "FILE|NAME|RATE")]
    down: Option<String>,
    /// Capacity from the command to the outside, as --down.
    #[arg(long, value_name = "FILE|NAME|RATE")]
    up: Option<String>,
    /// Round-trip time without any queue, half of it in each direction: 20ms [default: 0].
    #[arg(long, value_name = "TIME")]
    rtt: Option<Span>,
    /// What the queue of each direction holds, and how: 3200pkt, 1.5MB, 100ms, unlimited, codel(...), pie(...), red(...),
    /// fq-codel(...), abc(...) [default: 3200pkt].
    #[arg(long, value_name = "QUEUE")]
    queue: Option<Queue>,
    /// The queue from the command to the outside, where it is another.
    #[arg(long, value_name = "QUEUE")]
    up_queue: Option<Queue>,
    /// Share of the packets to the command that are lost at random: 1%.
    #[arg(long, value_name = "SHARE")]
    loss: Option<Ratio>,
    /// Share of the packets from the command that are lost at random.
    #[arg(long, value_name = "SHARE")]
    up_loss: Option<Ratio>,
    /// Extra delay over time towards the command: DELAY@FOR,DELAY@FOR,... or @FILE.
    #[arg(long, value_name = "STEPS")]
    extra_delay: Option<String>,
    /// Extra random loss over time towards the command: SHARE@FOR,SHARE@FOR,... or @FILE.
    #[arg(long, value_name = "STEPS")]
    extra_loss: Option<String>,
    /// Each packet to the command is delayed at random by up to this.
    #[arg(long, value_name = "TIME")]
    jitter: Option<Span>,
    /// Let packets overtake each other through the jitter.
    #[arg(long, requires = "jitter")]
    jitter_reorders: bool,
    /// Share of the packets to the command that arrive later than others sent after them.
    #[arg(long, value_name = "SHARE")]
    reordered: Option<Ratio>,
    /// By how much later those arrive.
    #[arg(long, value_name = "TIME")]
    reordered_by: Option<Span>,
    /// Several users behind one base station, each with a queue and a channel of its own; the command runs once for
    /// each, told apart by $CELLCC_USER. Without --cell all have the channel of --down and are served in turn.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=MOST_USERS as i64))]
    users: Option<u16>,
    /// Who is served, and the channels of the users beside user 0: SCHEDULER:TRACE,TRACE,... where SCHEDULER is
    /// round-robin or proportional-fair.
    #[arg(long, value_name = "SCHEDULER:LIST")]
    cell: Option<String>,
    /// Decides which packets are lost or late.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A Scenario in TOML: its path, its cell and its first trace; flags beside it have the last word.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Write down what passes the link to the command, in Mahimahi's format, for `cellcc graph`.
    #[arg(long, value_name = "FILE")]
    down_log: Option<PathBuf>,
    /// Write down what passes the link from the command.
    #[arg(long, value_name = "FILE")]
    up_log: Option<PathBuf>,
    #[command(flatten, next_help_heading = "How it is emulated")]
    how: How,
    /// What to run, and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> Result<ExitCode, Exit> {
    let guard = emulated::prepare()?;
    let scenario = scenario(&args)?;
    ranges::check_emulated(&scenario.path)?;
    let traces = TraceCache::default();
    let users = scenario.cell.iter().flat_map(|cell| &cell.users);
    let channels: Vec<_> = std::iter::once(&scenario.trace).chain(users).collect();
    let capacities =
        traces.open_all(channels.iter().copied(), &scenario.path.reverse.trace).map_err(Exit::input)?;
    let Stages { up, down } = stages(&scenario, &capacities).map_err(Exit::input)?;
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

/// The path as a Scenario: that of the file, and over it the flags.
fn scenario(args: &Args) -> Result<Scenario, Exit> {
    let file = args.scenario.as_deref().map(Request::read).transpose()?.map(|request| request.file);
    let PlanFile { mut path, cell, traces, endpoint, netassist, .. } = file.unwrap_or_else(|| {
        let mut file = PlanFile::default();
        file.path.rtt = Span::ZERO;
        file.path.reverse.queue = file.path.queue;
        file
    });
    set(&mut path.rtt, args.rtt);
    set(&mut path.queue, args.queue);
    set(&mut path.reverse.queue, args.up_queue.or(args.queue));
    set(&mut path.loss, args.loss);
    set(&mut path.reverse.loss, args.up_loss);
    set(&mut path.extra_delay, args.extra_delay.clone());
    set(&mut path.extra_loss, args.extra_loss.clone());
    // A pipe gives its content to the first reader only.
    Delay::spell_out(&mut path.extra_delay).map_err(|error| Exit::input(format!("extra delay: {error}")))?;
    LossRate::spell_out(&mut path.extra_loss).map_err(|error| Exit::input(format!("extra loss: {error}")))?;
    set(&mut path.jitter, args.jitter);
    for (flag, queue) in [("--queue", path.queue), ("--up-queue", path.reverse.queue)] {
        ranges::holds_a_packet(flag, queue, Bytes::new(args.how.mtu.into())).map_err(Exit::input)?;
    }
    path.jitter_reorders |= args.jitter_reorders;
    set(&mut path.reordered, args.reordered);
    set(&mut path.reordered_by, args.reordered_by);
    set(&mut path.reverse.trace, args.up.as_deref().map(traces::normal));
    let first = traces::expand(&traces)?.into_iter().next();
    let trace = args.down.as_deref().map(traces::normal).or(first);
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
        path,
        endpoint,
        netassist,
        cell,
        flows: Vec::new(),
    })
}

fn users(args: &Args, trace: &str, of_file: Option<CellSetup>) -> Result<Option<CellSetup>, Exit> {
    let mut cell = of_file;
    if let Some(text) = &args.cell {
        let (scheduler, list) = text.split_once(':').unwrap_or((text, ""));
        let users = split_list(list).into_iter().map(traces::normal).collect();
        cell = Some(CellSetup { scheduler: scheduler.trim().into(), users });
    }
    let Some(count) = args.users.map(usize::from) else { return Ok(cell) };
    match cell {
        Some(cell) if !cell.users.is_empty() && cell.users.len() + 1 != count => Err(Exit::input(format!(
            "--users {count}: the cell has channels for {} users beside user 0; name {} of them",
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

fn set<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
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

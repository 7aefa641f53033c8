//! Runs commands behind stages, whatever they came from, and says how well the emulator kept up.

#![allow(clippy::disallowed_methods, reason = "a server takes real time to start")]

use crate::exit::{Exit, tell};
use cellcc_emu::commands::{CommandId, Commands, Left, MOST_COMMANDS};
use cellcc_emu::device::Backend;
use cellcc_emu::emulation::{DEFAULT_GRANULARITY, Emulation, EmulationSpec, SelfReport};
use cellcc_emu::job::Job;
use cellcc_emu::namespace::enter_user_namespace_if_needed;
use cellcc_emu::stage::Stage;
use cellcc_emu::topology::{Topology, TopologySpec};
use cellcc_units::{ParseError, Span};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How to emulate, whatever the path.
#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// Run a server outside, in a namespace apart from the machine's network, before the command; it is given to `sh -c`
    /// and ends with the command.
    #[arg(long, value_name = "COMMAND")]
    server: Option<String>,
    /// How to get at the packets, tun or veth [default: tun, where /dev/net/tun opens].
    #[arg(long, value_name = "KIND")]
    backend: Option<Backend>,
    /// Packets that are due within this of each other may be released together.
    #[arg(long, value_name = "TIME", default_value_t = DEFAULT_GRANULARITY, value_parser = granularity)]
    granularity: Span,
    /// Largest packet in bytes, IP header included.
    #[arg(long, value_name = "BYTES", default_value_t = MTU, value_parser = clap::value_parser!(u16).range(1280..))]
    pub(crate) mtu: u16,
    /// Write what the emulator measured of itself as JSON: late releases, packets lost in front of it, processor time.
    #[arg(long, value_name = "FILE")]
    self_report: Option<PathBuf>,
}

/// Beyond this the link is no longer the one that was asked for.
const COARSEST: Span = Span::from_millis(100);

fn granularity(text: &str) -> Result<Span, String> {
    let granularity: Span = text.parse().map_err(|error: ParseError| error.to_string())?;
    (granularity <= COARSEST).then_some(granularity).ok_or_else(|| format!("write {COARSEST} or less"))
}

/// Ethernet's.
const MTU: u16 = 1500;

impl Default for How {
    fn default() -> Self {
        Self { server: None, backend: None, granularity: DEFAULT_GRANULARITY, mtu: MTU, self_report: None }
    }
}

/// What to run behind what.
pub(crate) struct Asked {
    pub(crate) up: Vec<Stage>,
    pub(crate) down: Vec<Stage>,
    pub(crate) users: usize,
    pub(crate) command: Vec<OsString>,
    pub(crate) prompt: String,
    pub(crate) how: How,
}

/// The emulator could not keep up.
const NOT_KEPT_UP: u8 = 3;

/// The command succeeded, but its server failed.
const SERVER_FAILED: u8 = 1;

/// How many users there can be: one command is the server's.
pub(crate) const MOST_USERS: usize = MOST_COMMANDS - 1;

/// How long a server may take until it listens.
const SERVER_PATIENCE: Duration = Duration::from_secs(5);

/// Gets the rights that are needed. The kernel gives them to a process with one thread only: call it first.
pub(crate) fn prepare() -> Result<(), Exit> {
    Ok(enter_user_namespace_if_needed().map(drop)?)
}

/// Runs the commands to their end; gives the exit status.
pub(crate) fn run(asked: Asked) -> Result<ExitCode, Exit> {
    let Asked { up, down, users, command, prompt, how } = asked;
    if users > 1 && command.is_empty() {
        return Err(Exit::input("several users need a command after `--`; each of them runs it"));
    }
    if users > MOST_USERS {
        return Err(Exit::input(format!("{users} users: at most {MOST_USERS} can have a command each")));
    }
    let isolated = how.server.is_some();
    let topology = Topology::build(&TopologySpec { users, isolated, backend: how.backend, mtu: how.mtu })?;
    let spec = EmulationSpec {
        up,
        down,
        granularity: how.granularity,
        receive_offload: true,
        taps: None,
        queue_counts: None,
    };
    let emulation = Emulation::start(topology, spec)?;
    let ends = run_commands(emulation.topology(), &command, &prompt, how.server.as_deref())?;
    let report = emulation.stop()?;
    conclude(&report, &ends, &how)
}

/// How the commands ended.
struct Ends {
    /// The highest exit status of the users' commands.
    status: u8,
    /// That of a server that ended before them.
    server: Option<u8>,
    /// What commands left running. It has been killed.
    left: Vec<Left>,
}

fn run_commands(
    topology: &Topology,
    command: &[OsString],
    prompt: &str,
    server: Option<&str>,
) -> Result<Ends, Exit> {
    let job = |user, command: &[OsString], is_server| Job {
        command: command.to_vec(),
        prompt: prompt.to_owned(),
        base4: topology.outside.address4,
        base6: topology.outside.address6,
        user,
        is_server,
    };
    let mut commands = Commands::new()?;
    let server = server.map(|line| {
        let words = ["sh", "-c", line].map(OsString::from);
        let server = commands.start(&topology.outside.namespace, &job(0, &words, true))?;
        await_server(topology, &mut commands, server)?;
        Ok::<_, Exit>(server)
    });
    let server = server.transpose()?;
    let started: Vec<_> = topology
        .users
        .iter()
        .enumerate()
        .map(|(user, place)| commands.start(&place.namespace, &job(user, command, false)))
        .collect::<Result<_, _>>()?;
    let mut status = 0;
    for command in started {
        status = commands.wait(command)?.max(status);
    }
    let server = server.and_then(|server| commands.ended(server));
    Ok(Ends { status, server, left: commands.end() })
}

/// What must be said at the end. The command's own failure comes first, then the server's.
fn conclude(report: &SelfReport, ends: &Ends, how: &How) -> Result<ExitCode, Exit> {
    if !ends.left.is_empty() {
        let names: Vec<_> = ends.left.iter().map(Left::to_string).collect();
        tell(&format!("note: ended what the command left running: {}", names.join(", ")));
    }
    let server_failure = ends.server.filter(|status| *status != 0);
    if let Some(status) = server_failure {
        tell(&format!("warning: the server ended before the command, with status {status}"));
    }
    report.log_notes.iter().for_each(|note| tell(&format!("note: {note}")));
    let warnings = report.warnings();
    warnings.iter().for_each(|warning| tell(&format!("warning: {warning}")));
    if let Some(path) = &how.self_report {
        let text = serde_json::to_string_pretty(report).map_err(Exit::failed)?;
        std::fs::write(path, text + "\n")
            .map_err(|error| Exit::failed(format!("cannot write {}: {error}", path.display())))?;
    }
    if let Some(failure) = report.log_failures.first() {
        return Err(Exit::failed(failure.clone()));
    }
    Ok(ExitCode::from(match (ends.status, server_failure) {
        (0, Some(_)) => SERVER_FAILED,
        (0, None) if !warnings.is_empty() => NOT_KEPT_UP,
        (status, _) => status,
    }))
}

/// Waits until somebody outside listens; goes on where nobody does, as with a server that needs no socket.
fn await_server(topology: &Topology, commands: &mut Commands, server: CommandId) -> Result<(), Exit> {
    let deadline = Instant::now() + SERVER_PATIENCE;
    while Instant::now() < deadline {
        // One that puts itself into the background has ended well.
        if let Some(status @ 1..) = commands.ended(server) {
            return Err(Exit::failed(format!(
                "the server ended with status {status} before the command was started; try it alone, or mend --server"
            )));
        }
        if topology.outside.namespace.run(somebody_listens)? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    tell("note: nothing listens outside after 5 s; the command is started all the same");
    Ok(())
}

/// True where a TCP socket listens, or a UDP socket is bound, in the calling thread's namespace (proc_net(5)).
fn somebody_listens() -> bool {
    const LISTENING: &str = "0A";
    let sockets =
        |file: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
    let listens =
        |text: String| text.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(LISTENING));
    listens(sockets("tcp"))
        || listens(sockets("tcp6"))
        || sockets("udp").lines().count() > 1
        || sockets("udp6").lines().count() > 1
}

//! Runs commands behind stages, whatever they came from, and says how well the emulator kept up.

use crate::exit::{Exit, tell, write_file};
use crate::network::transfer::server::{self, ServerLog, ServerOutput};
use cellcc_emu::commands::{Commands, Left, MOST_COMMANDS};
use cellcc_emu::device::Backend;
use cellcc_emu::emulation::{DEFAULT_GRANULARITY, Emulation, EmulationSpec, SelfReport};
use cellcc_emu::guard::Guard;
use cellcc_emu::job::Job;
use cellcc_emu::namespace::enter_user_namespace_if_needed;
use cellcc_emu::stage::Stage;
use cellcc_emu::topology::{Servers, Topology, TopologySpec};
use cellcc_units::{ParseError, Span};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// How to emulate, whatever the path.
#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// Start this server outside the link, in a namespace of its own, before the command; `sh -c` runs it, and it ends with the
    /// command. Each user gets one, distinguished by $CELLCC_USER.
    #[arg(long, value_name = "COMMAND")]
    server: Option<String>,
    /// File for the server's output (FILE.0, FILE.1 ... for several users), or off [default: standard error, with the prefix
    /// `server: `].
    #[arg(long, value_name = "FILE|off", requires = "server")]
    server_log: Option<ServerLog>,
    /// Device that captures the packets, tun or veth [default: tun, if /dev/net/tun opens].
    #[arg(long, value_name = "KIND")]
    backend: Option<Backend>,
    /// Packets due within this time may be released together.
    #[arg(long, value_name = "TIME", default_value_t = DEFAULT_GRANULARITY, value_parser = granularity)]
    granularity: Span,
    /// Largest packet in bytes, IP header included.
    #[arg(long, value_name = "BYTES", default_value_t = MTU, value_parser = clap::value_parser!(u16).range(1280..))]
    pub(crate) mtu: u16,
    /// Write the emulator's own measurements as JSON: late releases, packets lost before it, CPU time.
    #[arg(long, value_name = "FILE")]
    self_report: Option<PathBuf>,
}

/// Beyond this the link is no longer the requested one.
const COARSEST: Span = Span::from_millis(100);

fn granularity(text: &str) -> Result<Span, String> {
    let granularity: Span = text.parse().map_err(|error: ParseError| error.to_string())?;
    (granularity <= COARSEST).then_some(granularity).ok_or_else(|| format!("write {COARSEST} or less"))
}

/// Ethernet's.
const MTU: u16 = 1500;

impl Default for How {
    fn default() -> Self {
        Self {
            server: None,
            server_log: None,
            backend: None,
            granularity: DEFAULT_GRANULARITY,
            mtu: MTU,
            self_report: None,
        }
    }
}

/// A command, and the stages that it runs behind.
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

/// How many users there can be: each may have a server.
pub(crate) const MOST_USERS: usize = MOST_COMMANDS / 2;

/// Gets the rights that are needed, and the process that cleans up. The kernel gives them to a process with one thread only:
/// call it first.
pub(crate) fn prepare() -> Result<Guard, Exit> {
    enter_user_namespace_if_needed()?;
    Ok(Guard::start()?)
}

/// Runs the commands to their end; gives the exit status.
pub(crate) fn run(mut guard: Guard, asked: Asked) -> Result<ExitCode, Exit> {
    let Asked { up, down, users, command, prompt, how } = asked;
    if users > 1 && command.is_empty() {
        return Err(Exit::input("several users need a command after `--`; each of them runs it"));
    }
    if users > MOST_USERS {
        return Err(Exit::input(format!("{users} users: at most {MOST_USERS} can have a command each")));
    }
    let servers = if how.server.is_some() { Servers::ApartForEachUser } else { Servers::Here };
    let topology = Topology::build(&TopologySpec { users, servers, backend: how.backend, mtu: how.mtu })?;
    let users_own = topology.users.iter().map(|user| &user.namespace);
    let outsides = topology.outsides.iter().map(|outside| &outside.namespace);
    users_own.chain(outsides).try_for_each(|namespace| guard.protect(namespace))?;
    let spec = EmulationSpec {
        up,
        down,
        granularity: how.granularity,
        receive_offload: true,
        taps: None,
        queue_counts: None,
    };
    let emulation = Emulation::start(topology, spec)?;
    let ends = run_commands(emulation.topology(), &command, &prompt, &how)?;
    let report = emulation.stop()?;
    conclude(&report, &ends, &how)
}

/// How the commands ended.
struct Ends {
    /// The highest exit status of the users' commands.
    status: u8,
    /// The highest of the servers that ended before them.
    server: Option<u8>,
    /// Processes that commands left running. They have been killed.
    left: Vec<Left>,
}

fn run_commands(topology: &Topology, command: &[OsString], prompt: &str, how: &How) -> Result<Ends, Exit> {
    let job = |user, command: &[OsString], server_output| Job {
        command: command.to_vec(),
        prompt: prompt.to_owned(),
        base4: topology.outside().address4,
        base6: topology.outside().address6,
        user,
        server_output,
    };
    // Dropped after the commands, which must have ended by then.
    let mut outputs = Vec::new();
    let mut commands = Commands::new()?;
    let mut servers = Vec::new();
    if let Some(line) = &how.server {
        let words = ["sh", "-c", line].map(OsString::from);
        let log = how.server_log.as_ref().unwrap_or(&ServerLog::StandardError);
        for (user, outside) in topology.outsides.iter().enumerate() {
            let (output, writer) = ServerOutput::open(log, (topology.users.len() > 1).then_some(user))?;
            outputs.push(output);
            servers.push(commands.start(&outside.namespace, &job(user, &words, Some(writer)))?);
        }
        server::await_all(topology, &mut commands, &servers)?;
    }
    let started: Vec<_> = topology
        .users
        .iter()
        .enumerate()
        .map(|(user, place)| commands.start(&place.namespace, &job(user, command, None)))
        .collect::<Result<_, _>>()?;
    let mut status = 0;
    for command in started {
        status = commands.wait(command)?.max(status);
    }
    let server = servers.into_iter().filter_map(|server| commands.ended(server)).max();
    Ok(Ends { status, server, left: commands.end() })
}

/// The notes for the end. The command's own failure comes first, then the server's.
fn conclude(report: &SelfReport, ends: &Ends, how: &How) -> Result<ExitCode, Exit> {
    if !ends.left.is_empty() {
        let names: Vec<_> = ends.left.iter().map(Left::to_string).collect();
        tell(&format!("note: ended processes that the command left running: {}", names.join(", ")));
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
        write_file(path, text + "\n")?;
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

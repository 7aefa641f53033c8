//! A command to run in a namespace: its environment, and how it is started.

use crate::error::EmuError;
use crate::namespace::Namespace;
use crate::sys;
use crate::topology::Owner;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::sync::Arc;

/// The program to run, and its environment.
#[derive(Debug, Clone)]
pub struct Job {
    /// The program and its arguments; empty: the user's shell.
    pub command: Vec<OsString>,
    /// The prefix of an interactive shell's prompt, such as `[cellcc] `.
    pub prompt: String,
    /// The outside's address: `MAHIMAHI_BASE`.
    pub base4: Ipv4Addr,
    /// The IPv6 address: `CELLCC_BASE6`.
    pub base6: Ipv6Addr,
    /// The user's number: `CELLCC_USER`.
    pub user: usize,
    /// The output of a server, which has no terminal, and a process group of its own that Ctrl-C does not reach.
    pub server_output: Option<Arc<OwnedFd>>,
}

impl Job {
    /// Starts it in a namespace.
    pub(crate) fn spawn(&self, namespace: &Namespace) -> Result<Pid, EmuError> {
        let shell = || env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "sh".into());
        let (program, arguments) = match self.command.split_first() {
            Some((program, arguments)) => (program.clone(), arguments),
            None => (shell(), [].as_slice()),
        };
        let mut command = Command::new(&program);
        command.args(arguments);
        command.env("MAHIMAHI_BASE", self.base4.to_string()).env("CELLCC_BASE6", self.base6.to_string());
        command.env("CELLCC_USER", self.user.to_string());
        command.env(Owner::VARIABLE, Owner::current()?.alias());
        if let Some(output) = &self.server_output {
            let copy = || output.try_clone().map_err(EmuError::system("make a server's output"));
            command.process_group(0).stdin(Stdio::null()).stdout(copy()?).stderr(copy()?);
        }
        set_prompt(&mut command, &program, &self.prompt);
        namespace.command(&mut command);
        die_with_us(&mut command);
        let child = command.spawn().map_err(|source| cannot_start(&program, source))?;
        Ok(Pid::from_child(&child))
    }
}

/// The kernel kills the command once the thread that starts it has ended.
pub(crate) fn die_with_us(command: &mut Command) {
    let parent = Pid::from_raw(process::id().cast_signed());
    sys::before_exec(command, move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that died before that sends no signal.
        if getppid() != parent { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    });
}

/// Puts `prefix` before an interactive shell's prompt, as Mahimahi does. Bash's start-up files set the prompt after
/// its environment is there: so bash adds the prefix when it prompts for the first time.
fn set_prompt(command: &mut Command, program: &OsStr, prefix: &str) {
    const PREFIX: &str = "MAHIMAHI_SHELL_PREFIX";
    let before = env::var(PREFIX).unwrap_or_default();
    let prefix = format!("{before}{prefix}");
    command.env("PROMPT_COMMAND", format!("PS1=\"${PREFIX}$PS1\" PROMPT_COMMAND="));
    let is_bash = Path::new(program).file_name() == Some(OsStr::new("bash"));
    if !is_bash {
        command.env("PS1", format!("{prefix}$ "));
    }
    command.env(PREFIX, prefix);
}

fn cannot_start(program: &OsStr, source: io::Error) -> EmuError {
    const NOT_FOUND: u8 = 127;
    const NOT_EXECUTABLE: u8 = 126;
    let name = program.display();
    let (message, status) = match source.kind() {
        io::ErrorKind::NotFound => {
            (format!("{name}: command not found; give a program on PATH or a path"), NOT_FOUND)
        }
        io::ErrorKind::PermissionDenied if source.raw_os_error() == Some(libc::EACCES) => {
            (format!("{name}: permission denied; is it a program, and executable?"), NOT_EXECUTABLE)
        }
        io::ErrorKind::Other | io::ErrorKind::InvalidInput => {
            (format!("{name}: cannot be run: {source}"), NOT_EXECUTABLE)
        }
        _ => return EmuError::system(format!("start {name}"))(source),
    };
    EmuError::Command { message, status }
}

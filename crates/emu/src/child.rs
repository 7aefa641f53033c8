//! The user's command, in a namespace: environment, signals, exit status.

use crate::error::EmuError;
use crate::namespace::Namespace;
use crate::sys;
use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{self, Command, ExitStatus, Stdio};

/// What to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// The program and its arguments; empty: the user's shell.
    pub command: Vec<OsString>,
    /// What an interactive shell puts before its prompt, such as `[cellcc] `.
    pub prompt: String,
    /// The outside's address: `MAHIMAHI_BASE`.
    pub base4: Ipv4Addr,
    /// The same for IPv6: `CELLCC_BASE6`.
    pub base6: Ipv6Addr,
    /// Which user it is: `CELLCC_USER`.
    pub user: usize,
    /// True for a server without a terminal: it gets a process group of its own, which ends with it.
    pub is_server: bool,
}

/// A running command. It ends when this process ends, whatever ends this process. While it runs, this process
/// forwards the signals that other processes send (SIGINT, SIGQUIT, SIGTERM, SIGHUP) to it, and ignores Ctrl-C on the
/// terminal, which the command handles itself. Process group, session and terminal stay as they are, so an
/// interactive shell has job control.
#[derive(Debug)]
pub struct Child {
    child: process::Child,
    is_server: bool,
}

impl Child {
    /// Starts it in a namespace. The calling thread must live as long as the command: the kernel ends the command with it.
    ///
    /// # Errors
    /// [`EmuError::Command`] with the exit status that shells give: no such program, or one that may not be run.
    pub fn start(namespace: &Namespace, job: &Job) -> Result<Self, EmuError> {
        let shell = || env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "sh".into());
        let (program, arguments) = match job.command.split_first() {
            Some((program, arguments)) => (program.clone(), arguments),
            None => (shell(), [].as_slice()),
        };
        let mut command = Command::new(&program);
        command.args(arguments);
        command.env("MAHIMAHI_BASE", job.base4.to_string()).env("CELLCC_BASE6", job.base6.to_string());
        command.env("CELLCC_USER", job.user.to_string());
        if job.is_server {
            // A server's output is no part of the command's result.
            command.process_group(0).stdin(Stdio::null()).stdout(io::stderr());
        }
        set_prompt(&mut command, &program, &job.prompt);
        namespace.command(&mut command);
        die_with_us(&mut command);

        sys::forward_signals().map_err(EmuError::system("set up signals"))?;
        let child = command.spawn().map_err(|source| cannot_start(&program, source))?;
        let child = Self { child, is_server: job.is_server };
        if !sys::forward_to(child.pid()) {
            return Err(EmuError::Input("too many commands at once: 64 may run".into()));
        }
        Ok(child)
    }

    /// Waits until it ends; gives its exit status, 128 + n where signal n ended it.
    ///
    /// # Errors
    /// Somebody else has waited for it.
    pub fn wait(mut self) -> Result<u8, EmuError> {
        self.child.wait().map(status).map_err(EmuError::system("wait for the command"))
    }

    fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }
}

/// An early error leaves no command running.
impl Drop for Child {
    fn drop(&mut self) {
        if self.is_server
            && let Some(group) = Pid::from_raw(self.pid())
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        sys::forward_no_more_to(self.pid());
    }
}

fn status(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn die_with_us(command: &mut Command) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn job(command: &[&str]) -> Job {
        Job {
            command: command.iter().map(OsString::from).collect(),
            prompt: "[cellcc] ".into(),
            base4: Ipv4Addr::new(100, 64, 0, 1),
            base6: Ipv6Addr::LOCALHOST,
            user: 0,
            is_server: false,
        }
    }

    /// In the namespace where we are already, which needs no rights.
    fn run(command: &[&str]) -> Result<u8, EmuError> {
        Child::start(&Namespace::current()?, &job(command))?.wait()
    }

    #[test]
    fn the_exit_status_is_passed_on() {
        assert_eq!(run(&["sh", "-c", "exit 7"]).unwrap(), 7);
        assert_eq!(run(&["sh", "-c", "kill -TERM $$"]).unwrap(), 128 + 15);
    }

    #[test]
    fn a_command_that_is_not_there_is_named() {
        let error = run(&["no-such-program-of-ours"]).unwrap_err();
        assert!(matches!(&error, EmuError::Command { status: 127, .. }), "{error}");
        assert!(error.to_string().starts_with("no-such-program-of-ours: command not found"));
        let error = run(&["/proc/version"]).unwrap_err();
        assert!(matches!(&error, EmuError::Command { status: 126, .. }), "{error}");
    }

    #[test]
    fn the_command_learns_the_outsides_addresses() {
        let check = "test \"$MAHIMAHI_BASE\" = 100.64.0.1 && test \"$CELLCC_BASE6\" = ::1";
        assert_eq!(run(&["sh", "-c", check]).unwrap(), 0);
    }

    #[test]
    fn a_prompt_has_the_prefix() {
        let check = "eval \"$PROMPT_COMMAND\"; test \"$PS1\" = \"$MAHIMAHI_SHELL_PREFIX\"'p> ' -a -z \"$PROMPT_COMMAND\"";
        assert_eq!(run(&["sh", "-c", &format!("PS1='p> '; {check}")]).unwrap(), 0);
        assert_eq!(run(&["sh", "-c", "test \"$PS1\" = \"${MAHIMAHI_SHELL_PREFIX}$ \""]).unwrap(), 0);
    }

    #[test]
    fn a_command_does_not_outlive_its_handle() {
        let child = Child::start(&Namespace::current().unwrap(), &job(&["sleep", "60"])).unwrap();
        let pid = child.child.id();
        drop(child);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}

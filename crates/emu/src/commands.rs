//! The running commands: signals, exit statuses, and that nothing outlives them.

use crate::error::EmuError;
use crate::guard;
use crate::job::Job;
use crate::namespace::Namespace;
use crate::process::Process;
use crate::sys;
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, set_child_subreaper,
    wait, waitpid,
};
use std::fmt;
use std::time::{Duration, Instant};

/// The most commands that run at once: those of the users, and their servers.
pub const MOST_COMMANDS: usize = sys::MOST_CHILDREN;

/// All commands of this process. They end when it ends, whatever ends it. Processes that they leave running become children of
/// this process, and end in [`end`](Self::end).
///
/// While commands run, this process forwards the signals that other processes send (SIGINT, SIGQUIT, SIGTERM, SIGHUP) to
/// them; a second SIGINT or SIGTERM kills those that did not heed the first. It ignores Ctrl-C on the terminal, which
/// the commands handle themselves. Process group, session and terminal stay as they are, so an interactive shell has
/// job control.
///
/// It is no process namespace: in one, the programs would see numbers other than those of the /proc that they have, and an
/// ordinary user may often not mount another.
///
/// All children of this process except a [`Guard`](guard::Guard) count as commands or their leftovers: there must be no others.
#[derive(Debug)]
pub struct Commands {
    started: Vec<Started>,
}

/// One of [`Commands`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandId(usize);

#[derive(Debug)]
struct Started {
    pid: Pid,
    is_server: bool,
    /// The exit status, once the command has ended.
    status: Option<u8>,
}

/// A program that a command left running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    name: String,
    pid: Pid,
}

/// `sleep (process 1234)`
impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)
    }
}

impl Commands {
    /// A set without commands.
    ///
    /// # Errors The kernel lacks a feature that Linux has had since 3.4.
    pub fn new() -> Result<Self, EmuError> {
        // Orphans become our children instead of init's.
        set_child_subreaper(Some(getpid()))
            .map_err(EmuError::system("adopt processes that commands leave running"))?;
        sys::forward_signals().map_err(EmuError::system("set up signals"))?;
        Ok(Self { started: Vec::new() })
    }

    /// Starts one in a namespace. The calling thread must live as long as the command: the kernel ends the command with it.
    ///
    /// # Errors
    /// [`EmuError::Command`] with the exit status that shells give: no such program, or one that may not be run. More
    /// than [`MOST_COMMANDS`] at once.
    pub fn start(&mut self, namespace: &Namespace, job: &Job) -> Result<CommandId, EmuError> {
        let (pid, gets_signals) = sys::forward_to(|| job.spawn(namespace))?;
        self.started.push(Started { pid, is_server: job.server_output.is_some(), status: None });
        if !gets_signals {
            return Err(EmuError::Input(format!("too many commands at once: {MOST_COMMANDS} may run")));
        }
        Ok(CommandId(self.started.len() - 1))
    }

    /// Waits until it ends; gives its exit status, 128 + n where signal n ended it.
    ///
    /// # Errors Another thread has waited for it.
    pub fn wait(&mut self, command: CommandId) -> Result<u8, EmuError> {
        loop {
            if let Some(status) = self.started[command.0].status {
                return Ok(status);
            }
            self.reap(WaitOptions::empty()).map_err(EmuError::system("wait for the command"))?;
        }
    }

    /// The exit status of a command that has ended.
    pub fn ended(&mut self, command: CommandId) -> Option<u8> {
        while self.reap(WaitOptions::NOHANG) == Ok(true) {}
        self.started[command.0].status
    }

    /// 128 + the number of the signal that asked this process to end since the first command was started, if one did.
    pub fn asked_to_end(&self) -> Option<u8> {
        sys::last_signal().and_then(|signal| u8::try_from(128 + signal).ok())
    }

    /// Asks the servers that still run to end, and waits a second for them. Then kills the commands that still run, and all
    /// processes that they left running; names the latter, without those in a server's own process group. Nothing interrupts
    /// this.
    pub fn end(&mut self) -> Vec<Left> {
        sys::hold_signals();
        self.ask_servers_to_end();
        for index in 0..self.started.len() {
            if self.started[index].status.is_none() {
                let _ = kill_process(self.started[index].pid, Signal::KILL);
                let _ = self.wait(CommandId(index));
            }
        }
        let mut left = Vec::new();
        // An orphan becomes our child: so each round ends a generation. No number can be another process's by now, since only
        // we can reap a child of ours.
        loop {
            let mut children = Process::children();
            // The guards of this emulator and of those within it end by themselves.
            children
                .retain(|child| child.name != guard::NAME && kill_process(child.pid, Signal::KILL).is_ok());
            if children.is_empty() {
                return left;
            }
            for Process { pid, name, group, is_alive, .. } in children {
                let _ = retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
                let is_servers =
                    self.started.iter().any(|one| one.is_server && one.pid.as_raw_pid() == group);
                if is_alive && !is_servers {
                    left.push(Left { name, pid });
                }
            }
        }
    }

    /// A server that is killed at once loses its unwritten output.
    fn ask_servers_to_end(&mut self) {
        const LONGEST_SERVERS_END: Duration = Duration::from_secs(1);
        const PAUSE: Duration = Duration::from_millis(2);
        let is_running = |one: &Started| one.is_server && one.status.is_none();
        for server in self.started.iter().filter(|one| is_running(one)) {
            let _ = kill_process_group(server.pid, Signal::TERM);
        }
        let deadline = Instant::now() + LONGEST_SERVERS_END;
        while self.started.iter().any(is_running) && Instant::now() < deadline {
            match self.reap(WaitOptions::NOHANG) {
                Ok(true) => {}
                _ => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Takes note of one child that has ended, a command or an orphan; false where none has.
    fn reap(&mut self, options: WaitOptions) -> Result<bool, Errno> {
        let Some((pid, status)) = retry_on_intr(|| wait(options))? else { return Ok(false) };
        if let Some(command) = self.started.iter_mut().find(|one| one.pid == pid && one.status.is_none()) {
            sys::forward_no_more_to(pid.as_raw_pid());
            command.status = Some(exit_status(status));
        }
        Ok(true)
    }
}

/// An early error leaves nothing running.
impl Drop for Commands {
    fn drop(&mut self) {
        self.end();
    }
}

fn exit_status(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

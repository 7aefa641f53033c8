//! The servers of `cellcc shell --server`: where their output goes, and when they are there.

#![allow(
    clippy::disallowed_methods,
    reason = "a server takes real time to start, and its output has a thread"
)]

use crate::exit::{Exit, tell};
use cellcc_emu::commands::{CommandId, Commands};
use cellcc_emu::topology::Topology;
use cellcc_units::output::WholeFile;
use std::convert::Infallible;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Where the output of servers goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerLog {
    /// To standard error, where each line begins with whose it is.
    StandardError,
    /// To a file; with several users, to one for each, whose name ends in the user's number.
    File(PathBuf),
    /// Nowhere.
    Off,
}

impl FromStr for ServerLog {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "off" { Self::Off } else { Self::File(text.into()) })
    }
}

/// The output of one server.
#[derive(Debug)]
pub(crate) struct ServerOutput {
    /// Copies it to standard error until that is closed.
    copying: Option<JoinHandle<()>>,
}

impl ServerOutput {
    /// Also gives the place of the server's output. `user` is whose server it is, where there are several.
    pub(crate) fn open(log: &ServerLog, user: Option<usize>) -> Result<(Self, Arc<OwnedFd>), Exit> {
        let path = match log {
            ServerLog::Off => "/dev/null".into(),
            ServerLog::File(path) => user.map_or_else(|| path.clone(), |user| numbered(path, user)),
            ServerLog::StandardError => {
                let (reader, writer) = io::pipe().map_err(Exit::failed)?;
                let name = user.map_or_else(|| "server: ".into(), |user| format!("server {user}: "));
                let copying = thread::spawn(move || copy(BufReader::new(reader), &name));
                return Ok((Self { copying: Some(copying) }, Arc::new(writer.into())));
            }
        };
        let file = WholeFile::named(&path).and_then(WholeFile::begin).map_err(|error| {
            Exit::input(format!("--server-log: cannot write {}: {error}", path.display()))
        })?;
        Ok((Self { copying: None }, Arc::new(file.into())))
    }
}

/// Waits for the last line: the server, and all that it has started, must have ended.
impl Drop for ServerOutput {
    fn drop(&mut self) {
        if let Some(copying) = self.copying.take() {
            let _ = copying.join();
        }
    }
}

fn numbered(path: &Path, user: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{user}"));
    name.into()
}

/// Line by line, so that the command's output stays apart.
fn copy(mut from: impl BufRead, name: &str) {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line);
        // Standard error may be closed; the server continues.
        let _ = writeln!(io::stderr(), "{name}{}", text.trim_end_matches(['\n', '\r']));
        line.clear();
    }
}

/// How long servers may take until they listen.
const LONGEST_START: Duration = Duration::from_secs(5);

/// Waits until a server listens in each of the outsides; continues without one, as for a server that needs no socket. A signal
/// ends it: servers that survive it are no reason to start the command.
pub(crate) fn await_all(
    topology: &Topology,
    commands: &mut Commands,
    servers: &[CommandId],
) -> Result<(), Exit> {
    let deadline = Instant::now() + LONGEST_START;
    for (outside, server) in topology.outsides.iter().zip(servers) {
        loop {
            if let Some(status) = commands.asked_to_end() {
                let problem = "ended while the server was starting; the command was not started";
                return Err(Exit::Command(problem.into(), status));
            }
            // One that puts itself into the background has ended well.
            if let Some(status @ 1..) = commands.ended(*server) {
                return Err(Exit::failed(format!(
                    "the server ended with status {status} before the command was started; try it alone, or mend --server"
                )));
            }
            if outside.namespace.run(somebody_listens)? {
                break;
            }
            if Instant::now() >= deadline {
                tell("note: nothing listens outside after 5 s; the command is started all the same");
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

/// True where a TCP socket listens, or a UDP socket is bound, in the calling thread's namespace (proc_net(5)).
fn somebody_listens() -> bool {
    const LISTENING: &str = "0A";
    let sockets =
        |file: &str| fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
    let listens =
        |text: String| text.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(LISTENING));
    listens(sockets("tcp"))
        || listens(sockets("tcp6"))
        || sockets("udp").lines().count() > 1
        || sockets("udp6").lines().count() > 1
}

//! A process that outlives the emulator by a moment, so that nothing outlives it for long: whatever ends the emulator,
//! processes in its namespaces are killed. It also removes folders, those of programs that are started for a while only.
//!
//! The kernel ends a command with the emulator ([`Commands`](crate::commands::Commands)), but not the command's children; an
//! emulator that is killed can no longer do that itself. Whatever has left those namespaces is not found.
//!
//! The guard holds the namespaces open: a namespace's number is free when nothing holds it, and the kernel gives it to the next
//! namespace, which may be another emulator's.

use crate::error::EmuError;
use crate::job::die_with_us;
use crate::namespace::Namespace;
use crate::process::Process;
use crate::sys;
use rustix::cmsg_space;
use rustix::fs::fstat;
use rustix::io::{FdFlags, fcntl_setfd, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, chdir, pidfd_open, pidfd_send_signal, setsid, waitpid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::set_name;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The guard's name in `ps`.
pub(crate) const NAME: &str = "cellcc-guard";
/// The guards of emulators within ours end theirs first.
const GUARDS_SPARED_FOR: Duration = Duration::from_secs(1);
/// A process that the kernel does not end by then, it will not end soon: it waits for a device.
const LONGEST_KILLING: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);
/// The kernel's longest path (PATH_MAX of `linux/limits.h`).
const LONGEST_PATH: usize = 4096;

/// Ends the processes in its namespaces and removes its folders, once this process has ended or has dropped it, and with it the
/// commands that [`hold`](Self::hold) it.
#[derive(Debug)]
pub struct Guard {
    /// Carries them to the guard, which reads to its end: that comes when no process has it open any more.
    given: Option<Arc<OwnedFd>>,
    pid: Pid,
}

/// Processes and folders that the guard takes care of.
#[derive(Debug, Default)]
struct Given {
    namespaces: Vec<OwnedFd>,
    folders: Vec<PathBuf>,
}

impl Guard {
    /// Starts it. Must be called before the process has a second thread.
    ///
    /// # Errors
    /// The kernel allows no further process.
    pub fn start() -> Result<Self, EmuError> {
        let failed = "start the process that cleans up";
        let (ours, its) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(EmuError::system(failed))?;
        match sys::fork().map_err(EmuError::system(failed))? {
            Some(pid) => Ok(Self { given: Some(Arc::new(ours)), pid }),
            None => {
                drop(ours);
                keep_apart();
                let Given { namespaces, folders } = after_the_end(&its);
                end_all(&namespaces);
                for folder in folders {
                    let _ = fs::remove_dir_all(folder);
                }
                sys::exit_at_once()
            }
        }
    }

    /// Adds a namespace whose processes will be ended. The namespace in which the guard was started is left alone.
    ///
    /// # Errors
    /// The guard was killed.
    pub fn protect(&mut self, namespace: &Namespace) -> Result<(), EmuError> {
        let handle = [namespace.as_fd()];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&handle));
        self.give(&[0], &mut ancillary)
    }

    /// This folder will be removed, with all that is in it, if it is still there.
    ///
    /// # Errors
    /// The guard was killed, or there is no present folder.
    pub fn remove(&mut self, folder: &Path) -> Result<(), EmuError> {
        // The guard is in another folder.
        let folder = path::absolute(folder).map_err(EmuError::system("find a folder"))?;
        self.give(folder.as_os_str().as_bytes(), &mut SendAncillaryBuffer::default())
    }

    fn give(&self, bytes: &[u8], ancillary: &mut SendAncillaryBuffer<'_, '_, '_>) -> Result<(), EmuError> {
        let Some(socket) = &self.given else { return Ok(()) };
        sendmsg(socket, &[IoSlice::new(bytes)], ancillary, SendFlags::NOSIGNAL)
            .map(drop)
            .map_err(EmuError::system("reach the process that cleans up"))
    }

    /// The kernel kills this command once the calling thread has ended, and the guard waits for the end of all that it starts.
    pub fn hold(&self, command: &mut Command) {
        die_with_us(command);
        let Some(socket) = self.given.clone() else { return };
        sys::before_exec(command, move || Ok(fcntl_setfd(&socket, FdFlags::empty())?));
    }
}

/// Waits for it.
impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.given.take());
        let _ = retry_on_intr(|| waitpid(Some(self.pid), WaitOptions::empty()));
    }
}

/// Out of reach of signals to the emulator's group and of the terminal's; holds nothing open that others wait for.
fn keep_apart() {
    let _ = set_name(c"cellcc-guard");
    let _ = setsid();
    sys::ignore_requests_to_end();
    let _ = chdir("/");
    if let Ok(nowhere) = File::options().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdin(&nowhere);
        let _ = dup2_stdout(&nowhere);
        let _ = dup2_stderr(&nowhere);
    }
}

/// The given paths and processes, once the emulator has ended.
fn after_the_end(emulator: &OwnedFd) -> Given {
    let mut given = Given::default();
    loop {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [0; LONGEST_PATH];
        let receive =
            || recvmsg(emulator, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
        let length = match retry_on_intr(receive) {
            Ok(message) if message.bytes > 0 => message.bytes,
            _ => return given,
        };
        let handles = handles(&mut ancillary);
        if handles.is_empty() {
            given.folders.push(OsStr::from_bytes(&bytes[..length]).into());
        }
        given.namespaces.extend(handles);
    }
}

fn handles(ancillary: &mut RecvAncillaryBuffer<'_>) -> Vec<OwnedFd> {
    let of = |message| match message {
        RecvAncillaryMessage::ScmRights(handles) => handles.collect(),
        _ => Vec::new(),
    };
    ancillary.drain().flat_map(of).collect()
}

/// The number of a process's network namespace.
fn namespace_of(process: &str) -> Option<u64> {
    fs::metadata(format!("/proc/{process}/ns/net")).map(|metadata| metadata.ino()).ok()
}

/// Kills repeatedly: a killed process may have started something meanwhile. Spares the guard's own namespace.
fn end_all(namespaces: &[OwnedFd]) {
    let own = namespace_of("self");
    let number = |namespace| fstat(namespace).ok().map(|status| status.st_ino);
    let numbers: Vec<u64> =
        namespaces.iter().filter_map(number).filter(|number| Some(*number) != own).collect();
    let began = Instant::now();
    while began.elapsed() < LONGEST_KILLING {
        let spares_guards = began.elapsed() < GUARDS_SPARED_FOR;
        let mut found = 0;
        for process in Process::all() {
            let is_inside =
                || namespace_of(&process.pid.to_string()).is_some_and(|number| numbers.contains(&number));
            // Opened before it is looked at: then it is no later process with the same number that is killed.
            let Ok(handle) = pidfd_open(process.pid, PidfdFlags::empty()) else { continue };
            if !process.is_alive || !is_inside() {
                continue;
            }
            found += 1;
            if !(spares_guards && process.name == NAME) {
                let _ = pidfd_send_signal(handle, Signal::KILL);
            }
        }
        if found == 0 {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

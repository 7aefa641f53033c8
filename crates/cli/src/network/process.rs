//! The needs of commands with sockets: threads, signals, files for qlog, exit codes.

use crate::exit::{Exit, tell};
use crate::interrupt::on_interrupt;
use cellcc_quic::qlog::Directory;
use cellcc_transfer::TransferError;
use std::path::PathBuf;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// The folder for qlog files, which is tried out.
pub(crate) fn qlog(folder: Option<PathBuf>) -> Result<Option<Directory>, Exit> {
    if let Some(folder) = &folder {
        tell(&format!(
            "--qlog: each packet has several lines in {}, in all a fifth to a half of the transferred data",
            folder.display()
        ));
    }
    let directory = folder.map(Directory::new).transpose();
    directory.map_err(|error| Exit::input(format!("--qlog: {error}")))
}

/// Raises the limit of open files and sockets to the most that the system allows, and returns it. Shells and service managers
/// begin programs with 1,024, for those that use select(2).
pub(crate) fn most_open_files() -> u64 {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let maximum = getrlimit(Resource::Nofile).maximum;
        // If the system refuses an allowed value, the process continues as it began.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
        getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
    }
    #[cfg(not(unix))]
    u64::MAX
}

/// The runtime for clocks and sockets.
pub(crate) fn runtime() -> Result<Runtime, Exit> {
    most_open_files();
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Exit::failed(format!("cannot start threads: {error}")))
}

/// True after the first interrupt; the second one ends the program. A command calls this before it says that it is ready: its
/// reader may send a signal at once.
pub(crate) fn signals() -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    let handler = move || {
        if sender.send_replace(true) {
            tell("ended at once");
            // Destructors would wait for transfers; the kernel takes all back.
            std::process::exit(INTERRUPTED);
        }
    };
    // Without a listener, the system's own way ends the program.
    let _ = on_interrupt(handler);
    receiver
}

/// Ends the program at the first interrupt, where the work in progress cannot be stopped. The kernel takes all back.
#[cfg(all(target_os = "linux", feature = "kernel"))]
pub(crate) fn end_when_interrupted() -> Result<(), Exit> {
    on_interrupt(|| std::process::exit(INTERRUPTED))
}

/// 128 and the number of SIGINT, as shells have it.
const INTERRUPTED: i32 = 130;

pub(crate) fn exit(error: TransferError) -> Exit {
    match error {
        TransferError::Interrupted => Exit::Interrupted,
        error if error.is_input() => Exit::input(error),
        error => Exit::failed(error),
    }
}

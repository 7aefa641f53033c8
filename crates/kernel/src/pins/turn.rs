//! One change of what is loaded at a time: of two that overlap, the one that fails would clear away what the other has pinned.

use crate::error::KernelError;
use crate::pins::Pins;
use std::fs::{File, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than any change takes: unloading nine schemes waits some tens of milliseconds for each.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// The right to change what is pinned in a folder, until it is dropped or the process ends, however it does.
#[derive(Debug)]
pub(crate) struct Turn {
    _lock: File,
}

impl Pins {
    /// Waits for this process's turn. The lock is on the folder that holds the pins' folder, which stays when the last scheme
    /// goes, and which only root may open (`/sys/fs/bpf`).
    pub(crate) fn take_turn(&self) -> Result<Turn, KernelError> {
        let place = self.place();
        if !self.is_in_bpf_file_system() {
            return Err(KernelError::NoFileSystem(self.folder().to_owned()));
        }
        let failed = |error| KernelError::system(format!("lock {}", place.display()))(error);
        let lock = File::open(place).map_err(failed)?;
        let began = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Turn { _lock: lock }),
                Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE => sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(KernelError::Busy(place.to_owned())),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }
}

//! Loaded schemes stay loaded: pins in a BPF file system hold them, and a process may end.
//!
//! ```text
//! /sys/fs/bpf/cellcc/socket_settings     what programs set for their own sockets
//!                    socket_option       while this exists, programs can
//!                    recorder            the ring of the one who records steps
//!                    missed              how many steps the ring had no room for
//!                    hear_flows          while this exists, what devices tell of their flows is believed
//!                    peer_flows_1        what they reported, of each socket
//!                    advice_1            what the network says of the path to a peer
//!                    SCHEME/link         the scheme is registered while this exists
//!                    SCHEME/settings     its settings for all sockets
//! ```

pub(crate) mod advising;
pub(crate) mod control_group;
pub(crate) mod loading;

use crate::error::{KernelError, Unseen};
use crate::network;
use crate::pins::control_group::{HEAR_FLOWS, SOCKET_OPTIONS};
use crate::schemes::{Scheme, Settings};
use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};
use rustix::fs::statfs;
use std::fs;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The folder of pins unless another is given.
pub const DEFAULT_FOLDER: &str = "/sys/fs/bpf/cellcc";
/// `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FILE_SYSTEM: u64 = 0xcafe_4a11;
/// The only key of a map with one value.
pub(crate) const ONLY: [u8; 4] = 0_u32.to_ne_bytes();

/// A folder of pins.
#[derive(Debug, Clone)]
pub struct Pins {
    folder: PathBuf,
}

impl Default for Pins {
    fn default() -> Self {
        Self::new(DEFAULT_FOLDER)
    }
}

impl Pins {
    /// Pins in this folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The schemes that are loaded, in the order of [`Scheme::ALL`].
    pub fn loaded(&self) -> Vec<Scheme> {
        Scheme::ALL.into_iter().filter(|scheme| self.link(*scheme).exists()).collect()
    }

    /// The schemes with any part here: also the leftovers of a load that was killed.
    pub fn present(&self) -> Vec<Scheme> {
        Scheme::ALL.into_iter().filter(|scheme| self.scheme(*scheme).exists()).collect()
    }

    /// The settings of a scheme for all sockets.
    ///
    /// # Errors
    /// The scheme is not loaded, or permission to read is missing.
    pub fn settings(&self, scheme: Scheme) -> Result<Settings, KernelError> {
        let value = self.settings_map(scheme)?.lookup(&ONLY, MapFlags::ANY);
        let value = value.map_err(KernelError::libbpf(format!("read the settings of {}", scheme.name())))?;
        Settings::of_bytes(scheme, value.unwrap_or_default())
    }

    /// Changes the settings of a scheme for all sockets, the live ones included.
    ///
    /// # Errors
    /// The scheme is not loaded, or permission to write is missing.
    pub fn set(&self, scheme: Scheme, settings: &Settings) -> Result<(), KernelError> {
        self.settings(scheme)?; // Another version may have other settings, but not of another length.
        write_settings(&self.settings_map(scheme)?, scheme, settings)
    }

    /// A number for the programs of a scheme, which no other load or upgrade has had since the machine began.
    ///
    /// # Errors
    /// The scheme is not loaded, or permission to look is missing.
    pub fn programs(&self, scheme: Scheme) -> Result<u32, KernelError> {
        let link = Link::open(self.link(scheme)).and_then(|link| link.info());
        match link.map_err(KernelError::libbpf(format!("look at {}", scheme.name())))?.info {
            LinkTypeInfo::StructOps(info) => Ok(info.map_id),
            _ => Err(self.not_loaded(scheme)),
        }
    }

    fn settings_map(&self, scheme: Scheme) -> Result<MapHandle, KernelError> {
        if !self.link(scheme).exists() {
            return Err(self.not_loaded(scheme));
        }
        let path = self.scheme(scheme).join("settings");
        MapHandle::from_pinned_path(&path)
            .map_err(KernelError::libbpf(format!("open the settings of {}", scheme.name())))
    }

    /// These schemes in the kernel without a pin here, as an error with the possible reason and the remedy.
    pub fn elsewhere(&self, schemes: &[Scheme]) -> Option<KernelError> {
        let available = network::available_schemes().unwrap_or_default();
        let is_elsewhere = |scheme: &Scheme| {
            available.iter().any(|name| name == scheme.name()) && !self.link(*scheme).exists()
        };
        let names: Vec<_> = schemes.iter().copied().filter(is_elsewhere).map(Scheme::name).collect();
        (!names.is_empty()).then(|| KernelError::Elsewhere {
            schemes: names.join(", "),
            folder: self.folder.clone(),
            because: self.why_unseen(),
        })
    }

    fn why_unseen(&self) -> Unseen {
        let may_look = fs::read_dir(self.place())
            .map_or_else(|error| error.kind() != ErrorKind::PermissionDenied, |_| true);
        match (self.is_in_bpf_file_system(), may_look) {
            (false, _) => Unseen::NoFileSystem,
            (true, false) => Unseen::NotPermitted,
            (true, true) => Unseen::OtherPins,
        }
    }

    /// The error that a scheme is not loaded, or is loaded elsewhere.
    pub(crate) fn not_loaded(&self, scheme: Scheme) -> KernelError {
        self.elsewhere(&[scheme]).unwrap_or(KernelError::NotLoaded(scheme.name()))
    }

    /// The error that no scheme is loaded, or that the loaded ones are elsewhere.
    pub fn nothing_loaded(&self) -> KernelError {
        self.elsewhere(&Scheme::ALL).unwrap_or(KernelError::NothingLoaded)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder that holds the folder of pins.
    pub(crate) fn place(&self) -> &Path {
        match self.folder.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        }
    }

    pub(crate) fn is_in_bpf_file_system(&self) -> bool {
        statfs(self.place()).is_ok_and(|stat| stat.f_type as u64 == BPF_FILE_SYSTEM)
    }

    /// The common part of all schemes.
    pub(crate) fn shared(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A map that all schemes share.
    pub(crate) fn shared_map(&self, name: &str) -> Result<MapHandle, KernelError> {
        let path = self.shared(name);
        MapHandle::from_pinned_path(&path).map_err(KernelError::libbpf(format!("open {}", path.display())))
    }

    pub(crate) fn scheme(&self, scheme: Scheme) -> PathBuf {
        self.folder.join(scheme.name())
    }

    pub(crate) fn link(&self, scheme: Scheme) -> PathBuf {
        self.scheme(scheme).join("link")
    }

    /// The path where a map of a scheme's object is pinned; `None` for maps that are not.
    pub(crate) fn map(&self, scheme: Scheme, map: &str) -> Option<PathBuf> {
        match map {
            "settings" => Some(self.scheme(scheme).join(map)),
            "socket_settings" | "recorder" | "missed" | "advice_1" | "peer_flows_1" => Some(self.shared(map)),
            _ => None,
        }
    }

    /// Makes the folder of a scheme.
    pub(crate) fn prepare(&self, scheme: Scheme) -> Result<(), KernelError> {
        let folder = self.scheme(scheme);
        fs::create_dir_all(&folder).map_err(KernelError::system(format!("make {}", folder.display())))
    }

    /// Removes the pins of a scheme, the link first; with the last scheme, the folder and the common parts.
    pub(crate) fn remove(&self, scheme: Scheme) -> Result<(), KernelError> {
        remove_file(&self.link(scheme))?;
        remove_folder(&self.scheme(scheme))?;
        let others_are_there = Scheme::ALL.into_iter().any(|other| self.scheme(other).exists());
        if others_are_there {
            return Ok(());
        }
        SOCKET_OPTIONS.detach(self);
        HEAR_FLOWS.detach(self);
        remove_folder(&self.folder)
    }
}

pub(crate) fn write_settings(
    map: &impl MapCore,
    scheme: Scheme,
    settings: &Settings,
) -> Result<(), KernelError> {
    map.update(&ONLY, settings.as_bytes(), MapFlags::ANY)
        .map_err(KernelError::libbpf(format!("write the settings of {}", scheme.name())))
}

fn remove_file(path: &Path) -> Result<(), KernelError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(KernelError::system(format!("remove {}", path.display()))(error))
        }
        _ => Ok(()),
    }
}

/// A folder of the BPF file system with the pins in it.
fn remove_folder(folder: &Path) -> Result<(), KernelError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(KernelError::system(format!("remove {}", folder.display()))(error))
        }
        _ => Ok(()),
    }
}

// One change of the loaded schemes at a time: if two overlapped, the one that fails would clear away the other's pins.

/// Longer than any change takes: unloading nine schemes waits some tens of milliseconds for each.
const LONGEST_CHANGE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// The right to change the pins in a folder, until it is dropped or the process ends, however it does.
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
                Err(TryLockError::WouldBlock) if began.elapsed() < LONGEST_CHANGE => sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(KernelError::Busy(place.to_owned())),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }
}

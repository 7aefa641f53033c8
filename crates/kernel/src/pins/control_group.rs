//! Programs that act on the sockets of a control group.

use crate::error::KernelError;
use crate::libbpf_log::logged;
use crate::pins::{ONLY, Pins};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder};
use rustix::fs::fstatfs;
use std::fmt;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// `CGROUP2_SUPER_MAGIC` of linux/magic.h.
const CGROUP_FILE_SYSTEM: u64 = 0x6367_7270;

/// A control group of version 2.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
    folder: File,
}

impl ControlGroup {
    /// The group whose folder this is.
    ///
    /// # Errors
    /// The path cannot be opened, or is not a control group.
    pub fn open(path: &Path) -> Result<Self, KernelError> {
        let no_group = |problem| KernelError::NoControlGroup { path: path.to_owned(), problem };
        let folder = File::open(path).map_err(|error| no_group(error.to_string()))?;
        let is_group = fstatfs(&folder).is_ok_and(|stat| stat.f_type as u64 == CGROUP_FILE_SYSTEM);
        if !is_group {
            return Err(no_group("it is in another file system".into()));
        }
        Ok(Self { path: path.to_owned(), folder })
    }
}

impl fmt::Display for ControlGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

/// A program, in an object.
pub(crate) struct GroupProgram {
    /// The name in messages.
    pub(crate) what: &'static str,
    pub(crate) object: &'static [u8],
    /// The name in the object.
    pub(crate) program: &'static str,
    /// The map that it shares with the schemes, where it does.
    pub(crate) shared_map: Option<&'static str>,
    /// The name of its pin, where it stays when the process ends.
    pub(crate) pin: &'static str,
}

const FLOW_COUNT_OBJECT: &[u8] = include_bytes!("../../objects/flow_count.bpf.o");

pub(crate) const HEAR_FLOWS: GroupProgram = GroupProgram {
    what: "the reading of flow counts",
    object: FLOW_COUNT_OBJECT,
    program: "hear_flows",
    shared_map: Some("peer_flows_1"),
    pin: "hear_flows",
};

pub(crate) const TELL_FLOWS: GroupProgram = GroupProgram {
    what: "the telling of flow counts",
    object: FLOW_COUNT_OBJECT,
    program: "tell_flows",
    shared_map: None,
    pin: "tell_flows",
};

pub(crate) const SOCKET_OPTIONS: GroupProgram = GroupProgram {
    what: "socket options",
    object: include_bytes!("../../objects/socket_option.bpf.o"),
    program: "set_option",
    shared_map: Some("socket_settings"),
    pin: "socket_option",
};

impl GroupProgram {
    /// Attaches it to a control group, after the programs of others there, until the link is dropped.
    pub(crate) fn attach(
        &self,
        pins: Option<&Pins>,
        group: &ControlGroup,
    ) -> Result<(Object, Link), KernelError> {
        let object =
            logged(|| self.load(pins)).map_err(|(error, log)| self.rejected(error.to_string(), log))?;
        let program = object.progs_mut().find(|program| program.name() == self.program);
        let program = program
            .ok_or_else(|| self.rejected(format!("there is no program `{}`", self.program), String::new()))?;
        let attached = logged(|| program.attach_cgroup(group.folder.as_raw_fd()));
        let link = attached.map_err(|(error, _)| {
            let action = format!("attach {} to the control group {group}", self.what);
            KernelError::libbpf(action)(error)
        })?;
        Ok((object, link))
    }

    fn load(&self, pins: Option<&Pins>) -> libbpf_rs::Result<Object> {
        let mut object = ObjectBuilder::default().open_memory(self.object)?;
        if let (Some(pins), Some(name)) = (pins, self.shared_map) {
            for mut map in object.maps_mut().filter(|map| map.name() == name) {
                map.set_pin_path(pins.shared(name))?;
            }
        }
        object.load()
    }

    pub(crate) fn rejected(&self, problem: String, log: String) -> KernelError {
        KernelError::Rejected { scheme: self.what, problem, log }
    }

    /// Attaches it in place of where it was attached before, so that it stays when the process ends.
    pub(crate) fn attach_and_pin(&self, pins: &Pins, group: &ControlGroup) -> Result<(), KernelError> {
        if pins.loaded().is_empty() {
            return Err(pins.nothing_loaded());
        }
        let _turn = pins.take_turn()?;
        let (_, mut link) = self.attach(Some(pins), group)?;
        self.detach(pins);
        let pin = pins.shared(self.pin);
        link.pin(&pin).map_err(KernelError::libbpf(format!("pin {}", pin.display())))
    }

    /// Detaches it, where it is attached. Without the pin alone the kernel would do so some time later.
    pub(crate) fn detach(&self, pins: &Pins) {
        let pin = pins.shared(self.pin);
        // libbpf prints a warning about a pin that is not there.
        if pin.exists()
            && let Ok(link) = Link::open(&pin)
        {
            let _ = link.detach();
        }
        let _ = std::fs::remove_file(&pin);
    }
}

// Beta from the user's side: a device says in a TCP option how many flows it has (`bpf/flow_count.bpf.c`).

impl Pins {
    /// Lets the assisted schemes trust the flow counts of users' devices, on the connections that begin from now on in this
    /// control group, until the last scheme is unloaded.
    ///
    /// # Errors
    /// No program is loaded, or permission is missing.
    pub fn hear_flow_counts(&self, group: &ControlGroup) -> Result<(), KernelError> {
        HEAR_FLOWS.attach_and_pin(self, group)
    }
}

/// Tells the number of this device's flows on the acknowledgements of the connections that begin in a control group while this
/// value lives.
#[derive(Debug)]
pub struct FlowTeller {
    flows: MapHandle,
    _link: Link,
}

impl FlowTeller {
    /// Tells nothing until [`Self::tell`] says a number.
    ///
    /// # Errors
    /// The kernel is too old, or permission is missing.
    pub fn start(group: &ControlGroup) -> Result<Self, KernelError> {
        let (object, link) = TELL_FLOWS.attach(None, group)?;
        let map = object.maps().find(|map| map.name() == "own_flows");
        let map =
            map.ok_or_else(|| TELL_FLOWS.rejected("there is no map `own_flows`".into(), String::new()))?;
        let flows = MapHandle::try_from(&map).map_err(KernelError::libbpf("open the map of flows"))?;
        Ok(Self { flows, _link: link })
    }

    /// Tells this number from the next acknowledgement on; zero for none.
    ///
    /// # Errors
    /// The kernel does not take it.
    pub fn tell(&self, flows: u16) -> Result<(), KernelError> {
        self.flows
            .update(&ONLY, &u32::from(flows).to_ne_bytes(), MapFlags::ANY)
            .map_err(KernelError::libbpf("tell the number of flows"))
    }
}

// Lets programs set their own delay target and window for a socket, with setsockopt at the level `IPPROTO_TCP`.

/// The option of the target RTT (DTT) of Reminis: microseconds as a `u32`; zero for that of all sockets.
pub const TARGET_OPTION: i32 = 0x7d01;
/// The option of the window of NATCP and of schemes capped to it: bandwidth-delay products in units of 2^-16, as a `u32`; zero
/// for that of all sockets.
pub const ALPHA_OPTION: i32 = 0x7d02;

impl Pins {
    /// Lets the programs in this control group set [`TARGET_OPTION`] and [`ALPHA_OPTION`], until the last scheme
    /// is unloaded.
    ///
    /// # Errors
    /// No program is loaded, or permission is missing.
    pub fn offer_socket_options(&self, group: &ControlGroup) -> Result<(), KernelError> {
        SOCKET_OPTIONS.attach_and_pin(self, group)
    }
}

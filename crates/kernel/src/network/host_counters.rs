//! Traffic of an interface of this host towards users, and the round-trip times of their TCP, counted in the kernel.

use crate::error::{KernelError, Refusal};
use crate::libbpf_log::logged;
use crate::machine::Machine;
use crate::pins::advising::key;
use crate::sys;
use bytemuck::{Pod, Zeroable, pod_read_unaligned};
use cellcc_assist::{PassiveCounters, PassiveRtt};
use cellcc_fixed::mirror;
use cellcc_units::{Bytes, Span, Time};
use libbpf_rs::libbpf_sys::{BPF_TCX_EGRESS, BPF_TCX_INGRESS};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ObjectBuilder};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};

pub(crate) const OBJECT: &[u8] = include_bytes!("../../objects/host_counters.bpf.o");
const NAME: &str = "the counters of an interface";
/// The program's value for never.
const NEVER: u32 = u32::MAX;

/// The counters of users. They and the programs go with this value, or with the process however it ends.
#[derive(Debug)]
pub struct HostCounters {
    interface: String,
    index: u32,
    users: MapHandle,
    _links: [OwnedFd; 2],
}

mirror! {
    /// The counts of a user.
    #[derive(Pod, Zeroable)]
    pub(crate) struct Counted as user {
        lock: u32,
        rtt_us: u32,
        min_rtt_us: u32,
        min_rtt_before_us: u32,
        window_began_us: u64,
        acked_at_us: u64,
        sent: u64,
        received: u64,
        delivered: u64,
        busy_us: u64,
        measurements: u64,
    }
}

impl HostCounters {
    /// Counts the traffic of this interface of the calling thread's network namespace, for each user. A user has
    /// one or more addresses, and no two users the same.
    ///
    /// # Errors
    /// There is no such interface, the machine cannot count, or the kernel refuses the programs.
    pub fn open(interface: &str, users: &[Vec<IpAddr>], machine: &Machine) -> Result<Self, KernelError> {
        machine.permits_host_counters()?;
        let index = index_of(interface)?;
        let object = logged(|| load(users));
        let object = object.map_err(|(error, log)| KernelError::Rejected {
            scheme: NAME,
            problem: error.to_string(),
            log,
        })?;
        let map = |name: &str| {
            let found = object.maps().find(|map| map.name() == name).ok_or(KernelError::NothingLoaded)?;
            MapHandle::try_from(&found).map_err(KernelError::libbpf(format!("open the map {name}")))
        };
        let counters = map("users")?;
        let addresses = map("addresses")?;
        let write = |map: &MapHandle, key: &[u8], value: &[u8]| {
            map.update(key, value, MapFlags::ANY).map_err(KernelError::libbpf("name users to the kernel"))
        };
        let none =
            Counted { rtt_us: NEVER, min_rtt_us: NEVER, min_rtt_before_us: NEVER, ..Counted::zeroed() };
        for (number, user) in (0_u32..).zip(users) {
            write(&counters, &number.to_ne_bytes(), bytemuck::bytes_of(&none))?;
            for address in user {
                write(&addresses, &key(*address), &number.to_ne_bytes())?;
            }
        }
        let attach = |name: &str, hook| {
            let program = object.progs().find(|program| program.name() == name);
            let program = program.ok_or(KernelError::NothingLoaded)?;
            sys::link_to_interface(program.as_fd(), index, hook)
                .map_err(KernelError::system(format!("count on the interface {interface}")))
        };
        let links = [attach("towards_users", BPF_TCX_EGRESS)?, attach("from_users", BPF_TCX_INGRESS)?];
        Ok(Self { interface: interface.into(), index, users: counters, _links: links })
    }

    /// The counts of a user, by its place in the list.
    ///
    /// # Errors
    /// The interface is gone, or the kernel does not tell.
    pub fn read(&self, user: usize) -> Result<PassiveCounters, KernelError> {
        if index_of(&self.interface)? != self.index {
            return Err(KernelError::InterfaceReplaced(self.interface.clone()));
        }
        let number = u32::try_from(user).unwrap_or(u32::MAX);
        let found = self.users.lookup(&number.to_ne_bytes(), MapFlags::LOCK);
        let bytes = found.map_err(KernelError::libbpf("read the counters"))?;
        let bytes = bytes.filter(|bytes| bytes.len() == size_of::<Counted>());
        Ok(bytes
            .map_or_else(PassiveCounters::default, |bytes| pod_read_unaligned::<Counted>(&bytes).passive()))
    }
}

/// The programs with room for the users.
fn load(users: &[Vec<IpAddr>]) -> libbpf_rs::Result<Object> {
    let room = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let mut object = ObjectBuilder::default().name("host_counters")?.open_memory(OBJECT)?;
    for mut map in object.maps_mut() {
        match map.name().to_str() {
            Some("users") => map.set_max_entries(room(users.len()))?,
            Some("addresses") => map.set_max_entries(room(users.iter().map(Vec::len).sum()))?,
            _ => {}
        }
    }
    object.load()
}

fn index_of(interface: &str) -> Result<u32, KernelError> {
    let asked = || netdevice::name_to_index(socket(AddressFamily::INET, SocketType::DGRAM, None)?, interface);
    asked().map_err(|error| match error {
        Errno::NODEV | Errno::NAMETOOLONG | Errno::INVAL => KernelError::NoInterface(interface.into()),
        _ => KernelError::system(format!("find the interface {interface}"))(io::Error::from(error)),
    })
}

impl Machine {
    /// Checks that [`HostCounters`] can be opened here. The kernel's type information is not needed.
    ///
    /// # Errors
    /// The first thing that is missing.
    pub fn permits_host_counters(&self) -> Result<(), Refusal> {
        self.permits_network_programs(NAME)
    }
}

impl Counted {
    fn passive(&self) -> PassiveCounters {
        let span = |micros: u32| Span::from_micros(micros.into());
        let rtt =
            PassiveRtt { last: span(self.rtt_us), min: span(self.min_rtt_us.min(self.min_rtt_before_us)) };
        PassiveCounters {
            delivered: Bytes::new(self.delivered),
            received: Bytes::new(self.received),
            waited: Span::from_micros(self.busy_us),
            rtt: (self.rtt_us != NEVER).then_some(rtt),
            acknowledged_at: Time::ZERO + Span::from_micros(self.acked_at_us),
        }
    }
}

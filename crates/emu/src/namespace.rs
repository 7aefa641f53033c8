//! Network namespaces, held by a file descriptor: nothing under /var/run, and each vanishes with its last user.

use crate::error::EmuError;
use crate::netlink::{LinkChange, Netlink};
use crate::sys;
use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, capabilities, configure_capability_in_ambient_set,
    move_into_link_name_space, set_capabilities,
};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::process::Command;
use std::sync::Arc;

/// A network namespace. Clones are handles of the same one.
#[derive(Debug, Clone)]
pub struct Namespace {
    file: Arc<OwnedFd>,
}

impl Namespace {
    /// The calling thread's namespace.
    ///
    /// # Errors
    /// /proc is not mounted.
    pub fn current() -> Result<Self, EmuError> {
        let file = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(EmuError::system("open /proc/thread-self/ns/net"))?;
        Ok(Self { file: Arc::new(file) })
    }

    /// A new namespace. Loopback is up; packets are forwarded, for an emulator within the emulator; IPv6 addresses
    /// work at once; TCP may use windows of 64 MB, and keeps no metrics from one connection to the next.
    ///
    /// # Errors
    /// We may not make one: [`enter_user_namespace_if_needed`] was not called, or did not help.
    pub fn create() -> Result<Self, EmuError> {
        let make = || {
            sys::unshare_network().map_err(|source| match source.kind() {
                io::ErrorKind::PermissionDenied => EmuError::Missing(
                    "this process may not make a network namespace; run it as root, or see `cellcc doctor`"
                        .into(),
                ),
                _ => EmuError::system("make a network namespace")(source),
            })?;
            let mut netlink = Netlink::open()?;
            let loopback = netlink.link_named("lo")?.index;
            netlink.change_link(loopback, &LinkChange { up: true, ..LinkChange::default() })?;
            prepare()?;
            Self::current()
        };
        on_new_thread(make)
    }

    /// A connection to its tables.
    pub(crate) fn netlink(&self) -> Result<Netlink, EmuError> {
        self.run(Netlink::open)?
    }

    /// Runs `work` in this namespace, in a thread of its own, and waits for it.
    ///
    /// # Errors
    /// We may not enter the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, EmuError> {
        let enter_and_work = || {
            if !self.is_current() {
                move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Network))
                    .map_err(EmuError::system("enter a network namespace"))?;
            }
            Ok(work())
        };
        on_new_thread(enter_and_work)
    }

    /// Lets a command run in this namespace once it is started.
    pub fn command(&self, command: &mut Command) {
        let namespace = self.clone();
        sys::before_exec(command, move || namespace.enter_in_child());
    }

    /// Between fork and exec, hence without allocation.
    fn enter_in_child(&self) -> io::Result<()> {
        match move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Network)) {
            // A process without rights over its own namespace may stay in it.
            Err(Errno::PERM) if self.is_current() => Ok(()),
            other => Ok(other?),
        }
    }

    /// True if the calling thread is in this namespace. Allocates nothing.
    fn is_current(&self) -> bool {
        let current = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let identity = |file: BorrowedFd<'_>| fstat(file).map(|stat| (stat.st_dev, stat.st_ino));
        current.and_then(|file| Ok(identity(file.as_fd())? == identity(self.as_fd())?)).unwrap_or(false)
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn on_new_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Sets up the namespace of the calling thread, which must be one of ours.
fn prepare() -> Result<(), EmuError> {
    // The kernel scales windows up to the third number; 64 MB is one BDP of 10 Gbit/s at 50 ms.
    const BUFFERS: [(&str, &str); 2] =
        [("net/ipv4/tcp_rmem", "4096 131072 67108864"), ("net/ipv4/tcp_wmem", "4096 65536 67108864")];
    const SWITCHES: [(&str, &str); 9] = [
        ("net/ipv4/ip_forward", "1"),
        // A cached ssthresh would make a run depend on the one before it.
        ("net/ipv4/tcp_no_metrics_save", "1"),
        // The namespace forwards; a link's own setting only makes it join the routers' group, and say so on the link.
        ("net/ipv6/conf/all/forwarding", "1"),
        ("net/ipv6/conf/default/forwarding", "0"),
        ("net/ipv6/conf/default/accept_dad", "0"),
        ("net/ipv6/conf/default/accept_ra", "0"),
        // No link-local addresses, hence no chatter of the kernel's own on the emulated link.
        ("net/ipv6/conf/default/addr_gen_mode", "1"),
        ("net/ipv6/conf/all/disable_ipv6", "0"),
        ("net/ipv6/conf/default/disable_ipv6", "0"),
    ];
    for (name, value) in BUFFERS.into_iter().chain(SWITCHES) {
        set_sysctl(name, value)?;
    }
    // Lets ping work without rights of its own. In a user namespace only the mapped group can be named.
    let gid = getegid().as_raw();
    let everybody = set_sysctl("net/ipv4/ping_group_range", "0 2147483647");
    let _ = everybody.or_else(|_| set_sysctl("net/ipv4/ping_group_range", &format!("{gid} {gid}")));
    Ok(())
}

/// Sets a value of the calling thread's network namespace; `name` is relative to /proc/sys. Does nothing where the
/// kernel has no such value (IPv6 switched off at boot).
pub(crate) fn set_sysctl(name: &str, value: &str) -> Result<(), EmuError> {
    match fs::write(format!("/proc/sys/{name}"), value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(EmuError::system(format!("set {} to {value}", name.replace('/', ".")))),
    }
}

/// The emulator's needs: namespaces (SYS_ADMIN), links and routes (NET_ADMIN), AF_PACKET sockets (NET_RAW).
const NEEDED: [CapabilitySet; 3] =
    [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW];

/// Gives an ordinary user the rights that the emulator needs, in a user namespace with unchanged user and group ids; true if it
/// had to. Programs started from then on have these rights too, within that namespace only, so that an emulator works inside
/// the emulator. Does nothing for root.
///
/// Must be called before the process has a second thread.
///
/// # Errors
/// The kernel does not let ordinary users make user namespaces; the message names the setting.
pub fn enter_user_namespace_if_needed() -> Result<bool, EmuError> {
    let needed = NEEDED.into_iter().fold(CapabilitySet::empty(), |all, one| all | one);
    let mut sets = capabilities(None).map_err(EmuError::system("read this process's capabilities"))?;
    if sets.effective.contains(needed) {
        return Ok(false);
    }
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    sys::unshare_user().map_err(|source| EmuError::Missing(no_user_namespace(&source)))?;
    let write = |file: &str, text: &str| {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|source| EmuError::Missing(no_user_namespace(&source)))
    };
    write("setgroups", "deny")?;
    write("uid_map", &format!("{uid} {uid} 1"))?;
    write("gid_map", &format!("{gid} {gid} 1"))?;

    // Ambient capabilities survive exec; they must be permitted and inheritable.
    sets = capabilities(None).map_err(EmuError::system("read this process's capabilities"))?;
    sets.inheritable |= needed;
    set_capabilities(None, sets).map_err(EmuError::system("make capabilities inheritable"))?;
    for capability in NEEDED {
        configure_capability_in_ambient_set(capability, true)
            .map_err(EmuError::system("hand capabilities on to the programs inside"))?;
    }
    Ok(true)
}

fn no_user_namespace(source: &io::Error) -> String {
    // The kernel's answer to a process with several threads.
    if source.kind() == io::ErrorKind::InvalidInput {
        return "a process with several threads may not make a user namespace; run this as root, or use the command `cellcc`"
            .into();
    }
    let knobs = [
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
    ];
    let closed = |(file, bad, _): &(&str, &str, &str)| {
        fs::read_to_string(file).is_ok_and(|value| value.trim() == *bad)
    };
    let remedy = match knobs.into_iter().find(closed) {
        Some((_, _, setting)) => format!("let root set `sysctl {setting}`, or run this as root"),
        None => "run this as root".to_owned(),
    };
    format!("this user may not make a user namespace ({source}); {remedy}")
}

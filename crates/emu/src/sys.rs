//! The system calls for which no crate has a safe wrapper. All of this crate's unsafe code is here.

#![allow(unsafe_code, reason = "thin wrappers over ioctl, setsockopt and fork")]

use rustix::process::Pid;
use rustix::thread::UnshareFlags;
use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Bytes of the legacy virtio_net_hdr, which both back ends use (`linux/virtio_net.h`).
pub(crate) const VNET_HEADER_BYTES: usize = 10;

/// The kernel's answer to a system call that gives -1 for an error.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes this file of /dev/net/tun a TUN device with a virtio_net_hdr before each packet. "%d" in `name` stands for the
/// first free number; the answer is the name that it got.
pub(crate) fn tun_attach(file: BorrowedFd<'_>, name: &str) -> io::Result<String> {
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: ifreq is plain data, for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one ifreq, which lives here.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    let size = VNET_HEADER_BYTES as libc::c_int;
    // SAFETY: TUNSETVNETHDRSZ reads one int, which lives here.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETVNETHDRSZ, &raw const size) })?;
    Ok(request.ifr_name.iter().take_while(|c| **c != 0).map(|c| char::from(*c as u8)).collect())
}

/// Units that a TUN device hands over unsegmented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TunOffload {
    /// TCP and UDP super-packets; Linux 6.2 and later.
    TcpAndUdp,
    /// TCP super-packets.
    Tcp,
}

/// Asks for unsegmented packets without checksums: TCP's, and UDP's where the kernel can.
pub(crate) fn tun_offload(file: BorrowedFd<'_>) -> io::Result<TunOffload> {
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    let udp = libc::TUN_F_USO4 | libc::TUN_F_USO6;
    let set = |flags: libc::c_uint| {
        // SAFETY: TUNSETOFFLOAD takes its flags by value.
        checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) })
    };
    if set(tcp | udp).is_ok() {
        return Ok(TunOffload::TcpAndUdp);
    }
    set(tcp)?;
    Ok(TunOffload::Tcp)
}

fn set_option(socket: BorrowedFd<'_>, level: i32, option: i32, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option's value is one int, which lives here.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    checked(result).map(drop)
}

/// An AF_PACKET socket on one interface: whole Ethernet frames with a virtio_net_hdr before each, not those that we send.
pub(crate) fn packet_socket(interface: u32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // Protocol 0: nothing arrives before the options are set.
    // SAFETY: no pointers.
    let descriptor = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor is new, and only ours.
    let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let borrowed = socket.as_fd();
    set_option(borrowed, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    set_option(borrowed, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;

    // SAFETY: sockaddr_ll is plain data, for which all zeros is a value.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address and its length belong together.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(socket)
}

/// `linux/if_packet.h`; not in every libc.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Packets that found the socket's buffer full since this was asked last.
pub(crate) fn packet_drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    /// `struct tpacket_stats` of `linux/if_packet.h`.
    #[repr(C)]
    struct Statistics {
        packets: u32,
        drops: u32,
    }
    let mut statistics = MaybeUninit::<Statistics>::zeroed();
    let mut length = size_of::<Statistics>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of the structure, which lives here.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            statistics.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    // SAFETY: it is plain data and was zeroed before the kernel wrote to it.
    Ok(unsafe { statistics.assume_init() }.drops)
}

/// Sets both buffers of a socket; beyond the machine's limits where we may, up to them where not.
pub(crate) fn set_buffers(socket: BorrowedFd<'_>, receive_bytes: i32, send_bytes: i32) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, receive_bytes)
        .or_else(|_| set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, receive_bytes))?;
    set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, send_bytes)
        .or_else(|_| set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, send_bytes))
}

/// Lets a TCP socket take more to send only while less than this many bytes wait for their first transmission.
pub(crate) fn set_not_sent_low_water(socket: BorrowedFd<'_>, bytes: i32) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Reads `struct tcp_info` of `linux/tcp.h` as bytes; fields that this kernel lacks stay zero.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>, info: &mut [u8; 256]) -> io::Result<()> {
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of the array.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    })
    .map(drop)
}

/// Gives the calling thread a network namespace of its own.
pub(crate) fn unshare_network() -> io::Result<()> {
    // SAFETY: the danger of unshare is a thread with a file table of its own; this flag leaves that alone.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// Gives the process, which must have one thread only, a user namespace of its own.
pub(crate) fn unshare_user() -> io::Result<()> {
    // SAFETY: as above.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }?)
}

/// A second process that goes on from here; the child gets `None`. This process must have one thread only.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: no other thread, which the callers see to, can have left a lock in a state that the child would wait for.
    Ok(Pid::from_raw(checked(unsafe { libc::fork() })?))
}

/// Ends this process without the exit work of the process that it was forked from, such as writing buffers.
pub(crate) fn exit_at_once() -> ! {
    // SAFETY: no pointers.
    unsafe { libc::_exit(0) }
}

/// Signals that ask this process to end do nothing from now on.
pub(crate) fn ignore_requests_to_end() {
    for signal in FORWARDED {
        // SAFETY: no handler, hence none that could do harm.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Runs `action` in the child between fork and exec. It may only make system calls: no locks, no allocation.
pub(crate) fn before_exec(
    command: &mut Command,
    action: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the callers, all in this crate, keep this rule.
    unsafe { command.pre_exec(action) };
}

/// The signals that are forwarded to children: those with which people, shells and service managers end programs.
const FORWARDED: [libc::c_int; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// The most children that receive our signals: 64 users' commands and their servers.
pub(crate) const MOST_CHILDREN: usize = 128;

/// Process ids of the children that get our signals; 0 for a free entry.
static CHILDREN: [AtomicI32; MOST_CHILDREN] = [const { AtomicI32::new(0) }; MOST_CHILDREN];

/// True once the children have been told to end.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

/// The last of these signals that came while there were children, from a process or a terminal; 0 for none.
static LAST_SIGNAL: AtomicI32 = AtomicI32::new(0);

/// True while no signal may end this process.
static HELD: AtomicBool = AtomicBool::new(false);

/// True while a child is being started whose number is not yet noted.
static STARTING: AtomicBool = AtomicBool::new(false);

/// The signal that came meanwhile; 0 for none.
static CAME_EARLY: AtomicI32 = AtomicI32::new(0);

/// Forwards the signals that other processes send to this one to its children from now on. This process lives on
/// while it has children, or starts one. A terminal's signals (Ctrl-C) reach them directly. Ignored signals stay ignored, as
/// `nohup` expects.
pub(crate) fn forward_signals() -> io::Result<()> {
    ASKED_TO_END.store(false, Ordering::Relaxed);
    LAST_SIGNAL.store(0, Ordering::Relaxed);
    HELD.store(false, Ordering::Relaxed);
    for signal in FORWARDED {
        // SAFETY: sigaction is plain data, for which all zeros is a value.
        let mut action: libc::sigaction = unsafe { zeroed() };
        // SAFETY: the kernel writes to `action`, which lives here.
        checked(unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) })?;
        if action.sa_sigaction == libc::SIG_IGN {
            continue;
        }
        let handler: extern "C" fn(libc::c_int, *const libc::siginfo_t, *const libc::c_void) = forward;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
        // SAFETY: the handler reads and writes atomics and calls kill, write, signal and raise, all of which a handler may.
        checked(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })?;
    }
    Ok(())
}

/// The last signal that was forwarded, or that the terminal has sent to all.
pub(crate) fn last_signal() -> Option<i32> {
    Some(LAST_SIGNAL.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// From now on the signals of [`forward_signals`] do not end this process, even where it has no children.
pub(crate) fn hold_signals() {
    HELD.store(true, Ordering::Relaxed);
}

extern "C" fn forward(signal: libc::c_int, information: *const libc::siginfo_t, _: *const libc::c_void) {
    // The interrupted code may be about to look at the error of its last call.
    // SAFETY: the place is this thread's own.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: with SA_SIGINFO the kernel gives a valid pointer.
    let from_a_process = unsafe { (*information).si_code } <= 0;
    forward_to_children(signal, from_a_process);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn forward_to_children(signal: libc::c_int, from_a_process: bool) {
    // First: who is no longer being started is among the children.
    let is_starting = STARTING.load(Ordering::SeqCst);
    let mut children =
        CHILDREN.iter().map(|child| child.load(Ordering::SeqCst)).filter(|pid| *pid > 0).peekable();
    if children.peek().is_none() && !is_starting {
        if !HELD.load(Ordering::Relaxed) {
            // SAFETY: no pointers. Ends this process, once the handler has returned and unblocked the signal.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
        return;
    }
    LAST_SIGNAL.store(signal, Ordering::Relaxed);
    if is_starting {
        CAME_EARLY.store(signal, Ordering::SeqCst);
    }
    if !from_a_process {
        return;
    }
    let asks_to_end = matches!(signal, libc::SIGINT | libc::SIGTERM);
    let again = asks_to_end && ASKED_TO_END.swap(true, Ordering::Relaxed);
    if again {
        const NOTE: &[u8] =
            b"note: asked to end for the second time; killing processes that ignored the first\n";
        // SAFETY: the text and its length belong together.
        unsafe { libc::write(libc::STDERR_FILENO, NOTE.as_ptr().cast(), NOTE.len()) };
    }
    for pid in children {
        // SAFETY: no pointers.
        unsafe { libc::kill(pid, if again { libc::SIGKILL } else { signal }) };
    }
}

/// Starts a child, which gets the signals that are forwarded, and those that come before its number is known. False: there are too
/// many already.
pub(crate) fn forward_to<E>(start: impl FnOnce() -> Result<Pid, E>) -> Result<(Pid, bool), E> {
    let take = |place: &AtomicI32, pid: i32| {
        place.compare_exchange(0, pid, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    };
    CAME_EARLY.store(0, Ordering::SeqCst);
    STARTING.store(true, Ordering::SeqCst);
    let child = start();
    let is_taken = child.as_ref().is_ok_and(|pid| CHILDREN.iter().any(|place| take(place, pid.as_raw_pid())));
    STARTING.store(false, Ordering::SeqCst);
    let signal = CAME_EARLY.swap(0, Ordering::SeqCst);
    if signal != 0 {
        // Where there is no child, it is this process's.
        let to = child.as_ref().map_or(std::process::id().cast_signed(), |pid| pid.as_raw_pid());
        // SAFETY: no pointers.
        unsafe { libc::kill(to, signal) };
    }
    Ok((child?, is_taken))
}

/// The child has ended; its id may become another process's.
pub(crate) fn forward_no_more_to(pid: i32) {
    for place in &CHILDREN {
        let _ = place.compare_exchange(pid, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Lets the calling thread run before all ordinary ones as soon as it is ready. False where we may not.
pub(crate) fn prefer_this_thread() -> bool {
    // musl's structure has four fields more.
    // SAFETY: integers and times, for which zero is a value.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = 1;
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `parameters` lives here; 0 is the calling thread.
    checked(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) }).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Child;
    use std::sync::Mutex;

    /// Children are the process's.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    fn start(program: &str) -> (Child, Pid) {
        let mut child = None;
        let started = forward_to(|| -> io::Result<Pid> {
            // As if it came between fork and exec.
            if program == "sleep" {
                arrives(libc::SIGTERM);
            }
            let child = child.insert(Command::new(program).arg("60").spawn()?);
            Ok(Pid::from_child(child))
        });
        let (pid, is_taken) = started.unwrap();
        assert!(is_taken);
        (child.unwrap(), pid)
    }

    /// A signal that a process has sent.
    fn arrives(signal: libc::c_int) {
        // SAFETY: siginfo_t is plain data; its si_code of 0 says that a process has sent it.
        let information: libc::siginfo_t = unsafe { zeroed() };
        forward(signal, &raw const information, std::ptr::null());
    }

    /// The interrupted code took the handler's error for its own.
    #[test]
    fn a_forwarded_signal_leaves_the_error_of_what_it_interrupts() {
        let _alone = ONE_AT_A_TIME.lock();
        let (mut child, pid) = start("true");
        child.wait().unwrap();
        // SAFETY: the place is this thread's own.
        unsafe { *libc::__errno_location() = libc::EAGAIN };
        arrives(libc::SIGHUP);
        let errno = io::Error::last_os_error();
        forward_no_more_to(pid.as_raw_pid());
        assert_eq!(errno.raw_os_error(), Some(libc::EAGAIN), "kill fails: the child has ended");
    }

    /// Such a signal once ended this process, and the command with it.
    #[test]
    fn a_signal_that_comes_while_a_child_is_started_is_the_childs() {
        let _alone = ONE_AT_A_TIME.lock();
        let (mut child, pid) = start("sleep");
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        forward_no_more_to(pid.as_raw_pid());
    }
}

//! The two ends of a flow: a sender that gives the kernel its application's data, a receiver that reads.

use super::tcp_info::TcpInfo;
use crate::emulation::Clock;
use crate::error::EmuError;
use crate::namespace::set_sysctl;
use crate::realtime::{receiver_of, sleep_until};
use crate::sys;
use crate::topology::Topology;
use cellcc_experiment::{Application, FlowSetup, Source};
use cellcc_units::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, connect_unspec, recv};
use rustix::time::{ClockId, clock_gettime};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A sender's reserve in the kernel beyond the data in flight: enough for 4 ms at 2 Gbit/s, so that a sender thread that runs
/// late leaves no gap.
const READY_BYTES: i32 = 1 << 20;

/// The reserve for a source that pauses. It is less, because data that is ready is still sent after the pause begins.
const READY_BYTES_OF_PAUSING: i32 = 1 << 16;

/// Bytes per call: a larger buffer would not stay in the cache.
const CALL_BYTES: usize = 1 << 18;

/// The interval at which a receiver checks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A flow's sockets, each in the network namespace of its side, whatever thread uses them.
#[derive(Debug)]
pub(crate) struct Endpoints {
    sender: Socket,
    listener: Socket,
    to: SocketAddr,
}

/// The measurements of a sender.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sent {
    /// `None` without a connection.
    pub(crate) info: Option<TcpInfo>,
    /// The duration of the connection.
    pub(crate) connected: Span,
    /// The CPU time of its thread.
    pub(crate) cpu: Span,
}

impl Endpoints {
    /// The sockets of flow `index`, whose sender runs the kernel's congestion control `kernel_name`.
    pub(crate) fn open(
        topology: &Topology,
        index: usize,
        setup: &FlowSetup,
        kernel_name: &str,
    ) -> Result<Self, EmuError> {
        let (user, to) = receiver_of(topology, index, setup)?;
        let stream = || Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
        let listen = || {
            let socket = stream()?;
            socket.set_read_timeout(Some(LOOK_EVERY))?;
            socket.bind(&to.into())?;
            socket.listen(1)?;
            Ok::<_, io::Error>(socket)
        };
        let from = SocketAddr::from((topology.outside().address4, 0));
        let ready = match setup.source {
            Source::Bulk | Source::Sized(_) => READY_BYTES,
            Source::OnOff { .. }
            | Source::Rate(_)
            | Source::Frames { .. }
            | Source::Video { .. }
            | Source::Steps(_) => READY_BYTES_OF_PAUSING,
        };
        let send = || {
            let socket = stream()?;
            socket.bind(&from.into())?;
            socket.set_nonblocking(true)?;
            socket.set_tcp_nodelay(true)?;
            socket.set_tcp_congestion(kernel_name.as_bytes())?;
            sys::set_not_sent_low_water(socket.as_fd(), ready)?;
            Ok::<_, io::Error>(socket)
        };
        let listener = user.namespace.run(listen)?.map_err(EmuError::system("open the receiver's socket"))?;
        let sender = topology.outside().namespace.run(send)?;
        let sender = sender.map_err(EmuError::system(format!(
            "open a sender's socket with the congestion control `{kernel_name}`"
        )))?;
        Ok(Self { sender, listener, to })
    }

    /// The address of the receiver.
    pub(crate) fn peer(&self) -> IpAddr {
        self.to.ip()
    }

    /// The kernel's statistics of the connection; `None` without a connection.
    pub(crate) fn info(&self) -> Option<TcpInfo> {
        TcpInfo::of(self.sender.as_fd()).ok().filter(|info| !info.srtt.is_zero())
    }

    /// Sends the application's data until the flow stops. Then it aborts the connection: nothing more is sent, and
    /// packets in flight still arrive.
    pub(crate) fn send(&self, mut application: Application, clock: Clock) -> io::Result<Sent> {
        sleep_until(clock, application.start());
        let stop = application.stop();
        if !self.connect(clock, stop)? {
            return Ok(Sent::default());
        }
        let connected_at = clock.now();
        let buffer = vec![0; CALL_BYTES];
        let mut ready = 0;
        loop {
            let now = clock.now();
            if now >= stop {
                break;
            }
            while ready < CALL_BYTES && application.ready_at(now) <= now {
                let segment = application.take(now);
                ready += application.payload(segment).get() as usize;
            }
            if ready == 0 {
                sleep_until(clock, application.ready_at(now).min(stop));
                continue;
            }
            match self.sender.send(&buffer[..ready.min(CALL_BYTES)]) {
                Ok(taken) => ready -= taken,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait_until_writable(clock, stop)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let info = self.info();
        let _ = connect_unspec(&self.sender);
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let cpu = Duration::new(cpu.tv_sec.unsigned_abs(), cpu.tv_nsec.unsigned_abs() as u32);
        Ok(Sent { info, connected: stop.since(connected_at), cpu: Span::from_secs_f64(cpu.as_secs_f64()) })
    }

    /// False where the other end was not reached in time.
    fn connect(&self, clock: Clock, stop: Time) -> io::Result<bool> {
        match self.sender.connect(&self.to.into()) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            other => return other.map(|()| true),
        }
        self.wait_until_writable(clock, stop)?;
        match self.sender.take_error()? {
            Some(error) if error.kind() == ErrorKind::TimedOut => Ok(false),
            Some(error) => Err(error),
            None => Ok(clock.now() < stop),
        }
    }

    fn wait_until_writable(&self, clock: Clock, stop: Time) -> io::Result<()> {
        let left = stop.since(clock.now()).as_nanos();
        let timeout = Timespec {
            tv_sec: (left / 1_000_000_000).cast_signed(),
            tv_nsec: (left % 1_000_000_000).cast_signed(),
        };
        match poll(&mut [PollFd::new(&self.sender, PollFlags::OUT)], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Accepts the connection and reads, until `done`.
    pub(crate) fn receive(&self, done: &AtomicBool) -> io::Result<()> {
        let is_done = || done.load(Ordering::Relaxed);
        let stream = loop {
            match self.listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if waits(&error) && !is_done() => {}
                Err(error) if waits(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        };
        stream.set_read_timeout(Some(LOOK_EVERY))?;
        let mut buffer = vec![0; CALL_BYTES];
        while !is_done() {
            // TRUNC: TCP throws the data away instead of copying it.
            match recv(&stream, &mut buffer[..], RecvFlags::TRUNC) {
                Ok((_, 0)) => return Ok(()),
                Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                // The sender aborted the connection.
                Err(rustix::io::Errno::CONNRESET) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Lets the socket buffers in a namespace grow far beyond any emulated path, so that only congestion control and the
/// path limit a flow. Both ends of a connection begin with the usual sizes.
pub(crate) fn let_buffers_grow() -> Result<(), EmuError> {
    /// Twice the kernel's need for 3 s at 1 Gbit/s: half of a buffer holds data, the other half its bookkeeping.
    const MOST_BYTES: u32 = 1 << 30;
    set_sysctl("net/ipv4/tcp_rmem", &format!("4096 131072 {MOST_BYTES}"))?;
    set_sysctl("net/ipv4/tcp_wmem", &format!("4096 65536 {MOST_BYTES}"))
}

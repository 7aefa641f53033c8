//! A UDP socket with the kernel's receive stamps, many datagrams per system call, and segmentation by the kernel.

use crate::clock::Stamps;
use crate::error::RecordError;
use cellcc_units::{Span, Time};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, ReceiveTimestampns, RxqOvfl};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmsg,
    setsockopt,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use socket2::{Domain, Protocol, Type};
use std::io::{IoSlice, IoSliceMut};
use std::net::{Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

/// Datagrams per system call.
const BATCH: usize = 64;
/// Longer than any expected datagram. A longer one is cut off, and then ignored.
const LONGEST: usize = 9216;
/// Room for 40 ms at 2 Gbit/s: a scheduler's pause. An ordinary user may be granted less.
const BUFFER: usize = 16 << 20;
/// The kernel cuts at most 64 segments (UDP_MAX_SEGMENTS), and a datagram holds less than 64 KiB.
const MAX_SEGMENTS: usize = 64;
const MAX_SEND: usize = 64_000;
/// How long to wait for room in a full send buffer.
const SEND_TIMEOUT: Span = Span::from_millis(20);

/// A datagram that was received.
pub(crate) struct Datagram<'a> {
    pub(crate) from: SocketAddr,
    /// By the kernel's stamp, on the monotonic clock.
    pub(crate) arrived: Time,
    pub(crate) bytes: &'a [u8],
}

pub(crate) struct Socket {
    socket: socket2::Socket,
    buffers: Vec<[u8; LONGEST]>,
    segmentation: bool,
    /// Datagrams that the kernel had no room for, as it counts them: wraps.
    overflows: u32,
}

impl Socket {
    /// The far end's socket on `address`: for IPv4 too where that is the unspecified IPv6 address.
    pub(crate) fn bind(address: SocketAddr) -> Result<Self, RecordError> {
        let socket = Self::open(address)?;
        if address.is_ipv6() {
            let _ = socket.set_only_v6(!address.ip().is_unspecified());
        }
        socket.bind(&address.into()).map_err(RecordError::system(format!("listen on UDP {address}")))?;
        Ok(Self::new(socket))
    }

    /// The near end's socket, connected to `peer`.
    pub(crate) fn connect(peer: SocketAddr) -> Result<Self, RecordError> {
        let socket = Self::open(peer)?;
        socket.connect(&peer.into()).map_err(RecordError::system(format!("reach {peer}")))?;
        Ok(Self::new(socket))
    }

    fn open(address: SocketAddr) -> Result<socket2::Socket, RecordError> {
        let socket = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))
            .map_err(RecordError::system("open a UDP socket"))?;
        socket.set_nonblocking(true).map_err(RecordError::system("prepare a UDP socket"))?;
        setsockopt(&socket, ReceiveTimestampns, &true)
            .map_err(RecordError::system("ask for receive stamps"))?;
        // The other options help where the kernel has them.
        let _ = setsockopt(&socket, RxqOvfl, &1);
        let _ = setsockopt(&socket, RcvBufForce, &BUFFER).or_else(|_| setsockopt(&socket, RcvBuf, &BUFFER));
        let _ = socket.set_send_buffer_size(BUFFER);
        // No fragments: a fragmented packet would take several opportunities.
        let _ = sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO);
        if address.is_ipv6() {
            let _ = sockopt::set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO);
        }
        Ok(socket)
    }

    fn new(socket: socket2::Socket) -> Self {
        Self { socket, buffers: vec![[0; LONGEST]; BATCH], segmentation: true, overflows: 0 }
    }

    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()?.as_socket()
    }

    /// Datagrams that the kernel had no room for so far.
    pub(crate) fn overflows(&self) -> u32 {
        self.overflows
    }

    /// Waits for a datagram, at most for `span`.
    pub(crate) fn wait(&self, span: Span) {
        self.poll(PollFlags::IN, span);
    }

    fn poll(&self, flags: PollFlags, span: Span) {
        let nanos = span.as_nanos();
        let timeout =
            Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
        // An interruption by a signal counts as the end of the time.
        let _ = poll(&mut [PollFd::new(&self.socket, flags)], Some(&timeout));
    }

    /// Hands over the datagrams received; false where there were none.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(Datagram<'_>)) -> Result<bool, RecordError> {
        // Fresh headers each time: the kernel shortens their lengths, and they are not restored.
        let space = cmsg_space!(libc::timespec, u32);
        let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, Some(space));
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            self.buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let flags = MsgFlags::MSG_DONTWAIT;
        let received = match recvmmsg(self.socket.as_raw_fd(), &mut headers, slices.iter_mut(), flags, None) {
            Ok(received) => received,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(false),
            // No program listens at the far end: the handshake's timeout decides.
            Err(Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH) => return Ok(false),
            Err(error) => return Err(RecordError::system("receive")(error)),
        };
        let stamps = Stamps::now();
        for message in received {
            let mut arrived = stamps.monotonic(i64::MAX, 0);
            for control in message.cmsgs().into_iter().flatten() {
                match control {
                    ControlMessageOwned::ScmTimestampns(stamp) => {
                        arrived = stamps.monotonic(stamp.tv_sec(), stamp.tv_nsec());
                    }
                    ControlMessageOwned::RxqOvfl(count) => self.overflows = count,
                    _ => {}
                }
            }
            let from = message.address.as_ref().and_then(address);
            if let Some(from) = from {
                take(Datagram { from, arrived, bytes: message.iovs().next().unwrap_or_default() });
            }
        }
        Ok(true)
    }

    /// The most segments of `size` bytes for one call of [`Socket::send`].
    pub(crate) fn segments_at_once(size: usize) -> usize {
        (MAX_SEND / size.max(1)).clamp(1, MAX_SEGMENTS)
    }

    /// Sends `bytes` as datagrams of `segment` bytes. Packets without room in the machine are lost, as on the path.
    pub(crate) fn send(
        &mut self,
        bytes: &[u8],
        segment: usize,
        to: Option<SocketAddr>,
    ) -> Result<(), RecordError> {
        let to = to.map(SockaddrStorage::from);
        if bytes.len() > segment && self.segmentation {
            let size = segment as u16;
            match self.send_once(bytes, &[ControlMessage::UdpGsoSegments(&size)], to.as_ref()) {
                Err(Errno::EIO | Errno::EINVAL | Errno::EOPNOTSUPP) => self.segmentation = false,
                result => return check_sent(result, segment),
            }
        }
        bytes
            .chunks(segment)
            .try_for_each(|chunk| check_sent(self.send_once(chunk, &[], to.as_ref()), segment))
    }

    fn send_once(
        &self,
        bytes: &[u8],
        control: &[ControlMessage<'_>],
        to: Option<&SockaddrStorage>,
    ) -> Result<(), Errno> {
        let attempt =
            || sendmsg(self.socket.as_raw_fd(), &[IoSlice::new(bytes)], control, MsgFlags::MSG_DONTWAIT, to);
        let mut result = attempt();
        if matches!(result, Err(Errno::EAGAIN)) {
            self.poll(PollFlags::OUT, SEND_TIMEOUT);
            result = attempt();
        }
        result.map(drop)
    }
}

fn check_sent(result: Result<(), Errno>, segment: usize) -> Result<(), RecordError> {
    match result {
        Err(Errno::EMSGSIZE) => Err(RecordError::PacketTooLarge(segment)),
        Err(Errno::EPERM | Errno::EACCES) => Err(RecordError::Blocked),
        // A full buffer, a full device queue, a route that is gone for a moment: a loss on the path.
        _ => Ok(()),
    }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = storage.as_sockaddr_in() {
        return Some(SocketAddr::from((v4.ip(), v4.port())));
    }
    let v6 = storage.as_sockaddr_in6()?;
    let ip: Ipv6Addr = v6.ip();
    Some(std::net::SocketAddrV6::new(ip, v6.port(), v6.flowinfo(), v6.scope_id()).into())
}

//! A veth pair whose far end, in a namespace without addresses, has an AF_PACKET socket with a virtio_net_hdr before
//! each frame.

use super::{Kind, LINK_NAME, VNET_HEADER_BYTES};
use crate::error::EmuError;
use crate::namespace::Namespace;
use crate::netlink::{LinkChange, Netlink};
use crate::sys;
use rustix::io::{Errno, readv, writev};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of an Ethernet header: two addresses and a type.
const ETHERNET_BYTES: usize = 14;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];

/// The receive buffer, for packets that wait for the forwarder. The kernel counts its own overhead too: 64 MiB is 25
/// ms of 10 Gbit/s, where overhead and data are the same size.
const RECEIVE_BUFFER_BYTES: i32 = 64 << 20;
const SEND_BUFFER_BYTES: i32 = 32 << 20;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM` of `linux/virtio_net.h`.
const NEEDS_CHECKSUM: u8 = 1;
/// The offsets of two fields in a virtio_net_hdr: the length of all headers (a hint), and the checksum's start.
const HEADER_LENGTH_AT: usize = 2;
const CHECKSUM_START_AT: usize = 6;

#[derive(Debug)]
pub(super) struct PacketDevice {
    socket: OwnedFd,
    /// The far end's index in the fabric.
    far: u32,
    fabric: Mutex<Netlink>,
    /// The near end's MAC address, then the far end's.
    addresses: [u8; 12],
    /// Frames that found the socket's buffer full; asking the kernel resets its count.
    overflowed: AtomicU64,
}

impl PacketDevice {
    /// A pair between `namespace` and `fabric`; gives the near end's index too.
    pub(super) fn create(
        namespace: &Namespace,
        fabric: &Namespace,
        mtu: u16,
    ) -> Result<(Kind, u32), EmuError> {
        let mut netlink = fabric.netlink()?;
        let before: Vec<u32> = netlink.links()?.iter().map(|link| link.index).collect();
        netlink.add_veth(LINK_NAME, LINK_NAME, namespace)?;
        let new = netlink.links()?.into_iter().find(|link| !before.contains(&link.index));
        let vanished = || EmuError::system("find a new veth pair")(io::Error::from(io::ErrorKind::NotFound));
        let far = new.ok_or_else(vanished)?;
        let near_index = far.peer.ok_or_else(vanished)?;
        let near = namespace.netlink()?.link(near_index)?;
        let mut addresses = [0; 12];
        for (to, from) in addresses.iter_mut().zip(near.address.iter().chain(&far.address)) {
            *to = *from;
        }
        let change = LinkChange { up: true, no_arp: true, mtu: Some(mtu.into()), ..LinkChange::default() };
        netlink.change_link(far.index, &change)?;
        let socket = fabric
            .run(|| sys::packet_socket(far.index))?
            .and_then(|socket| {
                sys::set_buffers(socket.as_fd(), RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES)?;
                Ok(socket)
            })
            .map_err(EmuError::system("open an AF_PACKET socket with PACKET_VNET_HDR"))?;
        let device = Self {
            socket,
            far: far.index,
            fabric: Mutex::new(netlink),
            addresses,
            overflowed: AtomicU64::new(0),
        };
        Ok((Kind::Packet(device), near_index))
    }

    /// The far end came up before the near one. The kernel notices in its own time that it can carry packets, and drops
    /// them silently until then.
    pub(super) fn wait_until_it_carries(&self) -> Result<(), EmuError> {
        const TIMEOUT: Duration = Duration::from_secs(5);
        const PAUSE: Duration = Duration::from_millis(1);
        let begin = Instant::now();
        let mut fabric = self.fabric.lock().unwrap_or_else(PoisonError::into_inner);
        while !fabric.link(self.far)?.carries {
            if begin.elapsed() > TIMEOUT {
                let late = io::Error::from(io::ErrorKind::TimedOut);
                return Err(EmuError::system("bring a veth pair up")(late));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(super) fn receive(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let Some((vnet_header, packet)) = buffer.split_at_mut_checked(VNET_HEADER_BYTES) else {
            return Err(Errno::INVAL);
        };
        loop {
            let mut ethernet = [0; ETHERNET_BYTES];
            let mut parts = [&mut *vnet_header, &mut ethernet[..], &mut *packet].map(IoSliceMut::new);
            let length = match readv(&self.socket, &mut parts) {
                Ok(length) => length,
                // The link was down for a moment; the kernel says so once.
                Err(Errno::NETDOWN) => return Err(Errno::AGAIN),
                Err(error) => return Err(error),
            };
            let ethertype = [ethernet[12], ethernet[13]];
            if length > VNET_HEADER_BYTES + ETHERNET_BYTES
                && (ethertype == ETHERTYPE_IPV4 || ethertype == ETHERTYPE_IPV6)
            {
                shift_offsets(vnet_header, |offset| offset.saturating_sub(ETHERNET_BYTES as u16));
                return Ok(length - ETHERNET_BYTES);
            }
        }
    }

    pub(super) fn send(&self, vnet_header: &[u8; 10], headers: &[u8], payload: &[u8]) -> Result<(), Errno> {
        let mut vnet_header = *vnet_header;
        shift_offsets(&mut vnet_header, |offset| offset.saturating_add(ETHERNET_BYTES as u16));
        let mut ethernet = [0; ETHERNET_BYTES];
        ethernet[..12].copy_from_slice(&self.addresses);
        let is_ipv6 = headers.first().is_some_and(|byte| byte >> 4 == 6);
        ethernet[12..].copy_from_slice(if is_ipv6 { &ETHERTYPE_IPV6 } else { &ETHERTYPE_IPV4 });
        let parts = [&vnet_header[..], &ethernet[..], headers, payload];
        writev(&self.socket, &parts.map(IoSlice::new)).map(drop)
    }

    /// Frames dropped at the socket, and frames dropped at the near end.
    pub(super) fn dropped(&self) -> u64 {
        let new = sys::packet_drops(self.socket.as_fd()).unwrap_or(0);
        let overflowed = self.overflowed.fetch_add(new.into(), Ordering::Relaxed) + u64::from(new);
        let far = self.fabric.lock().unwrap_or_else(PoisonError::into_inner).link(self.far);
        overflowed + far.map_or(0, |link| link.tx_dropped)
    }
}

/// Removes the pair at once; left to the kernel, it would go some time after the fabric.
impl Drop for PacketDevice {
    fn drop(&mut self) {
        let _ = self.fabric.lock().unwrap_or_else(PoisonError::into_inner).delete_link(self.far);
    }
}

/// Moves the offsets of a virtio_net_hdr between counting from the frame and counting from the IP header. An offset of
/// 0 is unused.
fn shift_offsets(vnet_header: &mut [u8], shift: impl Fn(u16) -> u16) {
    let has_checksum = vnet_header[0] & NEEDS_CHECKSUM != 0;
    for (used, at) in [(true, HEADER_LENGTH_AT), (has_checksum, CHECKSUM_START_AT)] {
        let offset = u16::from_ne_bytes([vnet_header[at], vnet_header[at + 1]]);
        if used && offset > 0 {
            vnet_header[at..at + 2].copy_from_slice(&shift(offset).to_ne_bytes());
        }
    }
}

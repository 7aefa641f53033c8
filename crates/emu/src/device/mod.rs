//! One end of the emulated path in a network namespace.
//!
//! Both back ends hand over super-packets of up to 64 KiB with a virtio_net_hdr that says how to segment them (TSO, USO).

mod packet;

use crate::error::EmuError;
use crate::namespace::{Namespace, set_sysctl};
use crate::netlink::{LinkChange, Netlink};
use crate::sys;
use packet::PacketDevice;
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, read, writev};
use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Names of our links; "%d" becomes the first free number.
const LINK_NAME: &str = "cellcc-%d";

/// Packets that may wait at a device until its thread reads them: 10 Gbit/s of 1500-byte packets for 12 ms.
const TX_QUEUE_PACKETS: u32 = 10_000;

/// The way in which a device reads and writes packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A TUN device; needs /dev/net/tun.
    Tun,
    /// A pair of virtual Ethernet links with an AF_PACKET socket on the far one; needs no device file.
    Packet,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tun => "tun",
            Self::Packet => "veth",
        })
    }
}

impl FromStr for Backend {
    type Err = EmuError;

    fn from_str(text: &str) -> Result<Self, EmuError> {
        match text {
            "tun" => Ok(Self::Tun),
            "veth" => Ok(Self::Packet),
            _ => Err(EmuError::Input(format!("unknown back end \"{text}\": give tun or veth"))),
        }
    }
}

/// A network interface in a namespace, with access to the packets that programs there send.
#[derive(Debug)]
pub struct Device {
    kind: Kind,
    /// Index of the interface, in its namespace.
    index: u32,
    /// A connection to the interface's namespace.
    netlink: Mutex<Netlink>,
    /// Packets that we could not write.
    unsent: AtomicU64,
}

#[derive(Debug)]
enum Kind {
    Tun(TunDevice),
    Packet(PacketDevice),
}

impl Device {
    /// A device in `namespace`, up and without addresses. `fabric` is where the far ends of veth pairs are.
    pub(crate) fn create(
        backend: Backend,
        namespace: &Namespace,
        fabric: &Namespace,
        mtu: u16,
        alias: &str,
    ) -> Result<Self, EmuError> {
        let (kind, index) = match backend {
            Backend::Tun => namespace.run(TunDevice::create)??,
            Backend::Packet => PacketDevice::create(namespace, fabric, mtu)?,
        };
        let mut netlink = namespace.netlink()?;
        let name = netlink.link(index)?.name;
        namespace.run(|| prepare(&name))??;
        let change = LinkChange {
            up: true,
            no_arp: true,
            mtu: Some(mtu.into()),
            tx_queue_packets: Some(TX_QUEUE_PACKETS),
            alias: Some(alias.into()),
        };
        let device = Self { kind, index, netlink: Mutex::new(netlink), unsent: AtomicU64::new(0) };
        device.with_netlink(|netlink| netlink.change_link(index, &change))?;
        if let Kind::Packet(pair) = &device.kind {
            pair.wait_until_it_carries()?;
        }
        Ok(device)
    }

    /// The descriptor for poll; non-blocking, and readable when a packet waits.
    pub fn fd(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Tun(device) => device.fd(),
            Kind::Packet(device) => device.fd(),
        }
    }

    /// Takes the next super-packet; `None`: nothing waits. Its first 10 bytes are the legacy virtio_net_hdr, whose
    /// offsets count from the IP header, and the IP packet follows. The length is that of both.
    ///
    /// `buffer` should have room for 10 + 65 535 bytes; a longer packet is cut off.
    ///
    /// # Errors The device is gone, or has been set down.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let received = match &self.kind {
            Kind::Tun(device) => device.receive(buffer),
            Kind::Packet(device) => device.receive(buffer),
        };
        match received {
            Ok(length) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives one (super-)packet to the programs on this side: the header as [`receive`](Self::receive) gives it, then
    /// the IP packet from its two parts. Where the kernel has no room even after a few tries, the packet is lost and
    /// counts as [`dropped`](Self::dropped).
    ///
    /// # Errors
    /// The kernel refuses the packet, or the device is gone.
    pub fn send(&self, vnet_header: &[u8; 10], headers: &[u8], payload: &[u8]) -> io::Result<()> {
        /// Each try yields to other threads: one of them may make room.
        const TRIES: usize = 50;
        for _ in 0..TRIES {
            let sent = match &self.kind {
                Kind::Tun(device) => device.send(vnet_header, headers, payload),
                Kind::Packet(device) => device.send(vnet_header, headers, payload),
            };
            match sent {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS | Errno::AGAIN | Errno::NOMEM) => std::thread::yield_now(),
                Err(error) => return Err(error.into()),
            }
        }
        self.unsent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Packets lost at this device so far, in both directions: we read too slowly, or the kernel had no room for our writes.
    pub fn dropped(&self) -> u64 {
        let index = self.index;
        let near = self.with_netlink(|netlink| netlink.link(index)).map_or(0, |link| link.tx_dropped);
        let far = match &self.kind {
            Kind::Tun(_) => 0,
            Kind::Packet(device) => device.dropped(),
        };
        near + far + self.unsent.load(Ordering::Relaxed)
    }

    /// The interface's index in its namespace.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Works on the tables of the namespace in which the interface is.
    pub(crate) fn with_netlink<T>(&self, work: impl FnOnce(&mut Netlink) -> T) -> T {
        work(&mut self.netlink.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Sets up the link `name` in the calling thread's namespace: the kernel sends no IPv6 messages of its own, and
/// addresses work at once.
fn prepare(name: &str) -> Result<(), EmuError> {
    const SETTINGS: [(&str, &str); 4] =
        [("disable_ipv6", "0"), ("accept_dad", "0"), ("accept_ra", "0"), ("addr_gen_mode", "1")];
    for (setting, value) in SETTINGS {
        set_sysctl(&format!("net/ipv6/conf/{name}/{setting}"), value)?;
    }
    Ok(())
}

const VNET_HEADER_BYTES: usize = sys::VNET_HEADER_BYTES;

/// A TUN device with a virtio_net_hdr before each packet.
#[derive(Debug)]
struct TunDevice {
    file: OwnedFd,
}

impl TunDevice {
    /// Makes one in the calling thread's namespace; gives its index too. The kernel removes it when the file is closed.
    fn create() -> Result<(Kind, u32), EmuError> {
        let file =
            open_tun().map_err(EmuError::system("open /dev/net/tun (`--backend veth` does without)"))?;
        let name = sys::tun_attach(file.as_fd(), LINK_NAME).map_err(EmuError::system("make a TUN device"))?;
        sys::tun_offload(file.as_fd()).map_err(EmuError::system("ask a TUN device for super-packets"))?;
        let index = Netlink::open()?.link_named(&name)?.index;
        Ok((Kind::Tun(Self { file }), index))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn receive(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        read(&self.file, buffer)
    }

    fn send(&self, vnet_header: &[u8], headers: &[u8], payload: &[u8]) -> Result<(), Errno> {
        writev(&self.file, &[vnet_header, headers, payload].map(IoSlice::new)).map(drop)
    }
}

/// The file whose each opening is a device of its own.
pub(crate) fn open_tun() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/net/tun", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
}

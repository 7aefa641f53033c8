//! Network namespaces, their devices and addresses.
//!
//! There is an outside, where servers are, or one for each user, and a namespace for each user, where the programs under test
//! are. Each has one [`Device`]; the holder of the [`Topology`] carries the packets between them.
//!
//! # Addresses
//! The outermost emulator takes the first free /24 of 100.64.0.0/10, as Mahimahi does, and a /64 of unique local IPv6
//! addresses with the same number. In both, a number from 1 to 254 stands for one address: 1 is the outside, 2 the first
//! user, 3 the second, and so on. The rest is divided among the users, for emulators that they start.
//!
//! Such a nested emulator needs no NAT. Its outside address is that of the user in whose namespace it runs; for its own users
//! it takes three quarters of the longest stretch that the enclosing emulator left to that user and that no other nested one
//! has taken. The namespaces in between forward, so the outermost side reaches every depth by its one route. Fifteen levels fit
//! with one user each. The alias of a user's device gives the nested emulator its part.

mod addresses;
mod owner;

pub use addresses::Directory;
pub(crate) use owner::{Owner, leftovers, orphans};

use crate::device::{self, Backend, Device};
use crate::error::EmuError;
use crate::namespace::Namespace;
use crate::netlink::{Netlink, everywhere};
use addresses::{Addresses, Enclosing};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

/// The namespaces to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopologySpec {
    /// The number of namespaces with a path of their own, at least 1.
    pub users: usize,
    /// The place of the servers.
    pub servers: Servers,
    /// The way in which devices read and write packets; `None`: TUN if /dev/net/tun opens, otherwise veth.
    pub backend: Option<Backend>,
    /// The largest IP packet of all devices, in bytes; at least 1280, which IPv6 needs.
    pub mtu: u16,
}

/// The namespaces that form the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// The current one; one of our own where we have no rights over it.
    Here,
    /// One of our own, cut off from the machine's network.
    Apart,
    /// One of our own for each user, all with the same addresses: servers on the same port do not disturb each other.
    ApartForEachUser,
}

/// Namespaces, their devices and addresses. All of it goes when this is dropped, and with the process.
#[derive(Debug)]
pub struct Topology {
    /// The namespaces of the servers: one for all users, or one for each. Never empty.
    pub outsides: Vec<Outside>,
    /// The namespaces of the programs under test.
    pub users: Vec<User>,
    /// The way in which the devices read and write packets.
    pub backend: Backend,
    /// The assignment of addresses to users.
    pub directory: Directory,
}

/// The side of the servers.
#[derive(Debug)]
pub struct Outside {
    /// The current namespace, or one of our own.
    pub namespace: Namespace,
    /// The device towards the users.
    pub device: Device,
    /// The value of `MAHIMAHI_BASE`.
    pub address4: Ipv4Addr,
    /// The IPv6 counterpart of the address.
    pub address6: Ipv6Addr,
}

/// The side of the programs under test.
#[derive(Debug)]
pub struct User {
    /// One of our own, whose default route is the device.
    pub namespace: Namespace,
    /// The user's end of the path.
    pub device: Device,
    /// The user's IPv4 address.
    pub address4: Ipv4Addr,
    /// The user's IPv6 address.
    pub address6: Ipv6Addr,
}

impl Topology {
    /// Builds a topology, after removing the leftovers of killed emulators.
    ///
    /// # Errors
    /// No rights (see [`enter_user_namespace_if_needed`](crate::namespace::enter_user_namespace_if_needed)), a kernel
    /// that lacks something, or more users than there are addresses.
    pub fn build(spec: &TopologySpec) -> Result<Self, EmuError> {
        /// RFC 8200 section 5.
        const LEAST_MTU: u16 = 1280;
        if spec.mtu < LEAST_MTU {
            let message = format!("an MTU of {} bytes is too small: IPv6 needs {LEAST_MTU}", spec.mtu);
            return Err(EmuError::Input(message));
        }
        let backend = spec.backend.unwrap_or_else(|| match device::open_tun().is_ok() {
            true => Backend::Tun,
            false => Backend::Packet,
        });
        let is_here = spec.servers == Servers::Here && Netlink::open()?.may_change();
        let outside = if is_here { Namespace::current()? } else { Namespace::create()? };
        let builder =
            Builder { backend, mtu: spec.mtu, owner: Owner::current()?, fabric: Namespace::create()? };

        let _turn = outside.run(wait_for_turn)??;
        let mut netlink = outside.netlink()?;
        owner::remove_leftovers(&mut netlink)?;
        let enclosing = Enclosing::find(&netlink.links()?);
        let addresses =
            Addresses::choose(spec.users, enclosing.as_ref(), &netlink.addresses()?, &netlink.routes()?)?;

        let users = (0..addresses.users.len()).map(|user| builder.user(&addresses, user));
        let users: Vec<User> = users.collect::<Result<_, _>>()?;
        let mut outsides = vec![builder.outside(outside, &addresses)?];
        if spec.servers == Servers::ApartForEachUser {
            for _ in 1..users.len() {
                outsides.push(builder.outside(Namespace::create()?, &addresses)?);
            }
        }
        Ok(Self { directory: Directory::new(&addresses), users, outsides, backend })
    }

    /// The first of the outsides, which is the only one but with [`Servers::ApartForEachUser`].
    pub fn outside(&self) -> &Outside {
        &self.outsides[0]
    }
}

impl Outside {
    /// Sets the first window of TCP connections to a user, in packets. Linux has it per route (`initcwnd` in ip-route(8)), and
    /// the route to one user precedes the route to all.
    pub(crate) fn set_first_window(&self, user: &User, packets: u32) -> Result<(), EmuError> {
        let (link, source) = (self.device.index(), self.address4.into());
        let to = (user.address4.into(), 32);
        self.device.with_netlink(|netlink| netlink.add_route(to, link, source, Some(packets)))
    }
}

/// The common state of all devices of a topology.
struct Builder {
    backend: Backend,
    mtu: u16,
    owner: Owner,
    /// A namespace without addresses for the far ends of veth pairs; it lives as long as their sockets.
    fabric: Namespace,
}

impl Builder {
    fn device(&self, namespace: &Namespace, alias: &str) -> Result<Device, EmuError> {
        Device::create(self.backend, namespace, &self.fabric, self.mtu, alias)
    }

    fn user(&self, addresses: &Addresses, user: usize) -> Result<User, EmuError> {
        let (number, nested) = addresses.users[user];
        let (address4, address6) = (addresses.block.address4(number), addresses.block.address6(number));
        let namespace = Namespace::create()?;
        let device = self.device(&namespace, &owner::user_alias(&self.owner, address4, nested))?;
        device.with_netlink(|netlink| {
            for address in families(address4, address6) {
                netlink.add_address(device.index(), address)?;
                netlink.add_route(everywhere(address), device.index(), address, None)?;
            }
            Ok::<_, EmuError>(())
        })?;
        Ok(User { namespace, device, address4, address6 })
    }

    fn outside(&self, namespace: Namespace, addresses: &Addresses) -> Result<Outside, EmuError> {
        let number = addresses.outside;
        let (address4, address6) = (addresses.block.address4(number), addresses.block.address6(number));
        let device = self.device(&namespace, &owner::outside_alias(&self.owner))?;
        device.with_netlink(|netlink| {
            for address in families(address4, address6) {
                if !addresses.nested {
                    netlink.add_address(device.index(), address)?;
                }
                for route in addresses.routes.iter().filter(|route| route.0.is_ipv4() == address.is_ipv4()) {
                    netlink.add_route(*route, device.index(), address, None)?;
                }
            }
            Ok::<_, EmuError>(())
        })?;
        Ok(Outside { namespace, device, address4, address6 })
    }
}

/// IPv4, and IPv6 where the kernel has it.
fn families(address4: Ipv4Addr, address6: Ipv6Addr) -> impl Iterator<Item = IpAddr> {
    let has_ipv6 = std::path::Path::new("/proc/sys/net/ipv6").exists();
    std::iter::once(address4.into()).chain(has_ipv6.then_some(address6.into()))
}

/// Lets one emulator at a time choose addresses in the calling thread's namespace. The lock is the name of a Unix socket:
/// each network namespace has its own names, and the kernel frees one when its holder ends.
fn wait_for_turn() -> Result<UnixListener, EmuError> {
    /// Building takes some milliseconds.
    const TIMEOUT: Duration = Duration::from_secs(20);
    const PAUSE: Duration = Duration::from_millis(5);
    let action = "wait for another emulator that is starting";
    let name = SocketAddr::from_abstract_name("cellcc-topology").map_err(EmuError::system(action))?;
    let begin = Instant::now();
    loop {
        match UnixListener::bind_addr(&name) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && begin.elapsed() < TIMEOUT => {
                std::thread::sleep(PAUSE);
            }
            other => return other.map_err(EmuError::system(action)),
        }
    }
}

//! The kernel's table of links, addresses and routes: rtnetlink, one request at a time.

use crate::error::EmuError;
use netlink_packet_core::{
    ErrorMessage, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

/// A link as the kernel lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) name: String,
    pub(crate) alias: Option<String>,
    /// The MAC address; empty for a TUN device.
    pub(crate) address: Vec<u8>,
    /// The index of a veth's other end, in that end's namespace.
    pub(crate) peer: Option<u32>,
    /// True if it carries packets: up, and so is its other end.
    pub(crate) carries: bool,
    /// Packets that the link was to send and dropped.
    pub(crate) tx_dropped: u64,
}

/// The destination of a route: an address and the length of its prefix in bits.
pub(crate) type Prefix = (IpAddr, u8);

/// Changes of a link; `None`: no change.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkChange {
    pub(crate) up: bool,
    /// No neighbour discovery: every frame goes to the other end anyhow.
    pub(crate) no_arp: bool,
    pub(crate) mtu: Option<u32>,
    pub(crate) tx_queue_packets: Option<u32>,
    pub(crate) alias: Option<String>,
}

/// A connection to the tables of one network namespace.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Connects to the namespace of the calling thread.
    pub(crate) fn open() -> Result<Self, EmuError> {
        let connect = || {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            // Answers without a copy of the request, but with the kernel's error message. Old kernels lack both
            // options.
            let _ = socket.set_cap_ack(true);
            let _ = socket.set_ext_ack(true);
            Ok::<_, io::Error>(socket)
        };
        let socket = connect().map_err(EmuError::system("open a netlink socket"))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// True if we may change this namespace. The kernel asks for the permission before it looks for the link.
    pub(crate) fn may_change(&mut self) -> bool {
        let nonexistent = i32::MAX.cast_unsigned();
        let mut message = LinkMessage::default();
        message.header.index = nonexistent;
        match self.request(RouteNetlinkMessage::DelLink(message), NLM_F_ACK) {
            Ok(_) => true,
            Err(error) => error.kind() != io::ErrorKind::PermissionDenied,
        }
    }

    pub(crate) fn links(&mut self) -> Result<Vec<Link>, EmuError> {
        let answers = self
            .request(RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP)
            .map_err(EmuError::system("list the links"))?;
        let link = |answer| match answer {
            RouteNetlinkMessage::NewLink(message) => Some(Link::from(message)),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(link).collect())
    }

    pub(crate) fn link(&mut self, index: u32) -> Result<Link, EmuError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let answers = self
            .request(RouteNetlinkMessage::GetLink(message), NLM_F_ACK)
            .map_err(EmuError::system(format!("look up the link with index {index}")))?;
        let link = |answer| match answer {
            RouteNetlinkMessage::NewLink(message) => Some(Link::from(message)),
            _ => None,
        };
        answers.into_iter().find_map(link).ok_or_else(|| {
            EmuError::system(format!("look up the link with index {index}"))(io::Error::from(
                io::ErrorKind::NotFound,
            ))
        })
    }

    pub(crate) fn link_named(&mut self, name: &str) -> Result<Link, EmuError> {
        let found = self.links()?.into_iter().find(|link| link.name == name);
        found.ok_or_else(|| {
            EmuError::system(format!("look up the link {name}"))(io::Error::from(io::ErrorKind::NotFound))
        })
    }

    /// Makes a pair of connected Ethernet links: `name` here, and `peer_name` in `peer_namespace`. In both, "%d" stands
    /// for the first free number.
    pub(crate) fn add_veth(
        &mut self,
        name: &str,
        peer_name: &str,
        peer_namespace: impl AsFd,
    ) -> Result<(), EmuError> {
        let mut peer = LinkMessage::default();
        peer.attributes = vec![
            LinkAttribute::IfName(peer_name.into()),
            LinkAttribute::NetNsFd(peer_namespace.as_fd().as_raw_fd()),
        ];
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(name.into()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
            ]),
        ];
        self.create(RouteNetlinkMessage::NewLink(message)).map_err(EmuError::system("make a veth pair"))
    }

    pub(crate) fn change_link(&mut self, index: u32, change: &LinkChange) -> Result<(), EmuError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        for (wanted, flag) in [(change.up, LinkFlags::Up), (change.no_arp, LinkFlags::Noarp)] {
            if wanted {
                message.header.flags |= flag;
                message.header.change_mask |= flag;
            }
        }
        message.attributes.extend(change.mtu.map(LinkAttribute::Mtu));
        message.attributes.extend(change.tx_queue_packets.map(LinkAttribute::TxQueueLen));
        message.attributes.extend(change.alias.clone().map(LinkAttribute::IfAlias));
        self.request(RouteNetlinkMessage::SetLink(message), NLM_F_ACK)
            .map_err(EmuError::system(format!("configure the link with index {index}")))
            .map(drop)
    }

    pub(crate) fn delete_link(&mut self, index: u32) -> Result<(), EmuError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        self.request(RouteNetlinkMessage::DelLink(message), NLM_F_ACK)
            .map_err(EmuError::system(format!("delete the link with index {index}")))
            .map(drop)
    }

    /// Gives a link an address of its own, without a subnet; it works when this returns.
    pub(crate) fn add_address(&mut self, link: u32, address: IpAddr) -> Result<(), EmuError> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = bits(address);
        message.header.index = link;
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        if address.is_ipv6() {
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        self.create(RouteNetlinkMessage::NewAddress(message))
            .map_err(EmuError::system(format!("add the address {address}")))?;
        self.wait_for_address(address)
    }

    pub(crate) fn addresses(&mut self) -> Result<Vec<IpAddr>, EmuError> {
        let answers = self
            .request(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP)
            .map_err(EmuError::system("list the addresses"))?;
        let addresses = answers.into_iter().flat_map(|answer| match answer {
            RouteNetlinkMessage::NewAddress(message) => message.attributes,
            _ => Vec::new(),
        });
        let address = |attribute| match attribute {
            AddressAttribute::Local(address) | AddressAttribute::Address(address) => Some(address),
            _ => None,
        };
        Ok(addresses.filter_map(address).collect())
    }

    /// Sends packets to `destination` out of a link, with `source` as the sender's address unless it has chosen one. `first_window`
    /// is TCP's first window there, in packets; `None` leaves the kernel's.
    pub(crate) fn add_route(
        &mut self,
        destination: Prefix,
        link: u32,
        source: IpAddr,
        first_window: Option<u32>,
    ) -> Result<(), EmuError> {
        let (address, length) = destination;
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(address),
            destination_prefix_length: length,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: if address.is_ipv4() { RouteScope::Link } else { RouteScope::Universe },
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes =
            vec![RouteAttribute::Oif(link), RouteAttribute::PrefSource(RouteAddress::from(source))];
        if length > 0 {
            message.attributes.push(RouteAttribute::Destination(RouteAddress::from(address)));
        }
        let metrics = first_window.map(|packets| vec![RouteMetric::InitCwnd(packets)]);
        message.attributes.extend(metrics.map(RouteAttribute::Metrics));
        self.create(RouteNetlinkMessage::NewRoute(message))
            .map_err(EmuError::system(format!("add a route to {address}/{length}")))
    }

    /// The destinations of all routes in all tables; default routes are left out.
    pub(crate) fn routes(&mut self) -> Result<Vec<Prefix>, EmuError> {
        Ok(self.destinations()?.into_iter().map(|(prefix, _)| prefix).collect())
    }

    /// Waits until the kernel takes packets for an address of its own. It does at once for IPv4; for IPv6 a worker of the
    /// kernel's adds the local route some time after the address, and packets that come before that are lost.
    fn wait_for_address(&mut self, address: IpAddr) -> Result<(), EmuError> {
        const TIMEOUT: Duration = Duration::from_secs(5);
        const PAUSE: Duration = Duration::from_millis(1);
        let begin = Instant::now();
        let ready = ((address, bits(address)), RouteType::Local);
        while !self.destinations()?.contains(&ready) {
            if begin.elapsed() > TIMEOUT {
                let late = io::Error::from(io::ErrorKind::TimedOut);
                return Err(EmuError::system(format!("bring the address {address} up"))(late));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn destinations(&mut self) -> Result<Vec<(Prefix, RouteType)>, EmuError> {
        let answers = self
            .request(RouteNetlinkMessage::GetRoute(RouteMessage::default()), NLM_F_DUMP)
            .map_err(EmuError::system("list the routes"))?;
        let destination = |answer| {
            let RouteNetlinkMessage::NewRoute(message) = answer else { return None };
            let (length, kind) = (message.header.destination_prefix_length, message.header.kind);
            let address: IpAddr = message.attributes.into_iter().find_map(|attribute| match attribute {
                RouteAttribute::Destination(RouteAddress::Inet(address)) => Some(address.into()),
                RouteAttribute::Destination(RouteAddress::Inet6(address)) => Some(address.into()),
                _ => None,
            })?;
            Some(((address, length), kind))
        };
        Ok(answers.into_iter().filter_map(destination).collect())
    }

    fn create(&mut self, message: RouteNetlinkMessage) -> io::Result<()> {
        self.request(message, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    /// Asks, and collects the answers up to the acknowledgement or the end of the list.
    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;

        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = &datagram[..];
            while !rest.is_empty() {
                let packet =
                    NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
                // Messages are aligned to 4 bytes.
                let length = (packet.header.length as usize).next_multiple_of(4).max(4);
                rest = rest.get(length..).unwrap_or_default();
                if packet.header.sequence_number != self.sequence {
                    continue;
                }
                match packet.payload {
                    NetlinkPayload::InnerMessage(answer) => answers.push(answer),
                    NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::Error(ErrorMessage { code: None, .. }) => return Ok(answers),
                    NetlinkPayload::Error(error) => return Err(explained(&error)),
                    _ => {}
                }
            }
        }
    }
}

impl From<LinkMessage> for Link {
    fn from(message: LinkMessage) -> Self {
        let mut link = Self { index: message.header.index, ..Self::default() };
        for attribute in message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name = name,
                LinkAttribute::IfAlias(alias) => link.alias = Some(alias),
                LinkAttribute::Address(address) => link.address = address,
                LinkAttribute::Link(peer) => link.peer = Some(peer),
                LinkAttribute::OperState(state) => link.carries = state == State::Up,
                LinkAttribute::Stats64(stats) => link.tx_dropped = stats.tx_dropped,
                _ => {}
            }
        }
        link
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The default route's destination of this address's family.
pub(crate) fn everywhere(like: IpAddr) -> Prefix {
    match like {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), 0),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), 0),
    }
}

/// The error with the kernel's own words, where it has some: the extended acknowledgement's first attribute.
fn explained(error: &ErrorMessage) -> io::Error {
    /// Bytes of the request's header, which comes before the attributes.
    const REQUEST_HEADER: usize = 16;
    /// `NLMSGERR_ATTR_MSG` of `linux/netlink.h`.
    const MESSAGE: u16 = 1;
    let plain = error.to_io();
    let mut rest = error.header.get(REQUEST_HEADER..).unwrap_or_default();
    while let [l0, l1, k0, k1, ..] = *rest {
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let Some(value) = rest.get(4..length) else { break };
        if u16::from_ne_bytes([k0, k1]) == MESSAGE {
            let text = String::from_utf8_lossy(value);
            let text = text.trim_end_matches('\0');
            return io::Error::new(plain.kind(), format!("{plain}: {text}"));
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    plain
}

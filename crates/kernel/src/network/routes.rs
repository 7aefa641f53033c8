//! Routes that name a scheme (`congctl` in ip-route(8)): only traffic to there, or from there, uses it.

use crate::error::KernelError;
use crate::network::netlink::Netlink;
use crate::schemes::Scheme;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Marks the routes that [`add`] made, which go with the scheme. rtnetlink(7) leaves the numbers above 4 to user space; this
/// one is in no /etc/iproute2/rt_protos that we know.
const OURS: u8 = 204;

/// A destination: an address and the length of its prefix in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("`{text}` is no prefix; write one such as 10.45.0.0/16 or 2001:db8::/32");
        let (address, bits) = text.split_once('/').ok_or_else(refused)?;
        let address: IpAddr = address.parse().map_err(|_| refused())?;
        let bits: u8 = bits.parse().map_err(|_| refused())?;
        if bits > if address.is_ipv4() { 32 } else { 128 } {
            return Err(refused());
        }
        let prefix = Self { address: first_of(address, bits), bits };
        if prefix.address != address {
            let host = Self { address, bits: if address.is_ipv4() { 32 } else { 128 } };
            return Err(format!(
                "`{text}`: the address has more than its first {bits} bits; write {prefix} for all of them, or {host} for the one"
            ));
        }
        Ok(prefix)
    }
}

/// The address without the bits after its first ones.
fn first_of(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// Lets connections to and from `prefix` use `scheme`, in the namespace of the calling thread. They leave as they would
/// without; a route of exactly this destination is changed, and else one is made.
///
/// # Errors
/// No route leads to the prefix, or permission is missing.
pub fn add(prefix: Prefix, scheme: &str) -> Result<(), KernelError> {
    let mut netlink = Netlink::open()?;
    let own = netlink.routes()?.into_iter().find(|route| is_to(route, prefix));
    let (mut route, flags) = match own {
        Some(route) => (route, NLM_F_REPLACE),
        None => (leading_to(&mut netlink, prefix)?, NLM_F_CREATE | NLM_F_EXCL),
    };
    change_metrics(&mut route, |metrics| {
        metrics.retain(|metric| !matches!(metric, RouteMetric::CcAlgo(_)));
        metrics.push(RouteMetric::CcAlgo(scheme.into()));
    });
    netlink.put(route, flags).map_err(KernelError::system(format!("let {prefix} use {scheme}")))
}

/// The routes of the calling thread's namespace that name a scheme of ours: their destinations, and the schemes.
///
/// # Errors
/// The kernel's list cannot be read.
pub fn list() -> Result<Vec<(String, Scheme)>, KernelError> {
    let routes = Netlink::open()?.routes()?;
    Ok(routes.iter().filter_map(|route| Some((destination_of(route), scheme_of(route)?))).collect())
}

/// Takes its scheme from the route of exactly this destination, in the namespace of the calling thread; gives the scheme.
///
/// # Errors
/// There is no such route, it names no scheme of cellcc, or permission is missing.
pub fn remove(prefix: Prefix) -> Result<Scheme, KernelError> {
    let mut netlink = Netlink::open()?;
    let own = netlink.routes()?.into_iter().filter(|route| is_to(route, prefix));
    let (route, scheme) = own
        .filter_map(|route| scheme_of(&route).map(|scheme| (route, scheme)))
        .next()
        .ok_or_else(|| KernelError::NoRoute(prefix.to_string()))?;
    take_from(&mut netlink, route, scheme.name())?;
    Ok(scheme)
}

/// Takes `scheme` from all routes of the calling thread's namespace; names them.
pub(crate) fn forget(scheme: &str) -> Result<Vec<String>, KernelError> {
    let mut netlink = Netlink::open()?;
    let named: Vec<_> = netlink.routes()?.into_iter().filter(|route| uses(route, scheme)).collect();
    named.into_iter().map(|route| take_from(&mut netlink, route, scheme)).collect()
}

/// Deletes a route that [`add`] made, and leaves another without the scheme; names it.
fn take_from(netlink: &mut Netlink, mut route: RouteMessage, scheme: &str) -> Result<String, KernelError> {
    let name = name_of(&route);
    let done = if route.header.protocol == RouteProtocol::from(OURS) {
        netlink.delete(route)
    } else {
        change_metrics(&mut route, |metrics| {
            metrics.retain(|metric| !matches!(metric, RouteMetric::CcAlgo(_)));
        });
        netlink.put(route, NLM_F_REPLACE)
    };
    done.map_err(KernelError::system(format!("take {scheme} from {name}")))?;
    Ok(name)
}

/// A route to `prefix` of our own that leaves as its first address does now.
fn leading_to(netlink: &mut Netlink, prefix: Prefix) -> Result<RouteMessage, KernelError> {
    let found =
        netlink.route_to(prefix.address).map_err(KernelError::system(format!("find the way to {prefix}")))?;
    let mut route = RouteMessage::default();
    route.header = RouteHeader {
        address_family: family(prefix.address),
        destination_prefix_length: prefix.bits,
        table: RouteHeader::RT_TABLE_MAIN,
        protocol: RouteProtocol::from(OURS),
        scope: RouteScope::Universe,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    let mut has_gateway = false;
    for attribute in found.attributes {
        has_gateway |= matches!(attribute, RouteAttribute::Gateway(_) | RouteAttribute::Via(_));
        if let RouteAttribute::Oif(_) | RouteAttribute::Gateway(_) | RouteAttribute::Via(_) = attribute {
            route.attributes.push(attribute);
        }
    }
    if !has_gateway && prefix.address.is_ipv4() {
        route.header.scope = RouteScope::Link;
    }
    if prefix.bits > 0 {
        route.attributes.push(RouteAttribute::Destination(RouteAddress::from(prefix.address)));
    }
    Ok(route)
}

fn change_metrics(route: &mut RouteMessage, change: impl FnOnce(&mut Vec<RouteMetric>)) {
    // Flags that the kernel reports of a route, and does not accept.
    route.header.flags.remove(RouteFlags::Dead | RouteFlags::Linkdown);
    route.attributes.retain(|attribute| !matches!(attribute, RouteAttribute::CacheInfo(_)));
    let at = route.attributes.iter().position(|attribute| matches!(attribute, RouteAttribute::Metrics(_)));
    let mut metrics = match at.map(|at| route.attributes.remove(at)) {
        Some(RouteAttribute::Metrics(metrics)) => metrics,
        _ => Vec::new(),
    };
    change(&mut metrics);
    if !metrics.is_empty() {
        route.attributes.push(RouteAttribute::Metrics(metrics));
    }
}

/// The congestion control that a route names.
fn named_by(route: &RouteMessage) -> Option<&str> {
    let metrics = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Metrics(metrics) => Some(metrics),
        _ => None,
    });
    metrics?.iter().find_map(|metric| match metric {
        RouteMetric::CcAlgo(name) => Some(name.as_str()),
        _ => None,
    })
}

fn uses(route: &RouteMessage, scheme: &str) -> bool {
    named_by(route) == Some(scheme)
}

fn scheme_of(route: &RouteMessage) -> Option<Scheme> {
    named_by(route).and_then(Scheme::named)
}

fn destination(route: &RouteMessage) -> Option<IpAddr> {
    route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Destination(RouteAddress::Inet(address)) => Some((*address).into()),
        RouteAttribute::Destination(RouteAddress::Inet6(address)) => Some((*address).into()),
        _ => None,
    })
}

fn is_to(route: &RouteMessage, prefix: Prefix) -> bool {
    route.header.table == RouteHeader::RT_TABLE_MAIN
        && route.header.kind == RouteType::Unicast
        && route.header.address_family == family(prefix.address)
        && route.header.destination_prefix_length == prefix.bits
        && (prefix.bits == 0 || destination(route) == Some(prefix.address))
}

/// `10.45.0.0/16`, `default`.
fn destination_of(route: &RouteMessage) -> String {
    match destination(route) {
        Some(address) => format!("{address}/{}", route.header.destination_prefix_length),
        None => "default".into(),
    }
}

fn name_of(route: &RouteMessage) -> String {
    match destination(route) {
        Some(_) => format!("the route {}", destination_of(route)),
        None => "the default route".into(),
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

impl Netlink {
    fn routes(&mut self) -> Result<Vec<RouteMessage>, KernelError> {
        let answers = self
            .list(RouteNetlinkMessage::GetRoute(RouteMessage::default()))
            .map_err(KernelError::system("list the routes"))?;
        let routes = answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewRoute(route) => Some(route),
            _ => None,
        });
        Ok(routes.collect())
    }

    /// The route that a packet to `address` takes.
    fn route_to(&mut self, address: IpAddr) -> std::io::Result<RouteMessage> {
        let mut question = RouteMessage::default();
        question.header.address_family = family(address);
        question.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
        question.attributes.push(RouteAttribute::Destination(RouteAddress::from(address)));
        match self.ask(RouteNetlinkMessage::GetRoute(question))? {
            RouteNetlinkMessage::NewRoute(route) => Ok(route),
            _ => Err(std::io::ErrorKind::InvalidData.into()),
        }
    }

    fn put(&mut self, route: RouteMessage, flags: u16) -> std::io::Result<()> {
        self.tell(RouteNetlinkMessage::NewRoute(route), flags)
    }

    fn delete(&mut self, route: RouteMessage) -> std::io::Result<()> {
        self.tell(RouteNetlinkMessage::DelRoute(route), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_an_address_and_a_length_that_fits_it() {
        for text in ["10.45.0.0/16", "0.0.0.0/0", "2001:db8::/32", "::1/128"] {
            assert_eq!(text.parse::<Prefix>().expect("a prefix").to_string(), text);
        }
        for text in ["10.0.0.0", "10.0.0.0/33", "::1/129", "host/8", "10.0.0.0/", ""] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
        // The kernel answered "Invalid argument".
        for (text, whole, one) in [
            ("10.45.9.7/24", "10.45.9.0/24", "10.45.9.7/32"),
            ("2001:db8::1/32", "2001:db8::/32", "2001:db8::1/128"),
            ("1.0.0.0/0", "0.0.0.0/0", "1.0.0.0/32"),
        ] {
            let error = text.parse::<Prefix>().expect_err("too long an address");
            assert!(error.contains(whole) && error.contains(one), "{error}");
        }
    }
}

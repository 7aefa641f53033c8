//! Network namespaces, their devices and addresses.
#![allow(missing_docs)]
use crate::device::Device;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
pub struct Topology {
    pub outside: User,
    pub users: Vec<User>,
}
pub struct User {
    pub device: Arc<Device>,
    pub address4: Ipv4Addr,
    pub address6: Ipv6Addr,
}

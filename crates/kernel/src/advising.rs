//! Writes what the network says of the paths to peers.

use crate::error::KernelError;
use crate::pins::Pins;
use crate::steps::assisted::AdviceValue;
use bytemuck::bytes_of;
use libbpf_rs::{MapCore, MapFlags};
use std::net::IpAddr;

impl Pins {
    /// Gives the assisted schemes advice on the path to a peer, in place of older advice.
    ///
    /// # Errors
    /// None of them is loaded, or we may not.
    pub fn advise(&self, peer: IpAddr, advice: &AdviceValue) -> Result<(), KernelError> {
        let key = match peer {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        self.shared_map("advice_1")?
            .update(&key.octets(), bytes_of(advice), MapFlags::ANY)
            .map_err(KernelError::libbpf(format!("advise on {peer}")))
    }
}

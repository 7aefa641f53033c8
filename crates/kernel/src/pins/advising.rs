//! Writes the network's reports on the paths to peers.

use crate::error::KernelError;
use crate::pins::Pins;
use bytemuck::bytes_of;
use cellcc_control::Advice;
use cellcc_fixed::assisted::Advice as AdviceValue;
use cellcc_fixed::{BytesPerSecond, Instant, Micros};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustix::time::{ClockId, clock_gettime};
use std::net::IpAddr;

impl Pins {
    /// Gives the assisted schemes advice on the path to a peer, in place of older advice.
    ///
    /// # Errors
    /// No such scheme is loaded, or permission is missing.
    pub fn advise(&self, peer: IpAddr, advice: &AdviceValue) -> Result<(), KernelError> {
        write_advice(&self.shared_map("advice_1")?, peer, advice)
    }
}

/// Writes advice into the map that the programs read.
pub(crate) fn write_advice(map: &MapHandle, peer: IpAddr, advice: &AdviceValue) -> Result<(), KernelError> {
    map.update(&key(peer), bytes_of(advice), MapFlags::ANY)
        .map_err(KernelError::libbpf(format!("advise on {peer}")))
}

/// Removes the report on a peer, if there is one.
pub(crate) fn forget_advice(map: &MapHandle, peer: IpAddr) {
    let _ = map.delete(&key(peer));
}

/// An address in the programs' form: as one of IPv6.
pub(crate) fn key(peer: IpAddr) -> [u8; 16] {
    match peer {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The value in the kernel's map for advice that reached this machine just now.
pub fn advice_now(advice: &Advice) -> AdviceValue {
    let micros = |span: cellcc_units::Span| span.as_nanos() / 1000;
    let short = |span| Micros(u32::try_from(micros(span)).unwrap_or(u32::MAX));
    AdviceValue {
        bandwidth: BytesPerSecond(advice.bandwidth.as_bytes_per_sec()),
        measured_at: Instant(monotonic_us().saturating_sub(micros(advice.age))),
        // Zero where the network does not report it.
        min_rtt: short(advice.min_rtt.unwrap_or_default().total()),
        period: short(advice.period),
        flows: advice.flows,
        reserved: 0,
    }
}

/// The clock of the programs: `CLOCK_MONOTONIC`, in microseconds.
fn monotonic_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000 + now.tv_nsec.unsigned_abs() / 1000
}

//! The sockets that use a scheme, as they are just now.

use crate::error::KernelError;
use crate::libbpf_log::logged;
use crate::recording::verification::SocketName;
use crate::schemes::Scheme;
use bytemuck::{Pod, Zeroable, cast_slice, checked, pod_read_unaligned};
use cellcc_fixed::Micros;
use cellcc_fixed::mirror;
use cellcc_fixed::reminis::{Reminis, Zone};
use cellcc_units::{Rate, Span};
use libbpf_rs::{Iter, Link, ObjectBuilder};
use std::io::Read;

mirror! {
    /// A socket in a list.
    #[derive(Pod, Zeroable)]
    pub(crate) struct Listed as listed {
        scheme: [u8; 16],
        socket: SocketName,
        pacing_rate: u64,
        state: [u64; 13],
        srtt_us: u32,
        min_rtt_us: u32,
        cwnd: u32,
        ssthresh: u32,
        packets_out: u32,
        lost: u32,
    }
}

/// A socket that uses a scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Socket {
    /// The scheme.
    pub scheme: Scheme,
    /// The socket's ports and its peer.
    pub name: SocketName,
    /// The smoothed RTT.
    pub srtt: Span,
    /// The smallest RTT of some minutes (`tcp_min_rtt_wlen`); `None` before the first sample.
    pub min_rtt: Option<Span>,
    /// The window in packets.
    pub cwnd: u32,
    /// Packets that are in flight or lost.
    pub outstanding: u32,
    /// The pacing rate; `None` without a bound.
    pub pacing_rate: Option<Rate>,
    /// Packets that were lost so far.
    pub lost: u32,
    /// Reminis over Reno: where its delay was at the last decision, once there was one.
    pub zone: Option<Zone>,
    /// Reminis over Reno: the target RTT.
    pub target: Option<Span>,
}

pub(crate) const OBJECT: &[u8] = include_bytes!("../../objects/sockets.bpf.o");

/// Lists sockets.
pub struct Sockets {
    link: Link,
}

impl Sockets {
    /// Sockets of the network namespace that the calling thread will be in at each [`list`](Self::list).
    ///
    /// # Errors
    /// Permission is missing, or the kernel is too old.
    pub fn open() -> Result<Self, KernelError> {
        let object = logged(|| ObjectBuilder::default().name("sockets")?.open_memory(OBJECT)?.load());
        let object = object.map_err(|(error, log)| KernelError::Rejected {
            scheme: "the list of sockets",
            problem: error.to_string(),
            log,
        })?;
        let link = object.progs_mut().next().map(|program| program.attach());
        match link {
            Some(link) => Ok(Self { link: link.map_err(KernelError::libbpf("list sockets"))? }),
            None => Err(KernelError::NothingLoaded),
        }
    }

    /// The sockets that use a scheme now.
    ///
    /// # Errors
    /// The kernel's list cannot be read.
    pub fn list(&self) -> Result<Vec<Socket>, KernelError> {
        let mut bytes = Vec::new();
        let mut iterator = Iter::new(&self.link).map_err(KernelError::libbpf("list sockets"))?;
        iterator.read_to_end(&mut bytes).map_err(KernelError::system("list sockets"))?;
        let listed = bytes.chunks_exact(size_of::<Listed>()).map(pod_read_unaligned::<Listed>);
        Ok(listed.filter_map(|listed| listed.socket()).collect())
    }
}

impl Listed {
    fn socket(&self) -> Option<Socket> {
        let name = self.scheme.split(|byte| *byte == 0).next()?;
        let scheme = Scheme::named(std::str::from_utf8(name).ok()?)?;
        let reminis = self.reminis().filter(|_| scheme.name() == "cellcc_reminis");
        Some(Socket {
            scheme,
            name: self.socket,
            srtt: span(self.srtt_us),
            min_rtt: (self.min_rtt_us != u32::MAX).then(|| span(self.min_rtt_us)),
            cwnd: self.cwnd,
            outstanding: self.packets_out,
            pacing_rate: (self.pacing_rate != u64::MAX).then(|| Rate::from_bytes_per_sec(self.pacing_rate)),
            lost: self.lost,
            zone: reminis.map(|state| state.zone()).filter(|zone| *zone != Zone::Unknown),
            target: reminis
                .map(|state| state.target())
                .filter(|dtt| *dtt != Micros::ZERO)
                .map(|dtt| span(dtt.0)),
        })
    }

    /// The state at the beginning of `icsk_ca_priv`, where it is Reminis'.
    fn reminis(&self) -> Option<Reminis> {
        let bytes: &[u8] = cast_slice(&self.state);
        checked::try_pod_read_unaligned(bytes.get(..size_of::<Reminis>())?).ok()
    }
}

fn span(micros: u32) -> Span {
    Span::from_micros(micros.into())
}

//! Repeats the cores' decisions in the kernel in user space.

use crate::recording::NAME_BYTES;
use crate::schemes::cores;
use bytemuck::{Pod, Zeroable, cast_slice, pod_read_unaligned};
use cellcc_control::event_log::{EventLogError, StepReader};
use cellcc_fixed::mirror;
use std::fmt::{self, Debug};
use std::io::Read;
use std::net::{IpAddr, Ipv6Addr};
use thiserror::Error;

mirror! {
    /// The core of a step, and its socket.
    #[derive(Pod, Zeroable)]
    pub struct SocketName as socket_name {
        peer: [u8; 16],
        peer_port: u16,
        own_port: u16,
        core: u32,
    }
}

const _: () = assert!(size_of::<SocketName>() == NAME_BYTES);

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer: IpAddr = Ipv6Addr::from(self.peer).to_canonical();
        write!(f, "port {} to {}", self.own_port, std::net::SocketAddr::new(peer, self.peer_port))
    }
}

/// The result of repeating decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The number of steps decided again, for each core that occurs.
    pub steps: Vec<(&'static str, u64)>,
    /// The first that was decided otherwise; `None` where all were decided alike.
    pub difference: Option<Difference>,
}

/// A step that was decided otherwise. Its texts show it field by field, one per line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The step's number in the capture, from 1.
    pub number: u64,
    /// The step's core.
    pub core: &'static str,
    /// The step's socket.
    pub socket: SocketName,
    /// The core's input.
    pub given: String,
    /// The kernel's decision.
    pub recorded: String,
    /// The decision of user space.
    pub decided: String,
}

/// Reason why a capture was not verified to its end.
#[derive(Debug, Error)]
pub enum VerificationError {
    /// The file is not a capture, or is damaged.
    #[error(transparent)]
    Log(#[from] EventLogError),
    /// A step that this cellcc cannot have recorded.
    #[error(
        "step {number} has an unknown layout: recorded by cellcc {code}, this is {here}. Verify it with {code}."
    )]
    UnknownStep {
        /// The step's number in the capture, from 1.
        number: u64,
        /// The version that recorded it.
        code: String,
        /// This version.
        here: &'static str,
    },
}

/// Decides every step of a capture again, up to the first that differs.
///
/// # Errors
/// The capture is damaged, or of a version that lays steps out otherwise.
pub fn verify(mut reader: StepReader<impl Read>) -> Result<Verified, VerificationError> {
    let cores = cores();
    let mut counts = vec![0; cores.len()];
    let mut number = 0;
    let mut difference = None;
    while let Some(step) = reader.next_step()? {
        number += 1;
        let unknown = || VerificationError::UnknownStep {
            number,
            code: reader.header().code.clone(),
            here: env!("CARGO_PKG_VERSION"),
        };
        let name: &[u8] = cast_slice(&step.of);
        let socket: SocketName =
            if name.len() == NAME_BYTES { pod_read_unaligned(name) } else { return Err(unknown()) };
        let core = cores.iter().position(|core| core.number == socket.core).ok_or_else(unknown)?;
        counts[core] += 1;
        let core = cores[core];
        if let Some([given, recorded, decided]) = core.check(&step).ok_or_else(unknown)? {
            difference = Some(Difference { number, core: core.name, socket, given, recorded, decided });
            break;
        }
    }
    let steps = cores.iter().zip(counts).filter(|(_, count)| *count > 0);
    Ok(Verified { steps: steps.map(|(core, count)| (core.name, count)).collect(), difference })
}

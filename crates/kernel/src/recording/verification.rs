//! Decides again, in user space, what the cores decided in the kernel.

use crate::recording::NAME_BYTES;
use crate::steps::assisted::{AssistedStep, assisted_run};
use crate::steps::c2tcp::{C2tcpStep, c2tcp_run};
use crate::steps::reminis::{ReminisStep, reminis_run};
use crate::steps::tide::{TideStep, tide_run};
use crate::steps::vegas::{VegasStep, vegas_run};
use crate::steps::westwood::{WestwoodStep, westwood_run};
use bytemuck::{CheckedBitPattern, Pod, Zeroable, cast_slice, checked, pod_read_unaligned};
use cellcc_control::event_log::{EventLogError, Step, StepReader};
use std::fmt::{self, Debug};
use std::io::Read;
use std::net::{IpAddr, Ipv6Addr};
use thiserror::Error;

/// Which core a step is of, and of which socket. C: `struct socket_name`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct SocketName {
    peer: [u8; 16],
    peer_port: u16,
    own_port: u16,
    core: u32,
}

const _: () = assert!(size_of::<SocketName>() == NAME_BYTES);

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer: IpAddr = Ipv6Addr::from(self.peer).to_canonical();
        write!(f, "port {} to {}", self.own_port, std::net::SocketAddr::new(peer, self.peer_port))
    }
}

/// What came of deciding again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// How many steps were decided again, of each core that there is.
    pub steps: Vec<(&'static str, u64)>,
    /// The first that was decided otherwise; `None` where all were decided alike.
    pub difference: Option<Difference>,
}

/// A step that was decided otherwise. Its texts show it field by field, a field a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// Its core.
    pub core: &'static str,
    /// Its socket.
    pub socket: SocketName,
    /// What the core was given.
    pub given: String,
    /// What the kernel made of it.
    pub recorded: String,
    /// What user space makes of it.
    pub decided: String,
}

/// Why a capture was not verified to its end.
#[derive(Debug, Error)]
pub enum VerificationError {
    /// The file is none, or is damaged.
    #[error(transparent)]
    Log(#[from] EventLogError),
    /// A step that this cellcc cannot have recorded.
    #[error(
        "step {number} is none that cellcc {here} knows: it was recorded by cellcc {code}; verify it with that one"
    )]
    UnknownStep {
        /// Its number in the capture, from 1.
        number: u64,
        /// The version that recorded it.
        code: String,
        /// This version.
        here: &'static str,
    },
}

/// A core, as captures number it.
struct Core {
    name: &'static str,
    /// Runs the step again; `None` for bytes that are no step, else the two outcomes where they differ.
    check: fn(&Step) -> Option<Option<[String; 3]>>,
}

/// By their numbers from 1 on (`RECORD_OF` in the programs).
const CORES: [Core; 6] = [
    Core { name: "reminis", check: check::<ReminisStep> },
    Core { name: "assisted", check: check::<AssistedStep> },
    Core { name: "vegas", check: check::<VegasStep> },
    Core { name: "westwood", check: check::<WestwoodStep> },
    Core { name: "c2tcp", check: check::<C2tcpStep> },
    Core { name: "tide", check: check::<TideStep> },
];

/// Decides every step of a capture again, up to the first that differs.
///
/// # Errors
/// The capture is damaged, or of a version that lays steps out otherwise.
pub fn verify(source: impl Read) -> Result<Verified, VerificationError> {
    let mut reader = StepReader::new(source)?;
    let mut counts = [0; CORES.len()];
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
        let core = (socket.core as usize).checked_sub(1).filter(|core| *core < CORES.len());
        let core = core.ok_or_else(unknown)?;
        counts[core] += 1;
        if let Some([given, recorded, decided]) = (CORES[core].check)(&step).ok_or_else(unknown)? {
            difference =
                Some(Difference { number, core: CORES[core].name, socket, given, recorded, decided });
            break;
        }
    }
    let steps = CORES.iter().zip(counts).filter(|(_, count)| *count > 0);
    Ok(Verified { steps: steps.map(|(core, count)| (core.name, count)).collect(), difference })
}

/// A step that can be run.
trait Runs: CheckedBitPattern + Debug + PartialEq {
    fn run(&mut self);
}

impl Runs for ReminisStep {
    fn run(&mut self) {
        reminis_run(self);
    }
}

impl Runs for AssistedStep {
    fn run(&mut self) {
        assisted_run(self);
    }
}

impl Runs for VegasStep {
    fn run(&mut self) {
        vegas_run(self);
    }
}

impl Runs for WestwoodStep {
    fn run(&mut self) {
        westwood_run(self);
    }
}

impl Runs for C2tcpStep {
    fn run(&mut self) {
        c2tcp_run(self);
    }
}

impl Runs for TideStep {
    fn run(&mut self) {
        tide_run(self);
    }
}

fn check<T: Runs>(step: &Step) -> Option<Option<[String; 3]>> {
    let read = |words: &[u64]| checked::try_pod_read_unaligned::<T>(cast_slice(words)).ok();
    let (given, recorded) = (read(&step.before)?, read(&step.after)?);
    let mut decided = given;
    decided.run();
    let text = |step: &T| format!("{step:#?}");
    Some((decided != recorded).then(|| [text(&given), text(&recorded), text(&decided)]))
}

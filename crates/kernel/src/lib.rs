//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Schemes in the TCP of an unmodified Linux kernel: eBPF programs whose decisions are those of `cellcc-fixed`.
//!
//! | to find | look in |
//! |---|---|
//! | the list of schemes, and each one's needs of a kernel | [`Scheme`] |
//! | whether this machine can run one, and why not | [`Machine`] |
//! | schemes that are loaded for as long as a value lives | [`Held`] |
//! | a scheme as text, `reminis(dtt=40ms)` | [`Written`] |
//! | the schemes for `cellcc compare --driver kernel` | [`KernelSchemes`] |
//! | loaded schemes: they stay when the process ends | [`Pins`] |
//! | schemes in the kernel that are not pinned where we look | [`Pins::elsewhere`] |
//! | the kernel's questions to the integer cores | `cellcc_fixed::step` |
//! | the cores' decisions in the kernel, recorded and repeated | [`Recorder`], [`verify`] |
//! | the sockets that use a scheme, live | [`Sockets`] |
//! | beta in a TCP option, from the user's side | [`FlowTeller`], [`Pins::hear_flow_counts`] |
//! | traffic of an interface towards users, and their RTTs | [`HostCounters`] |
//! | the programs in C around the cores | `bpf/` |
//! | the objects, and their sources | `objects/`, written by `tools/kernel-objects` |
//!
//! Linux only.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the kernel takes real time, and namespaces threads")]

mod backend;
mod error;
mod holding;
mod libbpf_log;
mod machine;
mod network;
mod pins;
mod recording;
mod schemes;
mod sys;

pub use backend::KernelSchemes;
pub use cellcc_fixed::assisted::Advice as AdviceValue;
pub use cellcc_fixed::reminis::Zone;
pub use error::{Capability, KernelError, Refusal, Release, Unseen};
pub use holding::{Calls, Held};
pub use machine::Machine;
pub use network::host_counters::HostCounters;
pub use network::{Reset, routes};
pub use pins::advising::advice_now;
pub use pins::control_group::{ALPHA_OPTION, ControlGroup, FlowTeller, TARGET_OPTION};
pub use pins::{DEFAULT_FOLDER, Pins};
pub use recording::sockets::{Socket, Sockets};
pub use recording::verification::{Difference, SocketName, VerificationError, Verified, verify};
pub use recording::{Recorded, Recorder};
pub use schemes::{Scheme, Settings, Written, cores};

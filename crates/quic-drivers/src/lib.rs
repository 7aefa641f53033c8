//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! The flows of a Scenario in real QUIC (noq): the drivers `quic-virtual` and `quic`.
//!
//! | to find | look in |
//! |---|---|
//! | noq at both ends, in virtual time | [`VirtualDriver`] |
//! | noq over real sockets, through the emulator | `sockets`, with the feature of that name, a default |

// `sockets` reads clocks and opens sockets. The driver in virtual time has neither.
#![allow(clippy::disallowed_methods)]

mod certificate;
#[cfg(all(target_os = "linux", feature = "sockets"))]
pub mod sockets;
mod virtual_time;

pub use virtual_time::{Protection, QuicEnds, RECEIVER, SENDER, Settings, VirtualDriver};

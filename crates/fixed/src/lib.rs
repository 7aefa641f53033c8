//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! The decisions of the schemes that also run in the kernel's TCP, as integer arithmetic.
//!
//! Each scheme is a state (`repr(C)`, `Copy`), settings, and a function that changes the state and the window. The
//! function depends only on its arguments: state, settings, event, the window that the kernel's law (Reno, CUBIC, BBR)
//! left, and for random decisions a random word. It reads no clock and keeps no other memory, so the simulator, QUIC
//! and the kernel decide alike, and a recorded decision can be repeated.
//!
//! | to find | look in |
//! |---|---|
//! | an acknowledgement, a window | [`Ack`], [`Window`] |
//! | Reminis's Guardian | [`reminis`] |
//! | NATCP, and the cap of NACubic and of BBR with network assistance | [`assisted`] |
//! | Vegas | [`vegas`] |
//! | C2TCP | [`c2tcp`] |
//! | ROCCET | [`roccet`] |
//! | Westwood+ | [`westwood`] |
//! | Tide | [`tide`] |
//! | the kernel's calls of a core, as memory shared with C | [`step`], and the end of each core |
//! | random steps, to compare the kernel with the host | [`draw`] |
//! | fixed-point numbers, and functions of them with error bounds | [`Q16`] |
//!
//! BPF limits the code: no floats, no 128 bits, no panic (hence no `/` and no index), at most five arguments, 512 bytes
//! of stack. So quotients are `checked_div`, tables are read with `get`, and functions that return more than 64 bits
//! are inlined.

#![no_std]
#![cfg_attr(not(target_arch = "bpf"), forbid(unsafe_code))]

pub mod assisted;
pub mod c2tcp;
pub mod draw;
mod event;
pub mod layout;
mod number;
pub mod path;
pub mod reminis;
pub mod roccet;
pub mod step;
mod tables;
pub mod tide;
mod units;
pub mod vegas;
pub mod westwood;

pub use event::{Ack, Law, Window};
pub use number::Q16;
pub use units::{BytesPerSecond, Instant, Micros, Packets};

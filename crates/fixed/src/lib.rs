//! The decisions of the schemes that also run in the kernel's TCP, as integer arithmetic.
//!
//! Each scheme is a state (`repr(C)`, `Copy`), a configuration, and a function of state, configuration, event, the window as
//! the kernel's law (Reno, CUBIC, BBR) left it, and where it draws, a random word; it changes the state and the window. There
//! is nothing else: no clock, no memory of its own. So the simulator, QUIC and the kernel decide alike, and a recorded
//! decision can be repeated.
//!
//! | to find | look in |
//! |---|---|
//! | an acknowledgement, a window | [`Ack`], [`Window`] |
//! | Reminis' Guardian | [`reminis`] |
//! | NATCP, and the cap of NACubic and of BBR with network assistance | [`assisted`] |
//! | Vegas | [`vegas`] |
//! | C2TCP | [`c2tcp`] |
//! | ROCCET | [`roccet`] |
//! | Westwood+ | [`westwood`] |
//! | Tide | [`tide`] |
//! | what the kernel asks a core, as memory that C shares | [`step`], and the end of each core |
//! | random steps, to compare the kernel with the host | [`draw`] |
//! | numbers with a fraction, and functions of them, with their error | [`Q16`] |
//!
//! BPF bounds what the code may do: no floats, no 128 bits, no panic (hence no `/` and no index), at most five arguments,
//! 512 bytes of stack. So quotients are `checked_div`, tables are read with `get`, and what returns more than 64 bits is
//! inlined.

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

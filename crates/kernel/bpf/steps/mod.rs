//! Steps: what the kernel asks the integer cores, as memory that C, Rust, BPF and the host lay out alike.
//!
//! A step holds everything that a decision depends on (state, settings, event, window, random word), and the decision once it
//! has run. So it can be recorded in the kernel and run again elsewhere.

pub mod assisted;
pub mod c2tcp;
pub mod draw;
pub mod path;
pub mod reminis;
pub mod tide;
pub mod vegas;
pub mod westwood;

//! The driver for the kernel's own TCP: a Scenario in real time, through the emulator, with the quantities of the simulator.
//!
//! ```text
//!  outside:                                                                                             user:
//!  sender -> kernel's TCP (cubic, bbr, ...) -> device -> the Scenario's link or cell -> device -> kernel's TCP -> receiver
//!            ^ tcp_info                           | tap                            tap |
//!                                                 +-> meter <--------------------------+
//! ```
//!
//! The kernel has the schemes that it was built with, and those that a [`TcpBackend`](cellcc_experiment::TcpBackend) adds.
//!
//! A flow begins with TCP's handshake, so its data begin one round-trip time later than in the simulator. When it
//! stops, its connection is aborted.

mod conversation;
mod driver;
mod endpoints;
mod first_windows;
mod notes;
mod packet;
mod schemes;
mod taps;
mod tcp_info;
mod workload;

pub use driver::KernelDriver;

//! The driver for schemes over UDP: a Scenario in real time, through the emulator, with the quantities of the simulator.
//!
//! ```text
//!  outside:                                                                             user:
//!  sender -> UDP socket -> device -> the Scenario's link or cell -> device -> UDP socket -> receiver
//!  | RTT, scheme's inside     | tap                            tap |             frames |
//!  |                          +-> meter <--------------------------+                    |
//!  +-------------------------------> Record <-------------------------------------------+
//! ```
//!
//! What sends and receives is a [`UdpBackend`](cellcc_experiment::UdpBackend). Of the packets the taps see ports and sizes:
//! throughput, queueing delay and losses are theirs. What lies behind encryption the player's own two ends tell.

mod driver;
mod endpoints;
mod flow;

pub use driver::UdpDriver;

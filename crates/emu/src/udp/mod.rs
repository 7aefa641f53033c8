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
//! A [`UdpBackend`](cellcc_experiment::UdpBackend) sends and receives. The taps see the ports and sizes of packets,
//! which give throughput, queueing delay and losses. The backend's endpoints report the parts that encryption hides.

mod driver;
mod flow;

pub use driver::UdpDriver;

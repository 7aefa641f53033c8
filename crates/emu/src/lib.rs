//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Real time: unmodified programs, and the kernel's own TCP, over an emulated cellular link.
//!
//! | piece | description |
//! |---|---|
//! | [`Topology`](topology::Topology) | network namespaces and their [`Device`](device::Device)s |
//! | [`Stage`](stage::Stage) | the parts of the emulated path, made of `link`'s pieces |
//! | [`Emulation`](emulation::Emulation) | two threads that carry packets between the devices, on the path's schedule |
//! | [`QueueCounts`](queue_counts::QueueCounts) | counters of the queues of a running emulation |
//! | [`Commands`](commands::Commands) | the programs that run behind the path, until the last of them has ended |
//! | [`Guard`](guard::Guard) | ends them where the emulator no longer can |
//! | [`mahimahi`] | the command lines and logs that people know |
//! | [`kernel`] | the driver for the kernel's own TCP |
//! | [`udp`] | the driver for schemes over UDP sockets |
//! | [`doctor`] | the abilities of this machine |
//!
//! Linux only.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real time has clocks, threads and sockets")]

pub mod commands;
pub mod device;
pub mod doctor;
pub mod emulation;
pub mod error;
pub mod guard;
pub mod job;
pub mod kernel;
pub mod log;
pub mod mahimahi;
pub mod namespace;
mod netlink;
mod process;
pub mod queue_counts;
mod realtime;
pub mod stage;
mod sys;
pub mod tap;
pub mod topology;
pub mod udp;

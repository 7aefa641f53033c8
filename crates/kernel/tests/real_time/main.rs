//! Tests of the schemes in the kernel of this machine. They need root; others skip them, and say so.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real sockets, in threads")]

mod advice;
mod control_group;
mod equality;
mod flow_counts;
mod kernel;
mod lifetime;
mod nginx;
mod objects;
mod programs;
mod recording;
mod routes;
mod socket_options;
mod spaces;

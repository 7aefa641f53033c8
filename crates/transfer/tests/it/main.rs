//! A server and its clients over loopback.

#![allow(clippy::disallowed_methods, reason = "tests in real time")]

mod admission;
#[path = "../../examples/soak/flood.rs"]
mod flood;

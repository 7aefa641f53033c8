//! A server and its clients over loopback.

#![allow(clippy::disallowed_methods, reason = "tests in real time")]

mod admission;
#[path = "../../../measure/src/server_flood/flood.rs"]
mod flood;
mod http;

//! The service over real QUIC on loopback: what it does for those who may, and what it does not do for those who may not.

#![allow(clippy::disallowed_methods, reason = "sockets and time")]

mod attacks;
mod probe;
mod service;
mod sources;
mod support;

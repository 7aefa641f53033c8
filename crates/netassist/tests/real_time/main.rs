//! The service over real QUIC, and through a real NATS broker, on loopback: its service for clients with rights, and its
//! refusals for others.

#![allow(clippy::disallowed_methods, reason = "sockets and time")]

mod attacks;
mod broker;
mod memory;
mod nats;
mod nats_attacks;
mod nats_impostor;
mod probe;
mod service;
mod sources;
mod support;

//! Schemes in real QUIC connections over loopback.

#![allow(clippy::disallowed_methods, reason = "tests in real time")]

mod advice;
mod codepoints;
mod extension;
mod loopback;
#[cfg(feature = "qlog")]
mod qlog;
mod receive_thread;
mod robust;
mod support;

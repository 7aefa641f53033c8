//! Topologies, and the driver of the kernel's TCP. Without network namespaces the tests are skipped.

#![allow(clippy::disallowed_methods, reason = "tests in real time")]

mod common;
mod kernel_driver;
mod topology;

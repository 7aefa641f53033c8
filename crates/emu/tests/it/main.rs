//! Topologies, and the driver of the kernel's TCP. Without network namespaces the tests are skipped.

mod common;
mod kernel_driver;
mod topology;

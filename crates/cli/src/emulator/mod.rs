//! Programs behind emulated links.

#[cfg(target_os = "linux")]
pub(crate) mod doctor;
#[cfg(target_os = "linux")]
pub(crate) mod emulated;
#[cfg(target_os = "linux")]
pub(crate) mod graph;
#[cfg(target_os = "linux")]
pub(crate) mod mahimahi;
#[cfg(target_os = "linux")]
pub(crate) mod shell;

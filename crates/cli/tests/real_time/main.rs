//! The command in real time: a program of its own, so that no other tests run next to it.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "real time has clocks")]

#[path = "../common/mod.rs"]
mod common;

mod assist_counters;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod assist_demo;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod assist_join;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod assist_moves;
#[cfg(target_os = "linux")]
mod assist_page;
#[cfg(target_os = "linux")]
mod browser;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod cell;
#[cfg(target_os = "linux")]
mod codepoints;
#[cfg(target_os = "linux")]
mod descriptors;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod host_counters;
#[cfg(target_os = "linux")]
mod http;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod kernel_schemes;
#[cfg(target_os = "linux")]
mod quic_driver;
#[cfg(target_os = "linux")]
mod recorded;
#[cfg(target_os = "linux")]
mod shell;
mod transfer;
#[cfg(target_os = "linux")]
mod video;
#[cfg(target_os = "linux")]
mod video_ends;

/// There to end a hang: far longer than anything takes on a busy machine.
const HANG_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(120);

/// True if this machine can emulate a path. Otherwise the test is skipped.
#[cfg(target_os = "linux")]
fn can_emulate() -> bool {
    cellcc_emu::namespace::Namespace::create().map_err(cellcc_test_support::skip).is_ok()
}

//! The system call for which libbpf-rs has no safe wrapper. All of this crate's unsafe code is here.

#![allow(unsafe_code, reason = "a thin wrapper over bpf(BPF_LINK_UPDATE)")]

use libbpf_rs::libbpf_sys::bpf_link_update;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Lets a link of struct_ops hold another map.
pub(crate) fn update_link(link: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both files are open, and there are no options to point to.
    let result = unsafe { bpf_link_update(link.as_raw_fd(), map.as_raw_fd(), std::ptr::null()) };
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-result)) }
}

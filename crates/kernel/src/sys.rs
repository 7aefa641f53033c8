//! The system calls for which libbpf-rs has no safe wrapper. All of this crate's unsafe code is here.

#![allow(unsafe_code, reason = "thin wrappers over bpf(BPF_LINK_UPDATE) and bpf(BPF_LINK_CREATE)")]

use libbpf_rs::libbpf_sys::{bpf_attach_type, bpf_link_create, bpf_link_update};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Lets a link of struct_ops hold another map.
pub(crate) fn update_link(link: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both files are open, and there are no options to point to.
    let result = unsafe { bpf_link_update(link.as_raw_fd(), map.as_raw_fd(), std::ptr::null()) };
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-result)) }
}

/// Attaches a program to an interface for as long as the file is open.
pub(crate) fn link_to_interface(
    program: BorrowedFd<'_>,
    interface: u32,
    hook: bpf_attach_type,
) -> io::Result<OwnedFd> {
    let interface = i32::try_from(interface).map_err(io::Error::other)?;
    // SAFETY: the program's file is open, and there are no options to point to.
    let result = unsafe { bpf_link_create(program.as_raw_fd(), interface, hook, std::ptr::null()) };
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result));
    }
    // SAFETY: a file that the call above has opened, and only we know.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

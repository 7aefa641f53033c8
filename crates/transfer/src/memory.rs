//! Memory that a server no longer uses goes back to the system.

/// Gives free memory back. glibc keeps it otherwise: after a flood had ended, 12 of 209 MB were in use, and all 209 MB
/// were resident, with one arena or many, and with any trim threshold. Takes milliseconds, in which other threads may wait
/// for memory. Other C libraries need no such call.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code, reason = "glibc has no other interface")]
    // SAFETY: malloc_trim(3) is thread-safe and touches only memory that is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

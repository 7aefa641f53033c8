//! Lets programs set their own delay target and window for a socket, with setsockopt at the level `IPPROTO_TCP`.

use crate::error::KernelError;
use crate::pins::Pins;
use crate::pins::control_group::{ControlGroup, SOCKET_OPTIONS};

/// The option of the target RTT (DTT) of Reminis: microseconds as a `u32`; zero for that of all sockets.
pub const TARGET_OPTION: i32 = 0x7d01;
/// The option of the window of NATCP and of what is capped to it: bandwidth-delay products in units of 2^-16, as a `u32`; zero
/// for that of all sockets.
pub const ALPHA_OPTION: i32 = 0x7d02;

impl Pins {
    /// Lets the programs in this control group set [`TARGET_OPTION`] and [`ALPHA_OPTION`], until the last scheme
    /// is unloaded.
    ///
    /// # Errors
    /// Nothing is loaded, or we may not.
    pub fn offer_socket_options(&self, group: &ControlGroup) -> Result<(), KernelError> {
        SOCKET_OPTIONS.attach_and_pin(self, group)
    }
}

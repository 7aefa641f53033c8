//! Lets programs set their own delay target and window for a socket, with setsockopt at the level `IPPROTO_TCP`.

use crate::error::KernelError;
use crate::libbpf_log::logged;
use crate::pins::Pins;
use libbpf_rs::{Link, ObjectBuilder};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The option of the target RTT (DTT) of Reminis: microseconds as a `u32`; zero for that of all sockets.
pub const TARGET_OPTION: i32 = 0x7d01;
/// The option of the window of NATCP and of what is capped to it: bandwidth-delay products in units of 2^-16, as a `u32`; zero
/// for that of all sockets.
pub const ALPHA_OPTION: i32 = 0x7d02;

const NAME: &str = "socket options";

impl Pins {
    /// Lets the programs in this control group (of version 2) set [`TARGET_OPTION`] and [`ALPHA_OPTION`], until the last scheme
    /// is unloaded.
    ///
    /// # Errors
    /// Nothing is loaded, it is no such group, or we may not.
    pub fn offer_socket_options(&self, group: &Path) -> Result<(), KernelError> {
        let settings = self.shared("socket_settings");
        if self.loaded().is_empty() {
            return Err(KernelError::NothingLoaded);
        }
        let named = |what: &str| format!("{what} the control group {}", group.display());
        let folder = File::open(group).map_err(KernelError::system(named("open")))?;
        let object = logged(|| {
            let mut object =
                ObjectBuilder::default().open_memory(include_bytes!("../objects/socket_option.bpf.o"))?;
            for mut map in object.maps_mut().filter(|map| map.name() == "socket_settings") {
                map.set_pin_path(&settings)?;
            }
            object.load()
        });
        let object = object.map_err(|(error, log)| KernelError::Rejected {
            scheme: NAME,
            problem: error.to_string(),
            log,
        })?;
        for program in object.progs_mut() {
            let attached = logged(|| program.attach_cgroup(folder.as_raw_fd()));
            let mut link = attached
                .map_err(|(error, _)| KernelError::libbpf(named("offer socket options to"))(error))?;
            let pin = self.shared("socket_option");
            // A group that was named before no longer has them.
            self.withdraw_socket_options();
            link.pin(&pin).map_err(KernelError::libbpf(format!("pin {}", pin.display())))?;
        }
        Ok(())
    }

    /// Takes the options back, where they are offered. Without the pin alone the kernel would do so some time later.
    pub(crate) fn withdraw_socket_options(&self) {
        let pin = self.shared("socket_option");
        // libbpf prints a warning about a pin that is not there.
        if pin.exists()
            && let Ok(link) = Link::open(&pin)
        {
            let _ = link.detach();
        }
        let _ = std::fs::remove_file(&pin);
    }
}

//! Puts the programs of this cellcc in the place of those that are loaded.

use crate::error::KernelError;
use crate::libbpf_log::logged;
use crate::machine::Machine;
use crate::pins::Pins;
use crate::pins::loading::rejected;
use crate::schemes::Scheme;
use crate::sys;
use libbpf_rs::{Link, MapCore, MapType};
use std::os::fd::AsFd;

impl Pins {
    /// Replaces the programs of a loaded scheme at once: there is no moment without it. New sockets have the new ones; live
    /// sockets keep the old ones until they close. Settings stay.
    ///
    /// # Errors
    /// It is not loaded, the machine cannot run the new programs, or their settings have another layout.
    pub fn upgrade(&self, scheme: Scheme, machine: &Machine) -> Result<(), KernelError> {
        machine.permits(scheme)?;
        // Where it is not loaded, there may be no folder to lock.
        self.settings(scheme)?;
        let _turn = self.take_turn()?;
        self.replace_programs(scheme)
    }

    /// In this process's turn.
    pub(crate) fn replace_programs(&self, scheme: Scheme) -> Result<(), KernelError> {
        self.settings(scheme)?;
        let link = Link::open(self.link(scheme))
            .map_err(KernelError::libbpf(format!("open {}", self.link(scheme).display())))?;
        let mut object =
            logged(|| self.open(scheme)?.load()).map_err(|(error, log)| rejected(scheme, &error, log))?;
        for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
            // This fails, since the name is taken, but only after it has filled the map, which libbpf does nowhere else. The
            // kernel's log says so: "already registered or non-unique key".
            let _ = logged(|| map.attach_struct_ops());
            sys::update_link(link.as_fd(), map.as_fd())
                .map_err(KernelError::system(format!("upgrade {}", scheme.name())))?;
        }
        Ok(())
    }
}

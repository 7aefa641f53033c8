//! Loads a scheme, so that it stays.

use crate::error::KernelError;
use crate::libbpf_log::logged;
use crate::machine::Machine;
use crate::network;
use crate::pins::{Pins, write_settings};
use crate::scheme::Scheme;
use crate::settings::Settings;
use libbpf_rs::{MapCore, MapType, Object, ObjectBuilder, OpenObject};

impl Pins {
    /// Loads a scheme, with these settings for all sockets. Every program may choose it from then on, in every namespace,
    /// until it is unloaded.
    ///
    /// # Errors
    /// The machine cannot run it, it is loaded already, or the kernel refuses it. Nothing of it stays then.
    pub fn load(&self, scheme: Scheme, settings: &Settings, machine: &Machine) -> Result<(), KernelError> {
        machine.permits(scheme)?;
        if self.link(scheme).exists() {
            return Err(KernelError::LoadedAlready(scheme.name()));
        }
        network::check_name_is_free(scheme)?;
        self.prepare(scheme)?;
        let loaded = logged(|| self.open(scheme)?.load())
            .map_err(|(error, log)| rejected(scheme, &error, log))
            .and_then(|object| self.register(scheme, settings, object));
        if loaded.is_err() {
            // The first error is the one to tell.
            let _ = self.remove(scheme);
        }
        loaded
    }

    /// The scheme's object, whose maps are those that are pinned already, or will be.
    pub(crate) fn open(&self, scheme: Scheme) -> libbpf_rs::Result<OpenObject> {
        let mut object = ObjectBuilder::default().name(scheme.name())?.open_memory(scheme.object())?;
        for mut map in object.maps_mut() {
            if let Some(path) = map.name().to_str().and_then(|name| self.map(scheme, name)) {
                map.set_pin_path(path)?;
            }
        }
        Ok(object)
    }

    /// Registers what the kernel has accepted.
    fn register(&self, scheme: Scheme, settings: &Settings, mut object: Object) -> Result<(), KernelError> {
        if let Some(map) = object.maps().find(|map| map.name() == "settings") {
            write_settings(&map, scheme, settings)?;
        }
        for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
            let mut link =
                logged(|| map.attach_struct_ops()).map_err(|(error, log)| rejected(scheme, &error, log))?;
            link.pin(self.link(scheme))
                .map_err(KernelError::libbpf(format!("pin {}", self.link(scheme).display())))?;
        }
        Ok(())
    }
}

pub(crate) fn rejected(scheme: Scheme, error: &libbpf_rs::Error, log: String) -> KernelError {
    KernelError::Rejected { scheme: scheme.name(), problem: error.to_string(), log }
}

//! Loads a scheme, so that it stays.

use crate::error::KernelError;
use crate::libbpf_log::logged;
use crate::machine::Machine;
use crate::pins::{Pins, write_settings};
use crate::schemes::Scheme;
use crate::schemes::Settings;
use libbpf_rs::{MapCore, MapType, Object, ObjectBuilder, OpenObject};

impl Pins {
    /// Loads a scheme, with these settings for all sockets. Every program may choose it from then on, in every namespace,
    /// until it is unloaded.
    ///
    /// # Errors
    /// The machine cannot run it, it is loaded already, or the kernel refuses it. Nothing of it stays then.
    pub fn load(&self, scheme: Scheme, settings: &Settings, machine: &Machine) -> Result<(), KernelError> {
        machine.permits(scheme)?;
        let _turn = self.take_turn()?;
        if self.link(scheme).exists() {
            return Err(KernelError::LoadedAlready(scheme.name()));
        }
        self.load_anew(scheme, settings)
    }

    /// Loads a scheme, or gives one that is loaded these settings and the programs of this cellcc: it ends the same whatever was
    /// there. Live sockets of a loaded one keep their programs, as in [`upgrade`](Self::upgrade).
    ///
    /// # Errors
    /// As those of [`load`](Self::load), or what is loaded has settings of another layout. It stays as it is then.
    pub fn load_or_replace(
        &self,
        scheme: Scheme,
        settings: &Settings,
        machine: &Machine,
    ) -> Result<(), KernelError> {
        machine.permits(scheme)?;
        let _turn = self.take_turn()?;
        if !self.link(scheme).exists() {
            return self.load_anew(scheme, settings);
        }
        self.replace_programs(scheme)?;
        self.set(scheme, settings)
    }

    /// What it clears away where it fails is its own, or of a load that was killed: it is this process's turn.
    fn load_anew(&self, scheme: Scheme, settings: &Settings) -> Result<(), KernelError> {
        if let Some(elsewhere) = self.elsewhere(&[scheme]) {
            return Err(elsewhere);
        }
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

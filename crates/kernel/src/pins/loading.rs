//! Loads a scheme permanently, puts newer programs in its place, and unloads it without leftovers.

use crate::error::KernelError;
use crate::libbpf_log::logged;
use crate::machine::Machine;
use crate::network::{Namespace, Reset};
use crate::pins::{Pins, write_settings};
use crate::schemes::{Scheme, Settings};
use crate::{network, sys};
use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder, OpenObject};
use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

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
    /// # Errors As those of [`load`](Self::load), or the loaded scheme has settings of another layout. It stays as it is then.
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

    /// On failure it clears away only its own parts, or those of a load that was killed: it is this process's turn.
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

    /// Registers the objects that the kernel has accepted.
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

// Upgrading: the programs of this cellcc in the place of those that are loaded.

impl Pins {
    /// Replaces the programs of a loaded scheme at once: there is no moment without it. New sockets have the new ones; live
    /// sockets keep the old ones until they close. Settings stay.
    ///
    /// # Errors
    /// The scheme is not loaded, the machine cannot run the new programs, or their settings have another layout.
    pub fn upgrade(&self, scheme: Scheme, machine: &Machine) -> Result<(), KernelError> {
        machine.permits(scheme)?;
        // Where it is not loaded, there may be no folder to lock.
        self.settings(scheme)?;
        let _turn = self.take_turn()?;
        self.replace_programs(scheme)
    }

    /// Replaces the programs, in this process's turn.
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

// Unloading.

impl Pins {
    /// Unloads a scheme. Defaults are reset first: a namespace or a route with an unloaded scheme would keep its programs, and
    /// give them to new sockets. Sockets that use it keep it until they close.
    ///
    /// A scheme that was loaded half, by a process that was killed, is also removed.
    ///
    /// # Errors The scheme is not there, permission is missing, or another process holds it.
    pub fn unload(&self, scheme: Scheme) -> Result<Vec<Reset>, KernelError> {
        if !self.scheme(scheme).exists() {
            return Err(self.not_loaded(scheme));
        }
        let _turn = self.take_turn()?;
        let resets = Namespace::all()?
            .iter()
            .map(|namespace| namespace.run(|| network::reset(scheme.name(), namespace)))
            .collect::<Result<Vec<_>, _>>()?;
        self.remove(scheme)?;
        wait_until_gone(scheme)?;
        resets.into_iter().collect::<Result<Vec<_>, _>>().map(|resets| resets.concat())
    }
}

/// The kernel lets go of a link some time after its pin: a grace period of RCU, tens of milliseconds as a rule.
const UNLOAD_TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

fn wait_until_gone(scheme: Scheme) -> Result<(), KernelError> {
    let began = Instant::now();
    while network::available_schemes()?.iter().any(|name| name == scheme.name()) {
        if began.elapsed() > UNLOAD_TIMEOUT {
            return Err(KernelError::StillHeld(scheme.name()));
        }
        sleep(PAUSE);
    }
    Ok(())
}

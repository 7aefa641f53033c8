//! Keeps a scheme loaded for as long as a value lives, without pins: whatever ends the process, nothing stays.

use crate::error::KernelError;
use crate::libbpf_log::logged;
use crate::machine::Machine;
use crate::network;
use crate::pins::advising::{forget_advice, write_advice};
use crate::pins::loading::rejected;
use crate::pins::write_settings;
use crate::schemes::Scheme;
use crate::schemes::Settings;
use cellcc_fixed::assisted::Advice as AdviceValue;
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, MapHandle, MapType, ObjectBuilder, Program};
use std::net::IpAddr;
use std::os::fd::AsFd;

/// A scheme that is in the kernel while this value lives.
#[derive(Debug)]
pub struct Held {
    scheme: Scheme,
    /// The numbers of its programs.
    programs: Vec<u32>,
    settings: Option<MapHandle>,
    advice: Option<MapHandle>,
    _link: Option<Link>,
}

/// The calls of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    /// The program's name.
    pub program: String,
    /// The number of calls.
    pub count: u64,
    /// The duration of all calls in nanoseconds.
    pub nanos: u64,
}

impl Held {
    /// Loads a scheme with its default settings.
    ///
    /// # Errors
    /// The machine cannot run it, the kernel has one of this name, or it refuses this one.
    pub fn load(scheme: Scheme, machine: &Machine) -> Result<Self, KernelError> {
        machine.permits(scheme)?;
        network::check_name_is_free(scheme)?;
        let load = || {
            let mut object =
                ObjectBuilder::default().name(scheme.name())?.open_memory(scheme.object())?.load()?;
            let mut link = None;
            for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
                link = Some(map.attach_struct_ops()?);
            }
            let handle = |name: &str| {
                object.maps().find(|map| map.name() == name).map(|map| MapHandle::try_from(&map)).transpose()
            };
            Ok(Self {
                scheme,
                programs: object
                    .progs()
                    .map(|program| Program::id_from_fd(program.as_fd()))
                    .collect::<Result<_, _>>()?,
                settings: handle("settings")?,
                advice: handle("advice_1")?,
                _link: link,
            })
        };
        let held = logged(load).map_err(|(error, log)| rejected(scheme, &error, log))?;
        held.set(&Settings::default_of(scheme))?;
        Ok(held)
    }

    /// Changes its settings for all sockets, the live ones included.
    ///
    /// # Errors
    /// The kernel does not take them.
    pub fn set(&self, settings: &Settings) -> Result<(), KernelError> {
        self.settings.as_ref().map_or(Ok(()), |map| write_settings(map, self.scheme, settings))
    }

    /// Gives it advice on the path to a peer, in place of older advice; nothing where it takes none.
    ///
    /// # Errors
    /// The kernel does not take it.
    pub fn advise(&self, peer: IpAddr, advice: &AdviceValue) -> Result<(), KernelError> {
        self.advice.as_ref().map_or(Ok(()), |map| write_advice(map, peer, advice))
    }

    /// Number and duration of the calls of each of its programs, while `kernel.bpf_stats_enabled` was 1.
    pub fn calls(&self) -> Vec<Calls> {
        let own = ProgInfoIter::default().filter(|program| self.programs.contains(&program.id));
        own.map(|program| Calls {
            program: program.name.to_string_lossy().into_owned(),
            count: program.run_cnt,
            nanos: program.run_time_ns,
        })
        .collect()
    }

    /// Takes back the advice on the path to a peer.
    pub fn forget_advice(&self, peer: IpAddr) {
        if let Some(map) = &self.advice {
            forget_advice(map, peer);
        }
    }
}

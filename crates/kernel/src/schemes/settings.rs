//! What can be set in a scheme while it runs, as the kernel's map holds it.

use crate::error::KernelError;
use crate::schemes::Scheme;
use crate::steps::assisted::AssistedSettings;
use crate::steps::c2tcp::C2tcpSettings;
use crate::steps::reminis::ReminisSettings;
use crate::steps::tide::TideSettings;
use crate::steps::vegas::VegasSettings;
use crate::steps::westwood::WestwoodSettings;
use bytemuck::{bytes_of, pod_read_unaligned};

/// The settings of a scheme, for all sockets that did not set their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settings {
    /// Of Reminis over either law.
    Reminis(ReminisSettings),
    /// Of NATCP, NACubic, and BBR with network assistance.
    Assisted(AssistedSettings),
    /// Of Vegas.
    Vegas(VegasSettings),
    /// Of Westwood+.
    Westwood(WestwoodSettings),
    /// Of C2TCP.
    C2tcp(C2tcpSettings),
    /// Of Tide.
    Tide(TideSettings),
}

impl Settings {
    /// Those of a scheme where nothing is set.
    pub fn default_of(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Reminis | Scheme::ReminisCubic => Self::Reminis(ReminisSettings::default()),
            Scheme::Natcp | Scheme::Nacubic | Scheme::Nabbr => Self::Assisted(AssistedSettings::default()),
            Scheme::Vegas => Self::Vegas(VegasSettings::default()),
            Scheme::Westwood => Self::Westwood(WestwoodSettings::default()),
            Scheme::C2tcp => Self::C2tcp(C2tcpSettings::DEFAULT),
            Scheme::Tide => Self::Tide(TideSettings::DEFAULT),
        }
    }

    /// As the kernel's map has them.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Reminis(settings) => bytes_of(settings),
            Self::Assisted(settings) => bytes_of(settings),
            Self::Vegas(settings) => bytes_of(settings),
            Self::Westwood(settings) => bytes_of(settings),
            Self::C2tcp(settings) => bytes_of(settings),
            Self::Tide(settings) => bytes_of(settings),
        }
    }

    /// From the kernel's map.
    pub(crate) fn of_bytes(scheme: Scheme, bytes: &[u8]) -> Result<Self, KernelError> {
        let default = Self::default_of(scheme);
        if bytes.len() != default.as_bytes().len() {
            return Err(KernelError::OtherLayout(scheme.name()));
        }
        Ok(match default {
            Self::Reminis(_) => Self::Reminis(pod_read_unaligned(bytes)),
            Self::Assisted(_) => Self::Assisted(pod_read_unaligned(bytes)),
            Self::Vegas(_) => Self::Vegas(pod_read_unaligned(bytes)),
            Self::Westwood(_) => Self::Westwood(pod_read_unaligned(bytes)),
            Self::C2tcp(_) => Self::C2tcp(pod_read_unaligned(bytes)),
            Self::Tide(_) => Self::Tide(pod_read_unaligned(bytes)),
        })
    }
}

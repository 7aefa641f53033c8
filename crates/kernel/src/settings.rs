//! What can be set in a scheme while it runs, as the kernel's map holds it.

use crate::error::KernelError;
use crate::scheme::Scheme;
use crate::steps::reminis::ReminisSettings;
use bytemuck::{bytes_of, pod_read_unaligned};

/// The settings of a scheme, for all sockets that did not set their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settings {
    /// Of Reminis.
    Reminis(ReminisSettings),
}

impl Settings {
    /// Those of a scheme where nothing is set.
    pub fn default_of(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Reminis => Self::Reminis(ReminisSettings::default()),
        }
    }

    /// As the kernel's map has them.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Reminis(settings) => bytes_of(settings),
        }
    }

    /// From the kernel's map.
    pub(crate) fn of_bytes(scheme: Scheme, bytes: &[u8]) -> Result<Self, KernelError> {
        if bytes.len() != Self::default_of(scheme).as_bytes().len() {
            return Err(KernelError::OtherLayout(scheme.name()));
        }
        Ok(match scheme {
            Scheme::Reminis => Self::Reminis(pod_read_unaligned(bytes)),
        })
    }
}

//! Programs behind emulated links.

pub(crate) mod doctor;
pub(crate) mod emulated;
pub(crate) mod graph;
pub(crate) mod mahimahi;
pub(crate) mod shell;

use crate::exit::Exit;
use cellcc_emu::error::EmuError;

impl From<EmuError> for Exit {
    fn from(error: EmuError) -> Self {
        match error {
            EmuError::Input(_) => Self::input(error),
            EmuError::Command { status, .. } => Self::Command(error.into(), status),
            EmuError::Missing(_) | EmuError::System { .. } => Self::failed(error),
        }
    }
}

//! In the place of the kernel's TCP, where this build or this system has none of our schemes for it.

use super::Rounds;
use crate::exit::Exit;
use cellcc_experiment::Record;

pub(super) fn rounds(_: &Rounds) -> Result<Vec<Record>, Exit> {
    Err(Exit::input(
        "--transport tcp: this build has none of our schemes for the kernel's TCP; docs/how-to/kernel.md says how to have it",
    ))
}

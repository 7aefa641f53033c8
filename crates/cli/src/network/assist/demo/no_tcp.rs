//! In the place of the kernel's TCP, where this build or this system has none of our schemes for it.

use super::Rounds;
use crate::exit::Exit;
use cellcc_experiment::Record;

pub(super) fn rounds(_: &Rounds) -> Result<Vec<Record>, Exit> {
    Err(Exit::input(
        "--transport tcp: only Linux, and a build with the feature `kernel`, has our schemes in its TCP",
    ))
}

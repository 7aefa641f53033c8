//! What the tests of the command share.

use assert_cmd::Command;
use std::path::Path;

/// The command, in a folder of its own.
pub(crate) fn cellcc(folder: &Path) -> Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("cellcc");
    command.current_dir(folder);
    command
}

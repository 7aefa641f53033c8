//! What the tests of the command share.

use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};

/// The command, in a folder of its own.
pub(crate) fn cellcc(folder: &Path) -> Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("cellcc");
    command.current_dir(folder);
    command
}

/// Everything in an output folder that must not depend on how it came about.
#[allow(dead_code, reason = "not every test program compares folders")]
pub(crate) fn content(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths = vec![out.join("runs.jsonl"), out.join("scenario.toml"), out.join("report.html")];
    paths.extend(fs::read_dir(out.join("series")).unwrap().map(|entry| entry.unwrap().path()));
    paths.sort();
    paths.iter().map(|path| (path.strip_prefix(out).unwrap().into(), fs::read(path).unwrap())).collect()
}

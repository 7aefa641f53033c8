//! `cellcc shell` and Mahimahi's shells with real programs. Needs namespaces, iperf3, ping, curl and python3.

mod ends;
mod input;
mod path;
mod servers;
mod waiting;

use crate::HANG_TIMEOUT;
use crate::common::cellcc;
use std::process::Output;

fn run(arguments: &[&str]) -> Output {
    cellcc(&std::env::temp_dir()).args(arguments).timeout(HANG_TIMEOUT).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

//! The common part of the command's tests.

use assert_cmd::Command;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

/// The command, in a folder of its own.
pub(crate) fn cellcc(folder: &Path) -> Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("cellcc");
    command.current_dir(folder);
    command
}

/// The command, which heeds signals: a test in the background of a script ignores SIGINT and SIGQUIT, one under nohup
/// SIGHUP, and so would the command.
pub(crate) fn interruptible(folder: &Path) -> std::process::Command {
    let mut command = std::process::Command::new("env");
    command
        .arg("--default-signal=INT,QUIT,HUP")
        .arg(assert_cmd::cargo::cargo_bin!("cellcc"))
        .current_dir(folder);
    command
}

/// Sends a signal, such as `INT`.
pub(crate) fn signal(process: &Child, name: &str) {
    let sent =
        std::process::Command::new("kill").args([&format!("-{name}"), &process.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// `cellcc assist serve`; killed where the test ends.
pub(crate) struct AssistService {
    pub(crate) process: Child,
    says: Lines<BufReader<ChildStdout>>,
}

impl AssistService {
    /// In a folder with certificates, with this configuration.
    pub(crate) fn start(folder: &Path, config: &str) -> Self {
        fs::write(folder.join("netassist.toml"), config).unwrap();
        let mut process = interruptible(folder)
            .args(["assist", "serve", "netassist.toml"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, says }
    }

    /// The rest of its next line on standard output, which begins so.
    pub(crate) fn says(&mut self, start: &str) -> String {
        let line = self.says.next().expect("it says more").unwrap();
        line.strip_prefix(start).unwrap_or_else(|| panic!("{line}")).to_owned()
    }

    /// Sends it a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        signal(&self.process, name);
    }
}

impl Drop for AssistService {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! What the tests of the command share.

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

/// `cellcc assist serve`; killed where the test ends.
pub(crate) struct AssistService {
    pub(crate) process: Child,
    says: Lines<BufReader<ChildStdout>>,
}

impl AssistService {
    /// In a folder with certificates, with this configuration.
    pub(crate) fn start(folder: &Path, config: &str) -> Self {
        fs::write(folder.join("netassist.toml"), config).unwrap();
        // A test run in the background of a script has SIGINT ignored, and so would have the service.
        let mut process = std::process::Command::new("env")
            .arg("--default-signal=INT")
            .arg(assert_cmd::cargo::cargo_bin!("cellcc"))
            .args(["assist", "serve", "netassist.toml"])
            .current_dir(folder)
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

    /// Sends it a signal, such as `-TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}

impl Drop for AssistService {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

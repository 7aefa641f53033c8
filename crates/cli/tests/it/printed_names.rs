//! Untrusted names, as a terminal gets them.

use crate::common::cellcc;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// Sets a terminal's title where it is printed raw.
const HOSTILE: &str = "\u{1b}]0;pwn\u{7}\u{9b}2J\n.mbps";

/// Standard output and standard error.
fn says(folder: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    let output = cellcc(folder).args(args).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// `trace info` of a foreign folder set the window's title.
#[cfg(unix)]
#[test]
fn no_name_reaches_the_terminal_as_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (good, bad) = (format!("in/{HOSTILE}"), format!("bad/{HOSTILE}"));
    for (path, text) in [(&good, "0 10\n1 5\n"), (&bad, "0 -1\n")] {
        fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
        fs::write(folder.join(path), text).unwrap();
    }
    let plan =
        ["compare", "--schemes", "cubic,vegas", "--duration", "1s", "--out", "out", "--title", "\u{1b}[8m"];
    let compare = [&plan[..], &["--traces", "in", "3g"]].concat();
    let commands: [&[&str]; 13] = [
        &compare,
        &["report", "out"],
        &["report", "out", "--format", "markdown"],
        &["runs", "out"],
        &["runs", "out", "--format", "csv"],
        &["runs", "out", "--format", "json"],
        &["explain", "in"],
        &["trace", "info", "in"],
        &["trace", "info", "in", "--format", "csv"],
        &["trace", "info", "bad"],
        &["report", &good],
        &["replay", &good],
        // Errors of the flag parser itself.
        &["report", "out", &good],
    ];
    for command in commands {
        let said = says(folder, command);
        let obeyed = said.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(obeyed, None, "{command:?}: {said}");
        assert!(said.contains("\\u009b2J"), "{command:?}: {said}");
    }
}

/// The line break ended a comment of the script, and the shell ran the rest.
#[test]
fn a_path_with_a_line_break_is_no_part_of_a_job_script() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), "schemes = [\"cubic\"]\ntraces = [\"3g\"]\n").unwrap();
    let refused =
        cellcc(folder.path()).args(["slurm", "plan.toml", "--out", "sh\ntouch PWN\n#"]).assert().code(2);
    let output = refused.get_output();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.stdout.is_empty() && message.contains("--out: sh\\u000atouch PWN"), "{message}");
}

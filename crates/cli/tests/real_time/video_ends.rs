//! `cellcc video` and `cellcc assist demo` leave nothing behind, whatever ends them. A script stands in for the browser.

use crate::can_emulate;
use crate::common::{interruptible, signal};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// It writes into its profile for as long as it lives, and ends with nothing but SIGKILL.
const HANGS: &str = "trap '' INT TERM HUP; echo $$ > \"$TMPDIR/begun\"; while :; do mkdir -p \"$TMPDIR/cache\"; echo >> \"$TMPDIR/cache/file\"; sleep 0.01; done";

/// A page that cannot be measured.
const FAILS: &str = r#"echo '[1:1] "cellcc {"failed":"there is no clock"}", source: page (1)' >&2"#;

/// A folder with a browser, a folder for temporary files, and the command in it.
fn video(browser: &str) -> (TempDir, Command) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chromium");
    fs::write(&path, format!("#!/bin/sh\n[ \"$1\" = --version ] && exit\n{browser}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(folder.path().join("tmp")).unwrap();
    let mut command = interruptible(folder.path());
    let paths = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    command.env("PATH", paths).env("TMPDIR", folder.path().join("tmp")).env("XDG_STATE_HOME", folder.path());
    command.args(["video", "--down", "10Mbit/s", "--schemes", "cubic", "--page", "--runs", "1"]);
    command.args(["--duration", "1s", "--out", "out"]).stdout(Stdio::null()).stderr(Stdio::piped());
    (folder, command)
}

/// The processes whose command line names this folder.
fn processes(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap().to_owned();
    let entries = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path().join("cmdline"));
    let lines = entries.filter_map(|path| fs::read(path).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&folder))
        .collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.into_string().unwrap()).collect()
}

fn within_seconds(seconds: u64, condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !condition() && Instant::now() < deadline {
        sleep(Duration::from_millis(20));
    }
    condition()
}

fn ended_by(name: &str, process: &mut Child) {
    signal(process, name);
    process.wait().unwrap();
}

/// Where `video` was killed, the shell, its server and a browser that hangs went on for ever; the browser's folder stayed in all cases.
#[test]
fn a_video_whose_browser_hangs_leaves_no_process_and_no_folder_whatever_ends_it() {
    if !can_emulate() {
        return;
    }
    for name in ["INT", "TERM", "HUP", "QUIT", "KILL"] {
        let (folder, mut command) = video(HANGS);
        let mut process = command.stderr(Stdio::null()).spawn().unwrap();
        let temporary = folder.path().join("tmp");
        let has_begun = || {
            let profiles = names(&temporary).into_iter().flat_map(|scratch| {
                let scratch = temporary.join(scratch);
                names(&scratch).into_iter().map(move |profile| scratch.join(profile))
            });
            profiles.into_iter().any(|profile| profile.join("begun").exists())
        };
        assert!(within_seconds(30, has_begun), "{name}: the browser begins");
        ended_by(name, &mut process);
        let is_clean = || processes(folder.path()).is_empty() && names(&temporary).is_empty();
        assert!(
            within_seconds(20, is_clean),
            "{name}: {:?} {:?}",
            processes(folder.path()),
            names(&temporary)
        );
    }
}

/// It had exit status 0.
#[test]
fn a_video_whose_only_run_is_spoilt_fails_and_says_how_many_were_judged() {
    if !can_emulate() {
        return;
    }
    let (folder, mut command) = video(FAILS);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.lines().next_back().unwrap().starts_with("runs: 0 judged, 1 spoilt"), "{text}");
    assert!(names(&folder.path().join("tmp")).is_empty());
}

/// The authority's key stayed in the folder for temporary files after HUP, QUIT and KILL.
#[test]
fn a_demonstration_keeps_its_keys_to_itself() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut process = interruptible(folder.path())
        .args(["assist", "demo", "--schemes", "cubic,bbr", "--time", "1s", "--out", "demo"])
        .env("TMPDIR", &temporary)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut says = BufReader::new(process.stderr.take().unwrap());
    // At the begin of the second round the service of the first has been running for long.
    let mut line = String::new();
    while !line.starts_with("bbr in QUIC") {
        line.clear();
        assert!(says.read_line(&mut line).unwrap() > 0);
    }
    sleep(Duration::from_millis(300));
    let while_it_runs = names(&temporary);
    ended_by("KILL", &mut process);
    let mut rest = String::new();
    says.read_to_string(&mut rest).unwrap();
    assert_eq!((while_it_runs, names(&temporary)), (Vec::new(), Vec::new()), "{rest}");
}

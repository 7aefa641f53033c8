//! The end of a shell, and its leftovers.

use super::{run, stderr, stdout};
use crate::common::{interruptible, signal};
use crate::{HANG_TIMEOUT, can_emulate};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Devices of emulators in the present namespace.
fn devices() -> Vec<String> {
    let entries = fs::read_dir("/sys/class/net").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("cellcc-")).collect()
}

/// A shell whose command sleeps for longer than [`HANG_TIMEOUT`], and the command's process.
fn sleeping(arguments: &[&str]) -> (Child, String) {
    started(arguments, "echo $$ > PID_FILE; exec sleep 300")
}

/// A shell that runs these lines of `sh`, and the number that they wrote to PID_FILE.
fn started(arguments: &[&str], lines: &str) -> (Child, String) {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let command = lines.replace("PID_FILE", pid_file.to_str().unwrap());
    let mut line = interruptible(folder.path());
    line.arg("shell").args(arguments).args(["--", "sh", "-c", &command]).stderr(Stdio::piped());
    let child = line.spawn().unwrap();
    let is_there = || fs::read_to_string(&pid_file).is_ok_and(|pid| pid.ends_with('\n'));
    assert!(within(HANG_TIMEOUT, is_there), "the command starts");
    let pid = fs::read_to_string(&pid_file).unwrap().trim().to_owned();
    (child, pid)
}

fn is_running(pid: &str) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn within(most: Duration, condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + most;
    while !condition() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    condition()
}

#[test]
fn the_commands_exit_status_is_passed_on_and_nothing_is_left_behind() {
    if !can_emulate() {
        return;
    }
    assert_eq!(run(&["shell", "--", "sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(run(&["mm-delay", "1", "sh", "-c", "kill -TERM $$"]).status.code(), Some(128 + 15));
    let missing = run(&["shell", "--", "no-such-program"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(stderr(&missing).contains("no-such-program: command not found"), "{}", stderr(&missing));
}

#[test]
fn an_interrupt_ends_the_command_and_then_the_emulator() {
    if !can_emulate() {
        return;
    }
    let (mut child, _) = sleeping(&[]);
    signal(&child, "INT");
    let started = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 2));
    assert!(started.elapsed() < HANG_TIMEOUT, "it does not wait for the sleep's end");
}

/// It used to go on until the emulator was killed.
#[test]
fn a_second_request_to_end_kills_a_command_that_ignores_the_first() {
    if !can_emulate() {
        return;
    }
    for name in ["TERM", "INT"] {
        let lines = "trap '' TERM INT; echo $$ > PID_FILE; while sleep 0.1; do :; done";
        let (child, command) = started(&[], lines);
        signal(&child, name);
        assert!(
            !within(Duration::from_secs(1), || !is_running(&command)),
            "{name}: the command decides about the first"
        );
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(128 + 9), "{name}");
        assert!(stderr(&output).contains("for the second time"), "{name}: {}", stderr(&output));
        assert!(!is_running(&command), "{name}");
    }
}

/// It used to live on in a network that was no longer there.
#[test]
fn what_puts_itself_into_the_background_ends_with_the_shell_that_names_it_nested_and_for_an_ordinary_user_too()
 {
    if !can_emulate() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Where an ordinary user can read and write.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("cellcc");
    fs::copy(assert_cmd::cargo::cargo_bin("cellcc"), &program).unwrap();
    let program = program.display();
    let pid_file = folder.path().join("pid");
    let daemon = format!("setsid sleep 300 & echo $! > {}", pid_file.display());
    let plain = format!("{program} shell -- sh -c \"$DAEMON\"");
    let nested = format!("{program} shell -- {plain}");
    let user = format!("setpriv --reuid 65534 --regid 65534 --clear-groups {plain}");
    for line in [plain, nested, user] {
        let output = Command::new("sh").args(["-c", &line]).env("DAEMON", &daemon).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        let pid = fs::read_to_string(&pid_file).unwrap().trim().to_owned();
        fs::remove_file(&pid_file).unwrap();
        assert!(!is_running(&pid), "{line}: {}", stderr(&output));
        // Also by its name, which may still be that of its parent.
        let named = format!("(process {pid})");
        assert!(stderr(&output).contains(&named), "{line}: {named}: {}", stderr(&output));
    }
}

/// They used to live on, with their namespaces.
#[test]
fn a_killed_emulator_takes_its_server_and_what_runs_in_the_background_with_it_nested_too() {
    if !can_emulate() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pid_of =
        |what: &str| fs::read_to_string(folder.path().join(what)).unwrap_or_default().trim().to_owned();
    let path = folder.path().display();
    let server = format!("python3 -m http.server 8000 2>{path}/log & echo $! >{path}/server; wait");
    let program = assert_cmd::cargo::cargo_bin("cellcc");
    let inner = format!("setsid sleep 301 & echo $! >{path}/inner; sleep 302");
    let lines = format!(
        "setsid sleep 300 & echo $! >{path}/daemon
         {} shell -- sh -c '{inner}' & while [ ! -s {path}/inner ]; do sleep 0.1; done
         echo $$ > PID_FILE; exec sleep 300",
        program.display()
    );
    let (mut child, command) = started(&["--server", &server, "--server-log", "off"], &lines);
    let all = [command, pid_of("server"), pid_of("daemon"), pid_of("inner")];
    assert!(all.iter().all(|pid| is_running(pid)), "{all:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(within(HANG_TIMEOUT, || !all.iter().any(|pid| is_running(pid))), "these live on of {all:?}");
}

/// It used to say: nothing.
#[test]
fn the_doctor_names_what_is_left_where_all_that_could_end_it_was_killed() {
    if !can_emulate() {
        return;
    }
    let (mut child, daemon) = started(&[], "setsid sleep 300 & echo $! > PID_FILE; exec sleep 300");
    let emulator = child.id().to_string();
    let killed = Command::new("pkill").args(["-KILL", "-x", "-P", &emulator, "cellcc-guard"]).status();
    assert!(killed.unwrap().success());
    child.kill().unwrap();
    child.wait().unwrap();
    let doctor = run(&["doctor", "--format", "csv"]);
    let killed = Command::new("kill").args(["-KILL", &daemon]).status().unwrap();
    assert!(killed.success(), "it was left");
    let named = format!("(process {daemon})");
    assert!(stdout(&doctor).contains(&named), "{named}: {}", stdout(&doctor));
}

#[test]
fn a_killed_emulator_takes_its_command_and_its_devices_with_it() {
    if !can_emulate() {
        return;
    }
    for backend in ["tun", "veth"] {
        let (mut child, sleeper) = sleeping(&["--backend", backend]);
        assert!(!devices().is_empty(), "{backend}: the emulator has a device");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(within(HANG_TIMEOUT, || !is_running(&sleeper)), "{backend}: the command lives on");
        // Whatever the kernel has not taken away, the next start removes.
        assert!(run(&["shell", "--", "true"]).status.success());
    }
}

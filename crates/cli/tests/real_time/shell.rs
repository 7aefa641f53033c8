//! `cellcc shell` and Mahimahi's shells with real programs. Needs namespaces, iperf3, ping, curl and python3.

use crate::can_emulate;
use crate::common::cellcc;
use cellcc_test_support::retry_on_stall;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn run(arguments: &[&str]) -> Output {
    cellcc(&std::env::temp_dir()).args(arguments).timeout(Duration::from_secs(60)).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The round trips that ping saw, in milliseconds.
fn round_trips(output: &Output) -> Vec<f64> {
    let text = stdout(output);
    let times = text.lines().filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse().ok());
    times.collect()
}

/// Devices of emulators in the present namespace.
fn devices() -> Vec<String> {
    let entries = fs::read_dir("/sys/class/net").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("cellcc-")).collect()
}

#[test]
fn a_round_trip_is_never_shorter_than_asked_over_either_back_end_and_either_protocol() {
    if !can_emulate() {
        return;
    }
    for (backend, base) in [
        ("tun", "$MAHIMAHI_BASE"),
        ("veth", "$MAHIMAHI_BASE"),
        ("tun", "$CELLCC_BASE6"),
        ("veth", "$CELLCC_BASE6"),
    ] {
        let ping = format!("ping -i 0.05 -c 10 {base}");
        let output = run(&["shell", "--backend", backend, "--rtt", "40ms", "--", "sh", "-c", &ping]);
        let times = round_trips(&output);
        assert_eq!(times.len(), 10, "{backend} {base}: {}{}", stdout(&output), stderr(&output));
        let shortest = times.iter().copied().fold(f64::MAX, f64::min);
        assert!((40.0..45.0).contains(&shortest), "{backend} {base}: {times:?}");
    }
}

#[test]
fn iperf3_gets_what_the_link_carries_up_down_and_as_datagrams() {
    retry_on_stall(|| {
        if !can_emulate() {
            return;
        }
        for (direction, flags) in
            [("up", ""), ("down", "-R"), ("datagrams up", "-u -b 30M"), ("datagrams down", "-u -b 30M -R")]
        {
            let client = format!("iperf3 -c $MAHIMAHI_BASE -t 2 -J {flags}");
            let output = run(&[
                "shell",
                "--up",
                "20Mbit/s",
                "--down",
                "20Mbit/s",
                "--rtt",
                "10ms",
                "--queue",
                "100pkt",
                "--server",
                "iperf3 -s -1",
                "--",
                "sh",
                "-c",
                &client,
            ]);
            let result: serde_json::Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|_| panic!("{direction}: {}{}", stdout(&output), stderr(&output)));
            let end = &result["end"];
            let received = if end["sum_received"].is_null() { &end["sum"] } else { &end["sum_received"] };
            let mbit = received["bits_per_second"].as_f64().unwrap() / 1e6;
            assert!((15.0..20.5).contains(&mbit), "{direction}: {mbit} Mbit/s");
        }
    });
}

#[test]
fn a_web_server_inside_is_reached_through_the_link_and_one_outside_too() {
    if !can_emulate() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), vec![b'x'; 1_000_000]).unwrap();
    let server = format!("exec python3 -m http.server 8000 --directory {}", folder.path().display());
    let fetch = "curl -s -o /dev/null -w '%{http_code} %{size_download} %{time_total}' http://$MAHIMAHI_BASE:8000/file";
    let output =
        run(&["shell", "--down", "20Mbit/s", "--rtt", "20ms", "--server", &server, "--", "sh", "-c", fetch]);
    let text = stdout(&output);
    let words: Vec<_> = text.split(' ').collect();
    assert_eq!(words[..2], ["200", "1000000"], "{text}{}", stderr(&output));
    let seconds: f64 = words[2].parse().unwrap();
    assert!((0.4..1.5).contains(&seconds), "1 MB at 20 Mbit/s took {seconds} s");
}

#[test]
fn shells_within_shells_add_their_delays_in_one_line_and_nested() {
    if !can_emulate() {
        return;
    }
    let ping = "ping -i 0.05 -c 5 $MAHIMAHI_BASE";
    let chain =
        run(&["mm-delay", "10", "mm-delay", "15", "mm-link", "12Mbit/s", "12Mbit/s", "--", "sh", "-c", ping]);
    let program = assert_cmd::cargo::cargo_bin("cellcc");
    // The inner shell's base is the outer's inside: ping the outermost, which the enclosing shell knows.
    let nested =
        format!("B=$MAHIMAHI_BASE; export B; {} mm-delay 15 sh -c 'ping -i 0.05 -c 5 $B'", program.display());
    let nested = run(&["mm-delay", "10", "sh", "-c", &nested]);
    for (name, output) in [("one line", &chain), ("nested", &nested)] {
        let times = round_trips(output);
        assert_eq!(times.len(), 5, "{name}: {}{}", stdout(output), stderr(output));
        let shortest = times.iter().copied().fold(f64::MAX, f64::min);
        assert!((50.0..58.0).contains(&shortest), "{name}: {times:?}");
    }
}

#[test]
fn each_user_of_a_cell_has_a_path_of_its_own_and_they_share_the_base_station() {
    retry_on_stall(|| {
        if !can_emulate() {
            return;
        }
        let client = "iperf3 -R -c $MAHIMAHI_BASE -p 520$CELLCC_USER -t 2 -J > $OUT/$CELLCC_USER";
        let folder = tempfile::tempdir().unwrap();
        let client = client.replace("$OUT", folder.path().to_str().unwrap());
        let server = "for port in 5200 5201 5202; do iperf3 -s -1 -p $port & done; wait";
        let output = run(&[
            "shell", "--users", "3", "--down", "30Mbit/s", "--rtt", "10ms", "--server", server, "--", "sh",
            "-c", &client,
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        let rates: Vec<f64> = (0..3)
            .map(|user| {
                let result: serde_json::Value =
                    serde_json::from_slice(&fs::read(folder.path().join(user.to_string())).unwrap()).unwrap();
                result["end"]["sum_received"]["bits_per_second"].as_f64().unwrap() / 1e6
            })
            .collect();
        assert!(rates.iter().all(|rate| (7.0..12.0).contains(rate)), "{rates:?}");
    });
}

#[test]
fn a_queue_with_ecn_marks_real_tcp_instead_of_dropping() {
    retry_on_stall(|| {
        if !can_emulate() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (counts, report) = (folder.path().join("counts"), folder.path().join("report"));
        let ecn = "echo 1 > /proc/sys/net/ipv4/tcp_ecn";
        let server =
            format!("{ecn}; iperf3 -s -1; grep IpExt /proc/thread-self/net/netstat > {}", counts.display());
        let client = format!(
            "{ecn}; iperf3 -c $MAHIMAHI_BASE -t 2; while ! [ -s {} ]; do sleep 0.1; done",
            counts.display()
        );
        let mut shell = cellcc(folder.path());
        shell.args(["shell", "--up", "10Mbit/s", "--rtt", "20ms", "--queue", "codel(limit=1000pkt, ecn)"]);
        shell.args(["--self-report", "report", "--server", &server, "--", "sh", "-c", &client]);
        let output = shell.timeout(Duration::from_secs(60)).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
        assert_eq!(report["up"]["dropped"], 0, "{}{}", stdout(&output), stderr(&output));
        // Two lines: names, then values.
        let counts = fs::read_to_string(counts).unwrap();
        let lines: Vec<Vec<&str>> = counts.lines().map(|line| line.split(' ').collect()).collect();
        let column = lines[0].iter().position(|name| *name == "InCEPkts").unwrap();
        let marked: u64 = lines[1][column].parse().unwrap();
        assert!(marked > 10, "{marked} packets came with a mark");
    });
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

/// A shell whose command sleeps for half a minute, and the command's process.
fn sleeping(arguments: &[&str]) -> (Child, String) {
    started(arguments, "echo $$ > PID_FILE; exec sleep 30")
}

/// A shell that runs these lines of `sh`, and the number that they wrote to PID_FILE.
fn started(arguments: &[&str], lines: &str) -> (Child, String) {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let command = lines.replace("PID_FILE", pid_file.to_str().unwrap());
    let program = assert_cmd::cargo::cargo_bin("cellcc");
    // A test run in the background of a script has SIGINT ignored, and so would have the emulator.
    let mut line = Command::new("env");
    line.arg("--default-signal=INT")
        .arg(program)
        .arg("shell")
        .args(arguments)
        .args(["--", "sh", "-c", &command])
        .stderr(Stdio::piped());
    let child = line.spawn().unwrap();
    let is_there = || fs::read_to_string(&pid_file).is_ok_and(|pid| pid.ends_with('\n'));
    assert!(within_seconds(20, is_there), "the command starts");
    let pid = fs::read_to_string(&pid_file).unwrap().trim().to_owned();
    (child, pid)
}

fn signal(name: &str, child: &Child) {
    let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn is_running(pid: &str) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn within_seconds(seconds: u64, condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !condition() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    condition()
}

#[test]
fn an_interrupt_ends_the_command_and_then_the_emulator() {
    if !can_emulate() {
        return;
    }
    let (mut child, _) = sleeping(&[]);
    signal("INT", &child);
    let started = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 2));
    assert!(started.elapsed() < Duration::from_secs(20), "it does not wait for the sleep's end");
}

/// It used to go on until somebody killed the emulator.
#[test]
fn a_second_request_to_end_kills_a_command_that_ignores_the_first() {
    if !can_emulate() {
        return;
    }
    for name in ["TERM", "INT"] {
        let lines = "trap '' TERM INT; echo $$ > PID_FILE; while sleep 0.1; do :; done";
        let (child, command) = started(&[], lines);
        signal(name, &child);
        assert!(!within_seconds(1, || !is_running(&command)), "{name}: the command decides about the first");
        signal(name, &child);
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
    let daemon = format!("setsid sleep 60 & echo $! > {}", pid_file.display());
    let plain = format!("{program} shell -- sh -c \"$DAEMON\"");
    let nested = format!("{program} shell -- {plain}");
    let user = format!("setpriv --reuid 65534 --regid 65534 --clear-groups {plain}");
    for line in [plain, nested, user] {
        let output = Command::new("sh").args(["-c", &line]).env("DAEMON", &daemon).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        let pid = fs::read_to_string(&pid_file).unwrap().trim().to_owned();
        fs::remove_file(&pid_file).unwrap();
        assert!(!is_running(&pid), "{line}: {}", stderr(&output));
        // By its name too, which may still be that of what started it.
        let named = format!("(process {pid})");
        assert!(stderr(&output).contains(&named), "{line}: {named}: {}", stderr(&output));
    }
}

#[test]
fn a_server_that_fails_is_reported() {
    if !can_emulate() {
        return;
    }
    // Before anything listens, after 5 s of waiting for it, the command used to run and its status to be all.
    let output = run(&["shell", "--server", "exit 7", "--", "echo", "ran"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the server ended with status 7 before the command"),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output), "", "the command is not started");

    // While the command runs: the server ends with its one connection.
    let server = "python3 -c 'import socket; socket.create_server((\"\", 8000)).accept(); exit(9)'";
    let client = "python3 -c 'import os, socket; socket.create_connection((os.environ[\"MAHIMAHI_BASE\"], 8000)).recv(1)'";
    for (more, expected) in [("", 1), ("; exit 4", 4)] {
        let output =
            run(&["shell", "--server", server, "--", "sh", "-c", &format!("{client}; sleep 0.5{more}")]);
        assert_eq!(output.status.code(), Some(expected), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("the server ended before the command, with status 9"),
            "{}",
            stderr(&output)
        );
    }
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
        assert!(within_seconds(10, || !is_running(&sleeper)), "{backend}: the command lives on");
        // Whatever the kernel has not taken away, the next start removes.
        assert!(run(&["shell", "--", "true"]).status.success());
    }
}

#[test]
fn a_full_disk_ends_the_log_with_an_error_that_names_it_and_the_command_goes_on() {
    if !can_emulate() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (disk, program) = (folder.path().display(), assert_cmd::cargo::cargo_bin("cellcc"));
    let line = format!(
        "mount -t tmpfs -o size=8k none {disk} && {} shell --up 12Mbit/s --up-log {disk}/up.log -- \
         sh -c 'ping -c 20 -i 0.1 $MAHIMAHI_BASE >&2; echo through'",
        program.display()
    );
    // The small disk is mounted for this one program only.
    let output = Command::new("unshare").args(["-m", "sh", "-c", &line]).output().unwrap();
    assert_eq!(stdout(&output), "through\n", "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("up.log") && stderr(&output).contains("No space left"),
        "{}",
        stderr(&output)
    );
    let at_once = run(&["shell", "--up", "12Mbit/s", "--up-log", "/dev/full", "--", "true"]);
    assert_eq!(at_once.status.code(), Some(1), "{}", stderr(&at_once));
}

#[test]
fn bad_input_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.up");
    fs::write(&empty, "").unwrap();
    let empty = empty.to_str().unwrap();
    let crowd = format!("round-robin:{}", vec!["lte-drive"; 64].join(","));
    for (arguments, expected) in [
        (vec!["mm-link", empty, empty], "empty.up"),
        (vec!["mm-link", "12Mbit/s", "12Mbit/s", "--uplink-que=infinite"], "--uplink-que"),
        (vec!["mm-delay", "-3", "true"], "-3"),
        (vec!["shell", "--down", "no-such-link", "--", "true"], "no-such-link"),
        (vec!["shell", "--users", "2"], "several users need a command"),
        (vec!["shell", "--rtt", "40", "--", "true"], "40"),
        (vec!["shell", "--users", "3", "--cell", "round-robin:lte-drive", "--", "true"], "--users 3"),
        (vec!["shell", "--users", "2", "--down-log", "/tmp/x", "--", "true"], "--down-log"),
        // 64 commands used to run before the 65th was refused.
        (vec!["shell", "--users", "65", "--", "true"], "64"),
        (vec!["shell", "--cell", &crowd, "--", "true"], "65 users: at most 64"),
        // A packet of these used to arrive after weeks, or never.
        (vec!["shell", "--rtt", "1000h", "--", "true"], "0s to 60s"),
        (vec!["shell", "--jitter", "1000h", "--", "true"], "0s to 60s"),
        (vec!["shell", "--reordered", "1%", "--reordered-by", "1000h", "--", "true"], "0s to 60s"),
        (vec!["shell", "--up-queue", "1000h", "--", "true"], "at most"),
        (vec!["shell", "--granularity", "1000h", "--", "true"], "100ms or less"),
        (vec!["mm-delay", "4000000000", "true"], "60000 ms"),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn the_emulator_reports_what_it_measured_of_itself() {
    retry_on_stall(|| {
        if !can_emulate() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("report.json");
        let output = run(&[
            "shell",
            "--rtt",
            "4ms",
            "--self-report",
            report.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            "ping -c 5 -i 0.05 $MAHIMAHI_BASE",
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
        for direction in ["up", "down"] {
            assert!(report[direction]["packets"].as_u64().unwrap() >= 5, "{report}");
            assert_eq!(report[direction]["device_drops"], 0, "{report}");
            assert!(report[direction]["late_max_us"].as_f64().unwrap() > 0.0, "{report}");
        }
    });
}

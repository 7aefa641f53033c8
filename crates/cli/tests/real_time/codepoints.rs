//! The fate of ECT(1) between the ends of `--driver quic`, by the counters of nftables and by the result. Needs root and nftables;
//! elsewhere the test says so and passes.

use crate::common::interruptible;
use crate::{HANG_TIMEOUT, can_emulate};
use cellcc_test_support::{needs_punctuality, skip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Rules of the downlink behind the queue: counters of ECT(1) and of marks, and then the path's change of codepoints.
fn rules(path: &str) -> String {
    format!(
        "table ip codepoints {{ chain arriving {{ type filter hook prerouting priority -300; \
         ip ecn ect1 counter; ip ecn ce counter; {path} ; }} ; }}"
    )
}

/// The namespaces that a running emulator holds, as files.
fn namespaces(emulator: &Child) -> Vec<PathBuf> {
    let files = fs::read_dir(format!("/proc/{}/fd", emulator.id())).into_iter().flatten().flatten();
    let files = files.map(|file| file.path());
    let is_namespace =
        |file: &PathBuf| fs::read_link(file).is_ok_and(|to| to.to_string_lossy().starts_with("net:"));
    files.filter(is_namespace).collect()
}

fn within(namespace: &Path) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", namespace.display())).stderr(Stdio::null());
    command
}

fn output(command: &mut Command) -> String {
    command.output().map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into())
}

/// The namespace of the user of 100.64.0.2, once the run has begun: those before it only show that there can be one.
fn user(emulator: &Child) -> PathBuf {
    let begun = Instant::now();
    let threads = || fs::read_dir(format!("/proc/{}/task", emulator.id())).into_iter().flatten().flatten();
    let sends = |thread: fs::DirEntry| {
        fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name.starts_with("cellcc-senders"))
    };
    while !threads().any(sends) {
        assert!(begun.elapsed() < HANG_TIMEOUT, "there is no emulation");
        std::thread::sleep(Duration::from_millis(10));
    }
    let has_user =
        |namespace: &PathBuf| output(within(namespace).args(["ip", "addr"])).contains("100.64.0.2/");
    namespaces(emulator).into_iter().find(has_user).expect("the run has begun")
}

/// Packets with ECT(1) and with CE that arrived at the user, the result's verdict on the path, and its notes. The path does
/// `path` from the beginning and also `later` once the flow has run for a second and a half, as after a handover.
fn prague_over(path: &str, later: &str) -> ([u64; 2], String, String) {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "compare --driver quic --schemes prague@2s --traces 10Mbit/s --rtt 20ms --queue dualpi2(radio) --duration 6s --out out -q";
    let mut run =
        interruptible(folder.path()).args(arguments.split(' ')).stdout(Stdio::null()).spawn().unwrap();
    let user = user(&run);
    // The flow begins later than that.
    assert!(within(&user).args(["nft", &rules(path)]).status().unwrap().success());
    std::thread::sleep(Duration::from_millis(3500));
    if !later.is_empty() {
        let rule = format!("add rule ip codepoints arriving {later}");
        assert!(within(&user).args(["nft", &rule]).status().unwrap().success());
    }
    std::thread::sleep(Duration::from_millis(1700));
    let listed = output(within(&user).args(["nft", "list", "table", "ip", "codepoints"]));
    assert!(run.wait().unwrap().success());
    let counted =
        listed.split("counter packets ").skip(1).map(|rest| rest.split(' ').next().unwrap().parse());
    let counted: Vec<u64> = counted.map(|count| count.unwrap()).collect();
    let records = fs::read_to_string(folder.path().join("out/runs.jsonl")).unwrap();
    let record: Value = serde_json::from_str(records.lines().last().unwrap()).unwrap();
    let validation = record["flows"][0]["ecn_validation"].as_str().unwrap().to_owned();
    (counted.try_into().expect("two counters"), validation, record["notes"].to_string())
}

mod punctual {
    use super::*;

    #[test]
    fn the_result_says_what_the_path_does_to_ect1() {
        if !can_emulate() {
            return;
        }
        if ["ip", "nft", "nsenter"].iter().any(|name| Command::new(name).arg("--version").output().is_err()) {
            return skip("ip, nft or nsenter is missing: apt-get install iproute2 nftables util-linux");
        }
        needs_punctuality(|| {
            let ([ect1, ce], validation, notes) = prague_over("", "");
            assert_eq!(validation, "ok", "{notes}");
            assert!(ect1 > 1000 && (1..ect1).contains(&ce), "{ect1} packets with ECT(1), {ce} with CE");
            assert!(!notes.contains("no ECT(1)"), "{notes}");
        });
        // Ten megabits take 830 packets a second; the flow runs for four seconds.
        let unfit = [
            ("ip ecn set not-ect", "", "bleached", "erases", 1000),
            ("ip ecn ect1 ip ecn set not-ect", "", "bleached", "erases", 1000),
            ("ip ecn ect1 ip ecn set ect0", "", "re-marked", "rewrites", 1000),
            ("ip ecn ect1 drop", "", "dropped", "drops", 1000),
            ("", "ip ecn set not-ect", "bleached", "erases", 2000),
        ];
        for (path, later, expected, note, most) in unfit {
            needs_punctuality(|| {
                let ([ect1, _], validation, notes) = prague_over(path, later);
                assert_eq!(validation, expected, "{path}, then {later}: {notes}");
                assert!(notes.contains(note), "{notes}");
                assert!(ect1 < most, "the scheme falls back: {ect1} packets with ECT(1)");
            });
        }
    }
}

//! Packets over the link: delays, rates, marks, several users.

use super::{run, stderr, stdout};
use crate::common::cellcc;
use crate::{HANG_TIMEOUT, can_emulate};
use cellcc_test_support::needs_punctuality;
use std::fs;
use std::process::Output;

/// The round trips that ping saw, in milliseconds.
fn round_trips(output: &Output) -> Vec<f64> {
    let text = stdout(output);
    let times = text.lines().filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse().ok());
    times.collect()
}

mod punctual {
    use super::*;

    #[test]
    fn a_round_trip_is_never_shorter_than_asked_over_either_back_end_and_either_protocol() {
        needs_punctuality(|| {
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
        });
    }

    #[test]
    fn iperf3_gets_what_the_link_carries_up_down_and_as_datagrams() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            for (direction, flags) in [
                ("up", ""),
                ("down", "-R"),
                ("datagrams up", "-u -b 30M"),
                ("datagrams down", "-u -b 30M -R"),
            ] {
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
    fn shells_within_shells_add_their_delays_in_one_line_and_nested() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            let ping = "ping -i 0.05 -c 5 $MAHIMAHI_BASE";
            let chain = run(&[
                "mm-delay", "10", "mm-delay", "15", "mm-link", "12Mbit/s", "12Mbit/s", "--", "sh", "-c", ping,
            ]);
            let program = assert_cmd::cargo::cargo_bin("cellcc");
            // The inner shell's base is the outer's inside: ping the outermost, which the enclosing shell knows.
            let nested = format!(
                "B=$MAHIMAHI_BASE; export B; {} mm-delay 15 sh -c 'ping -i 0.05 -c 5 $B'",
                program.display()
            );
            let nested = run(&["mm-delay", "10", "sh", "-c", &nested]);
            for (name, output) in [("one line", &chain), ("nested", &nested)] {
                let times = round_trips(output);
                assert_eq!(times.len(), 5, "{name}: {}{}", stdout(output), stderr(output));
                let shortest = times.iter().copied().fold(f64::MAX, f64::min);
                assert!((50.0..58.0).contains(&shortest), "{name}: {times:?}");
            }
        });
    }

    #[test]
    fn each_user_of_a_cell_has_a_path_of_its_own_and_they_share_the_base_station() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            let client = "iperf3 -R -c $MAHIMAHI_BASE -t 2 -J > $OUT/$CELLCC_USER";
            let folder = tempfile::tempdir().unwrap();
            let client = client.replace("$OUT", folder.path().to_str().unwrap());
            let output = run(&[
                "shell",
                "--users",
                "3",
                "--down",
                "30Mbit/s",
                "--rtt",
                "10ms",
                "--server",
                "iperf3 -s -1",
                "--",
                "sh",
                "-c",
                &client,
            ]);
            assert!(output.status.success(), "{}", stderr(&output));
            let rates: Vec<f64> = (0..3)
                .map(|user| {
                    let result: serde_json::Value =
                        serde_json::from_slice(&fs::read(folder.path().join(user.to_string())).unwrap())
                            .unwrap();
                    result["end"]["sum_received"]["bits_per_second"].as_f64().unwrap() / 1e6
                })
                .collect();
            assert!(rates.iter().all(|rate| (7.0..12.0).contains(rate)), "{rates:?}");
        });
    }

    #[test]
    fn a_queue_with_ecn_marks_real_tcp_instead_of_dropping() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            let folder = tempfile::tempdir().unwrap();
            let (counts, report) = (folder.path().join("counts"), folder.path().join("report"));
            let ecn = "echo 1 > /proc/sys/net/ipv4/tcp_ecn";
            let server = format!(
                "{ecn}; iperf3 -s -1; grep IpExt /proc/thread-self/net/netstat > {}",
                counts.display()
            );
            let client = format!(
                "{ecn}; iperf3 -c $MAHIMAHI_BASE -t 2; while ! [ -s {} ]; do sleep 0.1; done",
                counts.display()
            );
            let mut shell = cellcc(folder.path());
            shell.args([
                "shell",
                "--up",
                "10Mbit/s",
                "--rtt",
                "20ms",
                "--queue",
                "codel(limit=1000pkt, ecn)",
            ]);
            shell.args(["--self-report", "report", "--server", &server, "--", "sh", "-c", &client]);
            let output = shell.timeout(HANG_TIMEOUT).output().unwrap();
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
}

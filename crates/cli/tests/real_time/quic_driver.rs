//! The driver `quic`: schemes in QUIC over real sockets through the emulator. Needs network namespaces; where there are
//! none, the tests say so and pass.

use crate::can_emulate;
use crate::common::cellcc;
use cellcc_test_support::{alone, needs_punctuality};
use serde_json::Value;

/// The Records of `cellcc compare` with these arguments.
fn records(arguments: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    cellcc(folder.path()).args(["compare", "--out", "out", "-q"]).args(arguments).assert().success();
    let lines = std::fs::read_to_string(folder.path().join("out/runs.jsonl")).unwrap();
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    records.into_iter().filter(|record| record["scenario"]["scheme"] != "limit").collect()
}

fn metric(record: &Value, name: &str) -> f64 {
    record["total"][name].as_f64().unwrap_or_else(|| panic!("{name}: {:#}", record["total"]))
}

fn of_driver<'a>(records: &'a [Value], driver: &str) -> &'a Value {
    records.iter().find(|record| record["driver"] == driver).unwrap()
}

#[test]
fn what_quic_cannot_do_is_refused_by_name() {
    if !can_emulate() {
        return;
    }
    let _alone = alone();
    let refused = |arguments: &[&str], what: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = cellcc(folder.path());
        let arguments = [&["compare", "--driver", "quic", "--traces", "12Mbit/s"], arguments].concat();
        let output = command.args(arguments).assert().code(2).get_output().clone();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(what), "{said}");
    };
    refused(&["--schemes", "natcp(fairness=acks)"], "scheme `natcp");
    refused(&["--schemes", "cubic~30ms"], "the driver `quic` gives all flows the same path");
    refused(&["--schemes", "cubic", "--mss", "1000B"], "endpoint.mss = 1kB");
    refused(&["--schemes", "cubic#1"], "only users 0 to 0");
}

#[test]
fn what_a_scheme_heard_over_real_sockets_replays_exactly() {
    if !can_emulate() {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        "compare -q --schemes rbbr --driver quic --traces 12Mbit/s --duration 2s --events reported";
    cellcc(folder.path()).args(arguments.split(' ')).assert().success();
    let file = std::fs::read_dir(folder.path().join("reported")).unwrap().next().unwrap().unwrap().path();
    let replayed = cellcc(folder.path()).arg("replay").arg(file).assert().success();
    let text = String::from_utf8_lossy(&replayed.get_output().stdout).into_owned();
    assert!(text.contains("identical: "), "{text}");
}

mod punctual {
    use super::*;

    #[test]
    fn the_simulator_and_quic_agree_on_a_constant_link() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            // A window of one and a half times the path's bandwidth-delay product, and one that fills and overflows the queue.
            for scheme in ["fixed-window(window=45pkt)", "cubic"] {
                let both = records(&[
                    "--driver",
                    "sim,quic",
                    "--schemes",
                    scheme,
                    "--traces",
                    "12Mbit/s",
                    "--duration",
                    "5s",
                    "--rtt",
                    "30ms",
                    "--queue",
                    "100ms",
                ]);
                let (sim, quic) = (of_driver(&both, "sim"), of_driver(&both, "quic"));
                let ratio = |name| metric(quic, name) / metric(sim, name);
                assert!((0.95..1.05).contains(&ratio("throughput_mbit_s")), "{scheme}: {:#}", quic["total"]);
                assert!((0.85..1.15).contains(&ratio("rtt_mean_ms")), "{scheme}: {:#}", quic["total"]);
                assert!((0.85..1.15).contains(&ratio("rtt_p95_ms")), "{scheme}: {:#}", quic["total"]);
                assert!(quic["real_time"].is_object());
                assert!(quic["notes"][0].as_str().unwrap().contains("QUIC"));
            }
        });
    }

    /// With a tenth of the minimum RTT they got a fifth, with a thousandth of the bandwidth a hundredth.
    #[test]
    fn a_wrong_feed_leaves_seven_tenths_of_what_bbr_gets() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            let _alone = alone();
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("s.toml");
            for feed in ["rtt_scale = '0.1x'", "scale = '0.125x'", "scale = '0.001x'"] {
                std::fs::write(&file, format!("[netassist]\n{feed}\n")).unwrap();
                let both = records(&[
                    "--driver",
                    "quic",
                    "--schemes",
                    "bbr,natcp",
                    "--traces",
                    "12Mbit/s",
                    "--duration",
                    "10s",
                    "--rtt",
                    "20ms",
                    "--queue",
                    "100pkt",
                    "--scenario",
                    file.to_str().unwrap(),
                ]);
                let [bbr, natcp] = [0, 1].map(|run| metric(&both[run], "throughput_mbit_s"));
                assert!(natcp >= 0.7 * bbr, "{feed}: {natcp} of {bbr}");
            }
        });
    }

    #[test]
    fn a_sized_flow_starts_late_and_is_through() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            let flows = "cubic:sized(200kB)@1500ms";
            let records = records(&[
                "--driver",
                "quic",
                "--schemes",
                flows,
                "--traces",
                "20Mbit/s",
                "--rtt",
                "20ms",
                "--duration",
                "3s",
            ]);
            // 80 ms of transmission, two round-trip times at least; the connection was there before.
            let completion = records[0]["flows"][0]["metrics"]["completion_time_s"].as_f64().unwrap();
            assert!((0.1..0.4).contains(&completion), "{completion}");
            let sent = metric(&records[0], "sent_packets");
            assert!((138.0..160.0).contains(&sent), "{sent}");
        });
    }

    #[test]
    fn frames_arrive_in_time_where_the_link_has_room_and_late_where_it_has_not() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            let missed = |rate: &str| {
                let scheme = format!("cubic:frames({rate},100ms)");
                let records = records(&[
                    "--driver",
                    "quic",
                    "--schemes",
                    &scheme,
                    "--traces",
                    "12Mbit/s",
                    "--rtt",
                    "20ms",
                    "--duration",
                    "4s",
                ]);
                // 60 a second, less those whose deadline is beyond the end.
                let frames = metric(&records[0], "frames");
                assert!((230.0..=240.0).contains(&frames), "{frames}");
                metric(&records[0], "deadline_miss_ratio")
            };
            let (few, most) = (missed("4Mbit/s"), missed("20Mbit/s"));
            assert!(few < 0.15, "{few}");
            assert!(most > 0.7, "{most}");
        });
    }

    #[test]
    fn three_flows_of_a_mix_share_the_link() {
        needs_punctuality(|| {
            if !can_emulate() {
                return;
            }
            let records = records(&[
                "--driver",
                "quic",
                "--schemes",
                "2*cubic+newreno@1s..4s",
                "--traces",
                "12Mbit/s",
                "--rtt",
                "20ms",
                "--queue",
                "60pkt",
                "--duration",
                "5s",
            ]);
            let flows = records[0]["flows"].as_array().unwrap();
            assert_eq!(flows.len(), 3);
            let bytes: f64 = flows.iter().map(|flow| flow["metrics"]["utilisation"].as_f64().unwrap()).sum();
            assert!(bytes > 0.9, "{bytes}");
            let total = metric(&records[0], "utilisation");
            assert!((0.93..=1.0).contains(&total), "{total}");
        });
    }
}

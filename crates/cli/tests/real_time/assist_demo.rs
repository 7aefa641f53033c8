//! `cellcc assist demo`: in QUIC; and in the kernel's TCP, with base station, service and kernel in one process, which needs root;
//! elsewhere that test says so and passes.

use crate::can_emulate;
use crate::common::cellcc;
use cellcc_kernel::{Machine, Scheme};
use cellcc_test_support::{alone, alone_in_the_kernel, needs_punctuality, skip};
use serde_json::Value;
use std::fs;

const USERS: [&str; 3] = ["alice", "bob", "carol"];

/// The second run used to fail, the first figure of the report to be empty, and the gain to be missing.
#[test]
fn an_operator_reads_in_one_sentence_what_is_gained_also_from_the_second_run() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("cellcc-out/netassist-demo")).unwrap();
    let arguments = "assist demo --schemes cubic,nacubic,natcp --time 2s";
    let output = cellcc(folder.path()).args(arguments.split(' ')).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sentence = text.split("\n\n").next().unwrap().replace('\n', " ");
    assert!(sentence.starts_with("In QUIC, nacubic: ") && sentence.contains(" cubic at "), "{text}");
    assert!(sentence.contains(" In QUIC, natcp: "), "each that is assisted: {text}");
    assert!(text.contains("Each trace is a user of the cell: alice, bob, carol.\n"), "{text}");
    assert!(!text.contains("Utilisation") && !text.contains("[transfer]"), "{text}");
    assert_eq!(text.matches("throughput counts acknowledged packets").count(), 1, "{text}");
    assert!(text.contains("netassist-demo-2/report.html") && text.contains("cellcc assist page"), "{text}");
    let report = fs::read_to_string(folder.path().join("cellcc-out/netassist-demo-2/report.html")).unwrap();
    assert!(report.contains("base RTT 20ms · queue 1000pkt · 2s per run · 3 traces · transfer"));
}

mod punctual {
    use super::*;

    #[test]
    fn the_kernels_tcp_follows_what_the_service_hears_from_the_emulators_base_station() {
        needs_punctuality(|| {
            if let Err(refusal) =
                Machine::current().permits(Scheme::named("cellcc_natcp").expect("a scheme of ours"))
            {
                skip(refusal);
                return;
            }
            if !can_emulate() {
                return;
            }
            let _kernel = alone_in_the_kernel();
            let folder = tempfile::tempdir().unwrap();
            let arguments = "assist demo --transport tcp --schemes cubic,natcp --time 4s --out demo";
            cellcc(folder.path()).args(arguments.split(' ')).assert().success();
            let lines = fs::read_to_string(folder.path().join("demo/runs.jsonl")).unwrap();
            let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let metric = |user: &str, scheme: &str, name: &str| {
                let scenario = |record: &&Value| {
                    record["scenario"]["trace"] == user && record["scenario"]["scheme"] == scheme
                };
                let record = records.iter().find(scenario).unwrap_or_else(|| panic!("{user}, {scheme}"));
                record["total"][name].as_f64().unwrap_or_else(|| panic!("{name}: {record:#}"))
            };
            assert_eq!(records.len(), 6);
            for user in USERS {
                let queueing = |scheme| metric(user, scheme, "queueing_delay_p95_ms");
                // Without advice NATCP would be CUBIC.
                assert!(queueing("natcp") < queueing("cubic") / 2.0, "{user}: {}", queueing("natcp"));
                let throughput = |scheme| metric(user, scheme, "throughput_mbit_s");
                assert!(throughput("natcp") > throughput("cubic") / 2.0, "{user}: {}", throughput("natcp"));
            }
            let audit = fs::read_to_string(folder.path().join("demo/audit.jsonl")).unwrap();
            for user in USERS {
                assert!(audit.contains(&format!("\"{user}\"")), "{audit}");
            }
        });
    }
}

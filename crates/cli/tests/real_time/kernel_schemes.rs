//! The driver `kernel` with schemes of ours, which it adds to the kernel. Needs root; elsewhere the tests say so and pass.

use crate::can_emulate;
use crate::common::cellcc;
use cellcc_kernel::{Machine, Scheme};
use cellcc_test_support::{alone, alone_in_the_kernel, needs_punctuality, skip};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;

/// The kernel for this test alone; `None` where schemes cannot be loaded here, which is said.
fn kernel() -> Option<File> {
    let machine = Machine::current();
    if let Some(refusal) = Scheme::ALL.into_iter().find_map(|scheme| machine.permits(scheme).err()) {
        skip(refusal);
        return None;
    }
    can_emulate().then(alone_in_the_kernel)
}

fn available() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap()
}

fn arguments<'a>(schemes: &'a str, duration: &'a str) -> Vec<&'a str> {
    arguments_with_queue(schemes, duration, "1000pkt")
}

fn arguments_with_queue<'a>(schemes: &'a str, duration: &'a str, queue: &'a str) -> Vec<&'a str> {
    let path = "--driver kernel --traces 20Mbit/s --rtt 30ms --out out -q";
    let mut words = vec!["compare", "--schemes", schemes, "--duration", duration, "--queue", queue];
    words.extend(path.split(' '));
    words
}

/// A metric of the runs of each scheme.
fn metrics<'a>(records: &'a [Value], name: &'a str) -> impl Fn(&str) -> f64 + 'a {
    move |scheme| {
        let record = records.iter().find(|record| record["scenario"]["scheme"] == scheme).unwrap();
        record["total"][name].as_f64().unwrap_or_else(|| panic!("{name}: {record:#}"))
    }
}

fn records(folder: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(folder.join("out/runs.jsonl")).unwrap();
    let records = lines.lines().map(|line| serde_json::from_str(line).unwrap());
    records.filter(|record: &Value| record["scenario"]["scheme"] != "limit").collect()
}

/// A column of a run's series, a value each 100 ms; 0 where there was none.
fn series(folder: &Path, record: &Value, column: &str) -> Vec<f64> {
    let file = folder.join(format!("out/series/{}.csv", record["id"].as_str().unwrap()));
    let text = fs::read_to_string(file).unwrap();
    let mut lines = text.lines().map(|line| line.split(','));
    let column = lines.next().unwrap().position(|name| name == column).unwrap();
    lines.map(|mut line| line.nth(column).unwrap().parse().unwrap_or(0.0)).collect()
}

#[test]
fn what_the_kernel_cannot_do_is_refused_by_name_before_anything_runs() {
    let _alone = alone();
    let Some(_kernel) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (schemes, expected) in [
        ("reminis(aimd=off)", "the kernel's cellcc_reminis has no aimd=off"),
        ("verus", "the kernel has no congestion control `verus`"),
        ("reminis(dtt=40ms)+reminis(dtt=60ms)", "has the same settings for all"),
        ("natcp(period=10ms)+nacubic", "ask for different reports"),
        ("natcp(route=in-band)", "no node of its path writes on acknowledgements"),
    ] {
        let output = cellcc(folder.path()).args(arguments(schemes, "1s")).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{schemes}: {message}");
        assert!(message.contains(expected), "{schemes}: {message}");
    }
}

#[test]
fn nothing_stays_of_a_comparison_that_was_killed() {
    let _alone = alone();
    let Some(_kernel) = kernel() else { return };
    let before = available();
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("cellcc"));
    let mut comparing = command.args(arguments("vegas", "30s")).current_dir(folder.path()).spawn().unwrap();
    let wait_until = |what: &str, is_so: &dyn Fn() -> bool| {
        let began = std::time::Instant::now();
        while !is_so() {
            assert!(began.elapsed().as_secs() < 20, "{what}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    wait_until("loaded", &|| available().contains("cellcc_vegas"));
    comparing.kill().unwrap();
    comparing.wait().unwrap();
    wait_until("gone", &|| available() == before);
}

mod punctual {
    use super::*;

    #[test]
    fn schemes_of_ours_run_next_to_the_kernels_own_and_are_gone_afterwards() {
        needs_punctuality(|| {
            let Some(_kernel) = kernel() else { return };
            let before = available();
            let folder = tempfile::tempdir().unwrap();
            let schemes = "cubic,reminis(dtt=40ms),reminis(dtt=90ms),natcp,vegas";
            cellcc(folder.path()).args(arguments(schemes, "4s")).assert().success();
            let records = records(folder.path());
            let rtt = metrics(&records, "rtt_p50_ms");
            // NATCP paces at the link's rate: of 30 ms little is queue. Reminis is closer to the target of its run than to the
            // other's.
            assert!((30.0..45.0).contains(&rtt("natcp")), "{}", rtt("natcp"));
            assert!(rtt("vegas") < rtt("cubic"), "{}", rtt("vegas"));
            assert!(rtt("reminis(dtt=40ms)") < 65.0, "{}", rtt("reminis(dtt=40ms)"));
            assert!(rtt("reminis(dtt=90ms)") > 65.0, "{}", rtt("reminis(dtt=90ms)"));
            assert!(metrics(&records, "utilisation")("natcp") > 0.8);
            assert_eq!(available(), before);
        });
    }

    #[test]
    fn c2tcp_holds_the_rtt_that_it_is_set_to_where_cubic_fills_the_queue() {
        needs_punctuality(|| {
            let Some(_kernel) = kernel() else { return };
            let folder = tempfile::tempdir().unwrap();
            let schemes = "cubic,c2tcp,c2tcp(profile=v1,target=40ms),c2tcp(profile=v1,target=90ms)";
            cellcc(folder.path()).args(arguments(schemes, "4s")).assert().success();
            let records = records(folder.path());
            let (p95, used) = (metrics(&records, "rtt_p95_ms"), metrics(&records, "utilisation"));
            // 100 ms above the setpoint, three round trips of growth, end in a cut.
            assert!(p95("c2tcp(profile=v1,target=40ms)") < 50.0, "{}", p95("c2tcp(profile=v1,target=40ms)"));
            let higher = p95("c2tcp(profile=v1,target=90ms)");
            assert!((80.0..110.0).contains(&higher), "{higher}");
            // The tuner aims at a mean of two minimum RTTs.
            let mean = metrics(&records, "rtt_mean_ms")("c2tcp");
            assert!((40.0..70.0).contains(&mean), "{mean}");
            assert!(p95("cubic") > 150.0, "{}", p95("cubic"));
            for record in &records {
                let scheme = record["scenario"]["scheme"].as_str().unwrap();
                assert!(used(scheme) > 0.9, "{scheme}: {}", used(scheme));
            }
        });
    }

    #[test]
    fn tide_holds_the_queue_that_it_is_set_to_where_cubic_fills_it() {
        needs_punctuality(|| {
            let Some(_kernel) = kernel() else { return };
            let folder = tempfile::tempdir().unwrap();
            cellcc(folder.path()).args(arguments("cubic,tide,tide(preset=bulk)", "4s")).assert().success();
            let records = records(folder.path());
            let queue = metrics(&records, "queueing_delay_p50_ms");
            // 5 ms and 20 ms, two packets more, and the addition for the link's own variation.
            assert!((3.0..12.0).contains(&queue("tide")), "{}", queue("tide"));
            assert!((15.0..35.0).contains(&queue("tide(preset=bulk)")), "{}", queue("tide(preset=bulk)"));
            assert!(queue("cubic") > 80.0, "{}", queue("cubic"));
            // Without the first second: a window of ten packets fills the link after 300 ms, which alone cost 4 % of so short a
            // run.
            for record in &records {
                let rates = series(folder.path(), record, "flow0.throughput_mbit_s").split_off(10);
                let used = rates.iter().sum::<f64>() / rates.len() as f64 / 20.0;
                assert!(used > 0.95, "{}: {used}: {rates:?}", record["scenario"]["scheme"]);
            }
        });
    }

    #[test]
    fn roccet_leaves_a_queue_of_its_own_at_one_rtt_where_cubic_fills_it() {
        needs_punctuality(|| {
            let Some(_kernel) = kernel() else { return };
            let folder = tempfile::tempdir().unwrap();
            cellcc(folder.path()).args(arguments("cubic,roccet", "8s")).assert().success();
            let records = records(folder.path());
            let (rtt, used) = (metrics(&records, "rtt_p50_ms"), metrics(&records, "utilisation"));
            // 30 ms, and a queue that an event cuts where RTTs are twice as long.
            assert!((30.0..80.0).contains(&rtt("roccet")), "{}", rtt("roccet"));
            assert!(rtt("cubic") > 150.0, "{}", rtt("cubic"));
            assert!(used("roccet") > 0.9, "{}", used("roccet"));
        });
    }

    #[test]
    fn westwood_empties_the_queue_at_a_loss_where_reno_leaves_half_of_the_window() {
        needs_punctuality(|| {
            let Some(_kernel) = kernel() else { return };
            let folder = tempfile::tempdir().unwrap();
            // The path holds 50 packets: Reno's window goes from 75 to 150, Westwood+'s from 50.
            let arguments = arguments_with_queue("newreno,westwood,westwood(profile=linux)", "6s", "100pkt");
            cellcc(folder.path()).args(arguments).assert().success();
            let records = records(folder.path());
            let used = metrics(&records, "utilisation");
            for record in &records {
                let scheme = record["scenario"]["scheme"].as_str().unwrap();
                // Slow start ends with a loss within a second.
                let rtts = series(folder.path(), record, "flow0.rtt_ms").split_off(10);
                let shortest = rtts.iter().copied().filter(|rtt| *rtt > 0.0).fold(f64::MAX, f64::min);
                // 30 ms without a queue, and 45 ms with one of 25 packets.
                assert_eq!(shortest > 37.5, scheme == "newreno", "{scheme}: {rtts:?}");
                assert!(used(scheme) > 0.8, "{scheme}: {}", used(scheme));
            }
        });
    }

    #[test]
    fn natcp_follows_the_network_only_while_it_reports() {
        needs_punctuality(|| {
            let Some(_kernel) = kernel() else { return };
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("s.toml"), "[netassist]\noutages = ['2s..5s']\n").unwrap();
            let arguments = [arguments("natcp", "7s"), vec!["--scenario", "s.toml"]].concat();
            cellcc(folder.path()).args(arguments).assert().success();
            let windows = series(folder.path(), &records(folder.path())[0], "flow0.window_packets");
            // Two BDPs of 20 Mbit/s and 30 ms are 100 packets.
            let is_advised = |window: f64| (95.0..115.0).contains(&window);
            let advised =
                |bins: std::ops::Range<usize>| windows[bins].iter().filter(|w| is_advised(**w)).count();
            assert!(advised(10..20) >= 9 && advised(60..69) >= 8, "{windows:?}");
            assert!(advised(30..50) <= 2, "{windows:?}");
        });
    }

    /// With a tenth of the minimum RTT they got 2.2 of 12 Mbit/s.
    #[test]
    fn a_feed_that_is_wrong_about_the_minimum_rtt_or_old_costs_no_throughput() {
        needs_punctuality(|| {
            let _alone = alone();
            let Some(_kernel) = kernel() else { return };
            for feed in ["uplink_known = false", "rtt_scale = '0.1x'", "late = '10s'"] {
                let folder = tempfile::tempdir().unwrap();
                fs::write(folder.path().join("s.toml"), format!("[netassist]\n{feed}\n")).unwrap();
                let arguments = [arguments("bbr,natcp,nacubic", "4s"), vec!["--scenario", "s.toml"]].concat();
                cellcc(folder.path()).args(arguments).assert().success();
                let records = records(folder.path());
                let rate = metrics(&records, "throughput_mbit_s");
                for scheme in ["natcp", "nacubic"] {
                    assert!(
                        rate(scheme) >= 0.7 * rate("bbr"),
                        "{feed}: {scheme} {} of {}",
                        rate(scheme),
                        rate("bbr")
                    );
                }
            }
        });
    }

    #[test]
    fn in_a_cell_each_user_hears_what_its_own_queue_was_served() {
        needs_punctuality(|| {
            let Some(_kernel) = kernel() else { return };
            let folder = tempfile::tempdir().unwrap();
            let arguments =
                [arguments("natcp+cubic#1", "5s"), vec!["--cell", "round-robin:20Mbit/s"]].concat();
            cellcc(folder.path()).args(arguments).assert().success();
            let flows = &records(folder.path())[0]["flows"];
            let metric = |flow: usize, name: &str| flows[flow]["metrics"][name].as_f64().unwrap();
            // Half of the slots, and no queue besides CUBIC's: 10 Mbit/s.
            assert!((8.5..11.0).contains(&metric(0, "throughput_mbit_s")), "{flows:#}");
            assert!(metric(0, "queueing_delay_p95_ms") < 20.0, "{flows:#}");
            assert!(metric(1, "queueing_delay_p95_ms") > 50.0, "{flows:#}");
        });
    }
}

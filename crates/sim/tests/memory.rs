//! The memory of a run of many flows. A separate program: other tests would also count.

#![cfg(target_os = "linux")]

use cellcc_experiment::{Driver, Plan, PlanFile};
use cellcc_sim::SimDriver;
use cellcc_units::Span;

/// The most memory this process has had, in MB (`VmHWM` in proc(5)).
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux has it");
    let kib: f64 = peak.trim().trim_end_matches(" kB").parse().expect("a number of kB, which are KiB");
    kib * 1024.0 / 1e6
}

/// A minute with time series, whose values BBR has the most of: 432 MB before the counts of delays were small.
#[test]
fn a_thousand_flows_take_less_than_100_mb() {
    let driver = SimDriver::new(cellcc_schemes::registry());
    let file = PlanFile {
        schemes: vec!["1000*bbr".into()],
        traces: vec!["rate=100Mbit/s".into()],
        duration: Span::from_secs(60),
        ..PlanFile::default()
    };
    let plan = Plan::new(&file, &driver, "memory").expect("the plan is a constant");
    let record = driver.run(&plan.runs[1].scenario).expect("the run succeeds");
    assert_eq!(record.flows.len(), 1000);
    assert!(peak_mb() < 100.0, "{:.0} MB", peak_mb());
}

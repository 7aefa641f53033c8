//! Kernel TCP through the emulator. The tests need network namespaces, and are skipped without them.

use cellcc_emu::kernel::KernelDriver;
use cellcc_experiment::{Driver, Plan, PlanFile, Record, Resolved, Scenario};
use cellcc_test_support::{alone, needs_punctuality, skip};

/// The driver; `None` where this machine cannot run it, and the test is skipped.
fn driver() -> Option<KernelDriver<()>> {
    KernelDriver::new(()).map_err(skip).ok()
}

fn scenario(text: &str) -> Scenario {
    let file: PlanFile = toml::from_str(text).unwrap();
    struct Accepting;
    impl Driver for Accepting {
        fn resolve(&self, _: &mut Scenario) -> Result<(), cellcc_experiment::ResolveError> {
            Ok(())
        }
        fn run(&self, _: &Resolved) -> Result<Record, cellcc_experiment::RunError> {
            unreachable!("plans are only made here")
        }
    }
    let plan = Plan::new(&file, &Accepting, "0").unwrap();
    Scenario::clone(&plan.runs[1].scenario)
}

fn run(driver: &KernelDriver<()>, text: &str) -> Record {
    driver.run(&Resolved::by(driver, scenario(text)).unwrap()).unwrap()
}

#[test]
fn what_the_kernel_cannot_do_is_refused_by_name() {
    let _alone = alone();
    let Some(driver) = driver() else { return };
    let refused = |scheme: &str, more: &str| {
        let mut scenario = scenario(&format!(
            "schemes = ['{scheme}']\ntraces = ['rate=10Mbit/s']\ndrivers = ['kernel']\n{more}"
        ));
        driver.resolve(&mut scenario).unwrap_err().to_string()
    };
    assert!(refused("natcp", "").contains("no congestion control `natcp`"));
    assert!(refused("cubic~30ms", "").contains("`cubic~30ms`"));
    assert!(refused("cubic", "[endpoint]\nmss = '1000B'").contains("endpoint.mss = 1kB"));
    assert!(refused("cubic#1", "").contains("only users 0 to 0"));
    assert!(refused("cubic^32pkt + cubic", "").contains("Linux has one first window"));
}

mod punctual {
    use super::*;

    #[test]
    fn kernel_cubic_fills_a_link() {
        needs_punctuality(|| {
            let Some(driver) = driver() else { return };
            let record = run(
                &driver,
                "schemes = ['cubic']\ntraces = ['rate=10Mbit/s']\ndrivers = ['kernel']\nduration = '3s'\n[path]\nrtt = '20ms'\nqueue = '40pkt'",
            );
            let total = &record.total;
            assert!(total.utilisation > 0.9 && total.utilisation <= 1.0, "{total:#?}");
            // A full queue holds 40 packets of 1.2 ms; without any queue it takes the path's 20 ms.
            assert!(total.queueing_delay_max_ms.unwrap() <= 48.1, "{total:#?}");
            assert!(total.rtt_mean_ms.unwrap() > 20.0 && total.rtt_max_ms.unwrap() < 80.0, "{total:#?}");
            assert!(
                total.lost_packets > 0 && total.retransmitted_packets >= total.lost_packets / 2,
                "{total:#?}"
            );
            assert_eq!(record.series.column("flow0.window_packets").unwrap().len(), 30);
            assert!(record.real_time.is_some() && record.driver == "kernel");
        });
    }

    #[test]
    fn a_sized_flow_starts_late_and_is_through() {
        needs_punctuality(|| {
            let Some(driver) = driver() else { return };
            let record = run(
                &driver,
                "schemes = ['cubic:sized(200kB)@500ms']\ntraces = ['rate=20Mbit/s']\ndrivers = ['kernel']\nduration = '2s'",
            );
            let completion = record.flows[0].metrics.completion_time_s.unwrap();
            // 80 ms of transmission, two round-trip times at least.
            assert!((0.12..0.4).contains(&completion), "{completion}");
            assert_eq!(record.total.sent_packets, 139);
        });
    }

    #[test]
    fn a_flow_begins_with_its_first_window() {
        needs_punctuality(|| {
            let Some(driver) = driver() else { return };
            let record = run(
                &driver,
                "schemes = ['cubic^32pkt']\ntraces = ['rate=10Mbit/s']\ndrivers = ['kernel']\nduration = '1s'\n[path]\nrtt = '400ms'",
            );
            // The connection exists after 0.4 s, and its first acknowledgement comes after 0.8 s.
            let windows = record.series.column("flow0.window_packets").unwrap();
            assert_eq!(windows.iter().find(|window| !window.is_nan()), Some(&32.0), "{windows:?}");
        });
    }
}

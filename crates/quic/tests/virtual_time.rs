//! The driver in virtual time: real QUIC, the same result every time.

use cellcc_control::Registry;
use cellcc_experiment::{Driver, Plan, PlanFile, Record};
use cellcc_quic::{Protection, VirtualDriver};
use std::fmt::Write;

fn driver() -> VirtualDriver {
    VirtualDriver::new(Registry::default())
}

/// Runs each scheme (or mix) on one link and gives the Records.
fn run(
    driver: &VirtualDriver,
    schemes: &[&str],
    trace: &str,
    change: impl FnOnce(&mut PlanFile),
) -> Vec<Record> {
    let mut file = PlanFile {
        schemes: schemes.iter().map(|text| text.to_string()).collect(),
        traces: vec![trace.into()],
        duration: "5s".parse().unwrap(),
        ..PlanFile::default()
    };
    change(&mut file);
    let plan = Plan::new(&file, driver, "test").expect("the test's plan is sound");
    let runs = plan.runs.iter().filter(|run| !run.scenario.flows.is_empty());
    runs.map(|run| driver.run(&run.scenario).expect("the run succeeds")).collect()
}

fn text(record: &Record) -> String {
    serde_json::to_string(record).unwrap() + &format!("{:?}", record.series)
}

const WITHOUT_ADVICE: [&str; 8] =
    ["cubic", "newreno", "vegas", "bbr", "rbbr", "reminis", "verus", "fixed-window(window=20pkt)"];

#[test]
fn schemes_in_real_quic_on_a_constant_link() {
    let mut table = String::from("scheme                     Mbit/s  queueing ms  RTT ms  sent  lost\n");
    for record in run(&driver(), &WITHOUT_ADVICE, "rate=12Mbit/s", |_| ()) {
        let total = &record.total;
        let queueing = total.queueing_delay_mean_ms.unwrap_or(f64::NAN);
        let rtt = total.rtt_mean_ms.unwrap_or(f64::NAN);
        let (sent, lost) = (total.sent_packets, total.lost_packets);
        let rate = total.throughput_mbit_s;
        writeln!(
            table,
            "{:26} {rate:6.2}  {queueing:11.1}  {rtt:6.1}  {sent:4}  {lost:4}",
            record.scenario.scheme
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_same_scenario_gives_the_same_record_to_the_byte() {
    let schemes = ["cubic", "rbbr", "verus"];
    let lossy = |file: &mut PlanFile| file.path.loss = "1%".parse().unwrap();
    let once = run(&driver(), &schemes, "rate=12Mbit/s", lossy);
    let again = run(&driver(), &schemes, "rate=12Mbit/s", lossy);
    for (once, again) in once.iter().zip(&again) {
        assert_eq!(text(once), text(again));
    }
}

#[test]
fn encryption_changes_nothing_that_is_measured() {
    let bare = run(&driver(), &["cubic"], "rate=12Mbit/s", |_| ());
    let tls = run(&driver().with_protection(Protection::Tls), &["cubic"], "rate=12Mbit/s", |_| ());
    assert_eq!(text(&bare[0]), text(&tls[0]));
}

#[test]
fn a_sized_source_completes() {
    let records = run(&driver(), &["cubic:sized(1MB)"], "rate=12Mbit/s", |_| ());
    let took = records[0].total.completion_time_s.expect("it completes");
    // 0.67 s on the link, slow start, the handshake.
    assert!((0.7..1.2).contains(&took), "{took}");
}

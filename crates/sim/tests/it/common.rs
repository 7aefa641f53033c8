//! The common helper of the simulator's tests: a run in one line.

use cellcc_experiment::{Driver, Mix, Path, Plan, PlanFile, Record};
use cellcc_sim::SimDriver;

/// Runs every scheme on one link and gives the Records, the limit's first.
pub(crate) fn compare(schemes: &[&str], trace: &str, change: impl FnOnce(&mut PlanFile)) -> Vec<Record> {
    let driver = SimDriver::new(cellcc_schemes::registry());
    let mut file = PlanFile {
        schemes: schemes.iter().map(|text| text.to_string()).collect(),
        traces: vec![trace.into()],
        ..PlanFile::default()
    };
    change(&mut file);
    let plan = Plan::new(&file, &driver, "test").expect("the test's plan is sound");
    plan.runs.iter().map(|run| driver.run(&run.scenario).expect("the run succeeds")).collect()
}

/// Runs one scheme (or mix) on one link.
pub(crate) fn run(scheme: &str, trace: &str, duration: &str, path: Path) -> Record {
    Mix::parse(scheme).expect("the test's mix is sound");
    let records = compare(&[scheme], trace, |file| {
        file.duration = duration.parse().expect("a duration");
        file.path = path;
    });
    records.into_iter().nth(1).expect("the limit and the scheme")
}

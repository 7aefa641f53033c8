//! Runs without an output folder.

use crate::common::{Fake, StopAfter, plan, plan_of, run, runner};
use cellcc_runner::{Collected, Progress, Results, SeriesDetail, collect};
use std::sync::atomic::AtomicBool;

fn collected(plan: &cellcc_experiment::Plan, progress: &dyn Progress, stop: &AtomicBool) -> Collected {
    collect(plan, &Fake::default(), 2.try_into().unwrap(), SeriesDetail::default(), progress, stop).unwrap()
}

#[test]
fn the_records_in_memory_are_those_of_the_folder() {
    let out = tempfile::tempdir().unwrap();
    run(&runner(out.path()), &plan()).unwrap();
    let in_memory = collected(&plan(), &(), &AtomicBool::new(false));
    assert_eq!(in_memory.records, Results::read(out.path()).unwrap().records);
    assert!(!in_memory.interrupted && in_memory.failures.is_empty());
}

#[test]
fn a_run_that_fails_is_named_and_the_others_are_there() {
    let plan = plan_of(&["fails", "ok"], "1");
    let Collected { records, failures, interrupted } = collected(&plan, &(), &AtomicBool::new(false));
    assert_eq!(records.len() + failures.len(), plan.runs.len());
    assert_eq!((failures[0].cause.as_str(), interrupted), ("the link broke", false));
}

#[test]
fn interrupted_runs_leave_what_was_finished() {
    let stop = AtomicBool::new(false);
    let Collected { records, interrupted, .. } = collected(&plan(), &StopAfter::new(3, &stop), &stop);
    assert!(interrupted && (3..=4).contains(&records.len()), "{}", records.len());
}

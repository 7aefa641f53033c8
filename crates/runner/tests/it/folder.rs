//! What the runner leaves in the output folder, with a driver that measures nothing.

#![allow(clippy::disallowed_methods, reason = "these runs take real time")]

use cellcc_experiment::{
    Column, Curve, Distribution, Driver, FlowRecord, Metrics, Plan, PlanFile, Record, ResolveError, RunError,
    SCHEMA_VERSION, Scenario, Series,
};
use cellcc_runner::{Existing, Outcome, Progress, Results, Runner, RunnerError, Shard, State, merge};
use cellcc_units::Span;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tempfile::TempDir;

/// Knows four schemes: `ok` and `other` give a Record, `fails` an error, `panics` a panic.
#[derive(Default)]
struct Fake {
    runs: AtomicUsize,
    /// Runs that are going on, and the most of them at a time beside one that takes real time.
    going_on: AtomicUsize,
    beside_real_time: AtomicUsize,
}

impl Driver for Fake {
    fn is_real_time(&self, scenario: &Scenario) -> bool {
        scenario.driver == "real"
    }

    fn resolve(&self, _: &mut Scenario) -> Result<(), ResolveError> {
        Ok(())
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        // Later runs of a trace end first, so that completion order and plan order differ.
        let going_on = self.going_on.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(8 - scenario.seed.min(8)));
        if self.is_real_time(scenario) {
            self.beside_real_time.fetch_max(going_on, Ordering::Relaxed);
        }
        self.going_on.fetch_sub(1, Ordering::Relaxed);
        match scenario.scheme.as_str() {
            "fails" => return Err(RunError("the link broke".into())),
            "panics" => panic!("index out of {}", "bounds"),
            _ => {}
        }
        let metrics = Metrics { throughput_mbit_s: scenario.seed as f64 / 3.0, ..Metrics::default() };
        let flow = FlowRecord {
            scheme: scenario.scheme.clone(),
            metrics: metrics.clone(),
            queueing_delay: Distribution::default(),
            rtt: Distribution::default(),
        };
        let curve = Curve {
            time_s: 1.0,
            flow: 0,
            name: "profile".into(),
            x: "window_packets".into(),
            y: "delay_ms".into(),
            points: vec![(1.0, scenario.seed as f32), (2.0, 0.25)],
        };
        let curves = if scenario.scheme == "other" { vec![curve] } else { Vec::new() };
        let column = Column { name: "capacity_mbit_s".into(), values: vec![scenario.seed as f32, 0.5] };
        Ok(Record {
            schema: SCHEMA_VERSION,
            id: String::new(),
            version: String::new(),
            driver: "fake".into(),
            scenario: scenario.clone(),
            total: metrics,
            jain_index: None,
            flows: vec![flow],
            notes: Vec::new(),
            real_time: None,
            series: Series { bin: Span::from_millis(100), columns: vec![column] },
            curves,
        })
    }
}

const VERSION: &str = "1.0.0";

fn plan_of(schemes: &[&str], version: &str) -> Plan {
    let file = PlanFile {
        title: "Fake".into(),
        schemes: schemes.iter().map(ToString::to_string).collect(),
        traces: vec!["a".into(), "b".into()],
        seeds: "1..3".parse().unwrap(),
        ..PlanFile::default()
    };
    Plan::new(&file, &Fake::default(), version).unwrap()
}

fn plan() -> Plan {
    plan_of(&["ok", "other"], VERSION)
}

fn runner(out: &Path) -> Runner {
    Runner {
        out: out.into(),
        jobs: 2.try_into().unwrap(),
        shard: None,
        existing: Existing::Refuse,
        version: VERSION.into(),
        command: vec!["cellcc".into(), "compare".into()],
        scenario: "schemes = ['ok']\n".into(),
    }
}

fn run(runner: &Runner, plan: &Plan) -> Result<Outcome, RunnerError> {
    runner.run(plan, &Fake::default(), &(), &AtomicBool::new(false))
}

#[test]
fn runs_in_real_time_have_the_machine_to_themselves() {
    let folder = TempDir::new().unwrap();
    let file = PlanFile {
        schemes: vec!["ok".into(), "other".into()],
        traces: vec!["a".into(), "b".into()],
        seeds: "1..4".parse().unwrap(),
        drivers: vec!["sim".into(), "real".into()],
        ..PlanFile::default()
    };
    let plan = Plan::new(&file, &Fake::default(), VERSION).unwrap();
    let driver = Fake::default();
    let runner = Runner { jobs: 4.try_into().unwrap(), ..runner(&folder.path().join("out")) };
    let outcome = runner.run(&plan, &driver, &(), &AtomicBool::new(false)).unwrap();
    assert_eq!((outcome.finished, driver.beside_real_time.into_inner()), (2 * (1 + 2 * 2 * 4), 0));
}

/// Stops the runner after some finished runs, as an interrupt would.
struct StopAfter<'a> {
    left: AtomicUsize,
    stop: &'a AtomicBool,
}

impl Progress for StopAfter<'_> {
    fn finished(&self, _: &str) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

fn interrupt_after(runs: usize, runner: &Runner, plan: &Plan) -> Outcome {
    let stop = AtomicBool::new(false);
    let progress = StopAfter { left: AtomicUsize::new(runs), stop: &stop };
    runner.run(plan, &Fake::default(), &progress, &stop).unwrap()
}

/// Everything that must not depend on how the folder came about.
fn content(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(out.join("series"))
        .unwrap()
        .chain(fs::read_dir(out.join("curves")).unwrap())
        .map(|entry| entry.unwrap().path())
        .chain([out.join("runs.jsonl"), out.join("scenario.toml")])
        .map(|path| (path.strip_prefix(out).unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

fn whole() -> (TempDir, Vec<(PathBuf, Vec<u8>)>) {
    let out = tempfile::tempdir().unwrap();
    let outcome = run(&runner(out.path()), &plan()).unwrap();
    assert_eq!((outcome.runs, outcome.finished, outcome.interrupted), (14, 14, false));
    let content = content(out.path());
    (out, content)
}

#[test]
fn records_are_in_plan_order_and_read_back_with_their_series() {
    let (out, _) = whole();
    let results = Results::read(out.path()).unwrap();
    let ids: Vec<_> = results.records.iter().map(|record| record.id.clone()).collect();
    assert_eq!(ids, results.info.plan);
    assert_eq!(results.records[3].series.column("capacity_mbit_s"), Some(&[3.0, 0.5][..]));
    assert_eq!((results.info.state, results.info.title.as_str()), (State::Complete, "Fake"));
    assert!(!out.path().join("finished.jsonl").exists());
}

#[test]
fn the_number_of_jobs_changes_no_byte() {
    let (_keep, expected) = whole();
    for jobs in [1, 7] {
        let out = tempfile::tempdir().unwrap();
        run(&Runner { jobs: jobs.try_into().unwrap(), ..runner(out.path()) }, &plan()).unwrap();
        assert_eq!(content(out.path()), expected, "{jobs} jobs");
    }
}

#[test]
fn a_resumed_plan_runs_only_the_rest_and_ends_with_the_same_bytes() {
    let (_keep, expected) = whole();
    let out = tempfile::tempdir().unwrap();
    let stopped = interrupt_after(5, &runner(out.path()), &plan());
    assert!(stopped.interrupted && stopped.finished >= 5 && stopped.finished < 14, "{stopped:?}");
    assert!(!out.path().join("runs.jsonl").exists());

    let driver = Fake::default();
    let again = Runner { existing: Existing::Resume, ..runner(out.path()) };
    let outcome = again.run(&plan(), &driver, &(), &AtomicBool::new(false)).unwrap();
    assert_eq!(outcome.finished, 14);
    assert_eq!(driver.runs.into_inner(), 14 - stopped.finished);
    assert_eq!(content(out.path()), expected);
}

#[test]
fn a_torn_last_line_is_dropped_and_its_run_repeated() {
    let (_keep, expected) = whole();
    let out = tempfile::tempdir().unwrap();
    interrupt_after(5, &runner(out.path()), &plan());
    let path = out.path().join("finished.jsonl");
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 40]).unwrap();
    run(&Runner { existing: Existing::Resume, ..runner(out.path()) }, &plan()).unwrap();
    assert_eq!(content(out.path()), expected);
}

#[test]
fn runs_of_another_version_are_repeated() {
    let out = tempfile::tempdir().unwrap();
    let older = Runner { version: "0.9.0".into(), ..runner(out.path()) };
    run(&older, &plan_of(&["ok", "other"], "0.9.0")).unwrap();
    let driver = Fake::default();
    let again = Runner { existing: Existing::Resume, ..runner(out.path()) };
    again.run(&plan(), &driver, &(), &AtomicBool::new(false)).unwrap();
    assert_eq!(driver.runs.into_inner(), 14);
    assert!(Results::read(out.path()).unwrap().records.iter().all(|record| record.version == VERSION));
}

#[test]
fn results_are_never_overwritten_silently() {
    let (out, before) = whole();
    let error = run(&runner(out.path()), &plan()).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("--resume"), "{error}");
    let smaller = plan_of(&["ok"], VERSION);
    let error = run(&Runner { existing: Existing::Resume, ..runner(out.path()) }, &smaller).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("6 runs that this plan has not"), "{error}");
    assert_eq!(content(out.path()), before);

    run(&Runner { existing: Existing::Replace, ..runner(out.path()) }, &smaller).unwrap();
    assert_eq!(Results::read(out.path()).unwrap().records.len(), 8);
    assert_eq!(fs::read_dir(out.path().join("series")).unwrap().count(), 8);
}

#[test]
fn a_finished_plan_grows_by_a_scheme_without_running_the_others_again() {
    let out = tempfile::tempdir().unwrap();
    run(&runner(out.path()), &plan_of(&["ok"], VERSION)).unwrap();
    let driver = Fake::default();
    let again = Runner { existing: Existing::Resume, ..runner(out.path()) };
    again.run(&plan(), &driver, &(), &AtomicBool::new(false)).unwrap();
    assert_eq!(driver.runs.into_inner(), 6);
    assert_eq!(content(out.path()), whole().1);
}

#[test]
fn a_run_that_fails_or_panics_is_named_and_stops_no_other() {
    let out = tempfile::tempdir().unwrap();
    let outcome = run(&runner(out.path()), &plan_of(&["fails", "ok", "panics"], VERSION)).unwrap();
    assert_eq!((outcome.finished, outcome.failures.len(), outcome.interrupted), (8, 12, false));
    let told: Vec<_> = outcome.failures.iter().map(|f| format!("{}: {}", f.label, f.cause)).collect();
    assert_eq!(told[0], "fails on a, seed 1: the link broke");
    assert_eq!(told[3], "panics on a, seed 1: internal error: index out of bounds");
    assert_eq!(Results::read(out.path()).unwrap().info.failures, outcome.failures);
}

fn shards(parent: &Path, schemes: &[&str], count: usize) -> Vec<PathBuf> {
    (1..=count)
        .map(|index| {
            let out = parent.join(index.to_string());
            let shard: Shard = format!("{index}/{count}").parse().unwrap();
            run(&Runner { shard: Some(shard), ..runner(&out) }, &plan_of(schemes, VERSION)).unwrap();
            out
        })
        .collect()
}

#[test]
fn merged_shards_are_the_whole_byte_for_byte() {
    let (_keep, expected) = whole();
    let parent = tempfile::tempdir().unwrap();
    // More shares than runs: the last ones hold nothing.
    for count in [1, 3, 16] {
        let mut folders = shards(&parent.path().join(count.to_string()), &["ok", "other"], count);
        folders.reverse();
        let out = parent.path().join(format!("merged-{count}"));
        assert_eq!(merge(&folders, &out, Existing::Refuse).unwrap().finished, 14);
        assert_eq!(content(&out), expected);
        assert_eq!(Results::read(&out).unwrap().info.shard, None);
    }
}

#[test]
fn merging_tells_what_failed_in_the_shares() {
    let parent = tempfile::tempdir().unwrap();
    let folders = shards(parent.path(), &["ok", "fails"], 2);
    let merged = merge(&folders, &parent.path().join("out"), Existing::Refuse).unwrap();
    assert_eq!((merged.finished, merged.failures.len()), (8, 6));
    assert_eq!(merged.failures[2].label, "fails on a, seed 3");
}

#[test]
fn shares_that_do_not_make_one_plan_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let folders = shards(&parent.path().join("a"), &["ok", "other"], 3);
    let others = shards(&parent.path().join("b"), &["ok"], 3);
    let (whole, _) = whole();
    let out = parent.path().join("out");
    let refused = |folders: &[PathBuf], out: &Path| {
        let error = merge(folders, out, Existing::Replace).unwrap_err();
        assert!(error.is_input());
        error.to_string()
    };
    assert!(refused(&folders[..2], &out).contains("shares 3/3 are not among"));
    assert!(refused(&[folders[0].clone(), folders[0].clone()], &out).contains("share 1/3 again"));
    assert!(refused(&[folders[0].clone(), others[1].clone()], &out).contains("another plan"));
    assert!(refused(&[whole.path().into()], &out).contains("--shard"));
    assert!(refused(&[parent.path().join("nothing")], &out).contains("holds no results"));
    assert!(refused(&folders, &folders[1]).contains("--out"));
    assert!(!out.exists());
}

#[test]
fn an_unfinished_share_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("1");
    let one = Runner { shard: Some("1/1".parse().unwrap()), ..runner(&out) };
    interrupt_after(3, &one, &plan());
    let error = merge(&[out], &parent.path().join("out"), Existing::Refuse).unwrap_err();
    assert!(error.to_string().contains("--resume"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_any_run() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    let driver = Fake::default();
    let error = runner(&file.join("out")).run(&plan(), &driver, &(), &AtomicBool::new(false)).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("--out"), "{error}");
    assert_eq!(driver.runs.into_inner(), 0);
}

#[test]
fn the_same_run_twice_is_refused() {
    let out = tempfile::tempdir().unwrap();
    let error = run(&runner(out.path()), &plan_of(&["ok", "ok"], VERSION)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`ok on a, seed 1` is in the plan twice: name each scheme, each trace and each varied value once"
    );
}

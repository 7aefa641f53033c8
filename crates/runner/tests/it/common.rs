//! A driver that measures nothing, and helpers that run it.

use cellcc_experiment::{
    Column, Curve, Driver, FlowRecord, Metrics, Plan, PlanFile, Record, ResolveError, Resolved, RunError,
    SCHEMA_VERSION, Scenario, Series,
};
use cellcc_runner::{Existing, Outcome, OutputFolder, Progress, Runner, RunnerError, SeriesDetail, Shard};
use cellcc_units::Span;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tempfile::TempDir;

/// Knows four schemes: `ok` and `other` give a Record, `fails` an error, `panics` a panic.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) runs: AtomicUsize,
    /// Runs that are going on, and the most of them at a time next to one that takes real time.
    going_on: AtomicUsize,
    pub(crate) next_to_real_time: AtomicUsize,
}

impl Driver for Fake {
    fn is_real_time(&self, scenario: &Scenario) -> bool {
        scenario.driver == "real"
    }

    fn resolve(&self, _: &mut Scenario) -> Result<(), ResolveError> {
        Ok(())
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        // Later runs of a trace end first, so that completion order and plan order differ.
        let going_on = self.going_on.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(8 - scenario.seed.min(8)));
        if self.is_real_time(scenario) {
            self.next_to_real_time.fetch_max(going_on, Ordering::Relaxed);
        }
        self.going_on.fetch_sub(1, Ordering::Relaxed);
        match scenario.scheme.as_str() {
            "fails" => return Err(RunError("the link broke".into())),
            "panics" => panic!("index out of {}", "bounds"),
            _ => {}
        }
        let metrics = Metrics { throughput_mbit_s: scenario.seed as f64 / 3.0, ..Metrics::default() };
        let flow =
            FlowRecord { scheme: scenario.scheme.clone(), metrics: metrics.clone(), ..FlowRecord::default() };
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
            scenario: Scenario::clone(scenario),
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

pub(crate) const VERSION: &str = "1.0.0+abcdef012345";

pub(crate) fn plan_of(schemes: &[&str], version: &str) -> Plan {
    let file = PlanFile {
        title: "Fake".into(),
        schemes: schemes.iter().map(ToString::to_string).collect(),
        traces: vec!["a".into(), "b".into()],
        seeds: "1..3".parse().unwrap(),
        ..PlanFile::default()
    };
    Plan::new(&file, &Fake::default(), version).unwrap()
}

pub(crate) fn plan() -> Plan {
    plan_of(&["ok", "other"], VERSION)
}

pub(crate) fn runner(out: &Path) -> Runner {
    Runner {
        out: OutputFolder::create(out).unwrap(),
        jobs: 2.try_into().unwrap(),
        shard: None,
        existing: Existing::Refuse,
        series: SeriesDetail::default(),
        command: vec!["cellcc".into(), "compare".into()],
        scenario: "schemes = ['ok']\n".into(),
    }
}

/// A runner that goes on with the results in the folder.
pub(crate) fn resuming(out: &Path) -> Runner {
    Runner { existing: Existing::Resume, ..runner(out) }
}

pub(crate) fn run(runner: &Runner, plan: &Plan) -> Result<Outcome, RunnerError> {
    runner.run(plan, &Fake::default(), &(), &AtomicBool::new(false))
}

/// Stops the runner after some finished runs, as an interrupt would.
pub(crate) struct StopAfter<'a> {
    left: AtomicUsize,
    stop: &'a AtomicBool,
}

impl<'a> StopAfter<'a> {
    pub(crate) fn new(runs: usize, stop: &'a AtomicBool) -> Self {
        Self { left: AtomicUsize::new(runs), stop }
    }
}

impl Progress for StopAfter<'_> {
    fn finished(&self, _: &str) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

pub(crate) fn interrupt_after(runs: usize, runner: &Runner, plan: &Plan) -> Outcome {
    let stop = AtomicBool::new(false);
    let progress = StopAfter::new(runs, &stop);
    runner.run(plan, &Fake::default(), &progress, &stop).unwrap()
}

/// Everything that must not depend on how the folder came about.
pub(crate) fn content(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = ["series", "curves"]
        .iter()
        .flat_map(|kind| files_in(&out.join(kind)))
        .chain([out.join("runs.jsonl"), out.join("scenario.toml")])
        .map(|path| (path.strip_prefix(out).unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Also those in folders within it.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

pub(crate) fn whole() -> (TempDir, Vec<(PathBuf, Vec<u8>)>) {
    let out = tempfile::tempdir().unwrap();
    let outcome = run(&runner(out.path()), &plan()).unwrap();
    assert_eq!((outcome.runs, outcome.finished, outcome.interrupted), (14, 14, false));
    let content = content(out.path());
    (out, content)
}

pub(crate) fn shards(parent: &Path, plan: &Plan, count: usize) -> Vec<PathBuf> {
    (1..=count)
        .map(|index| {
            let out = parent.join(index.to_string());
            let shard: Shard = format!("{index}/{count}").parse().unwrap();
            run(&Runner { shard: Some(shard), ..runner(&out) }, plan).unwrap();
            out
        })
        .collect()
}

//! Files that the runner leaves in the output folder.

use crate::common::{
    Fake, VERSION, content, interrupt_after, plan, plan_of, resuming, run, runner, shards, whole,
};
use cellcc_experiment::{Plan, PlanFile, RunId};
use cellcc_runner::{Existing, OutputFolder, Results, Runner, SeriesOf, State, merge};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

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
    assert_eq!((outcome.finished, driver.next_to_real_time.into_inner()), (2 * (1 + 2 * 2 * 4), 0));
}

#[test]
fn records_are_in_plan_order_and_read_back_with_their_series() {
    let (out, _) = whole();
    let results = Results::read(out.path()).unwrap();
    let ids: Vec<_> = results.records.iter().map(|record| record.id.parse::<RunId>().unwrap()).collect();
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
    let again = resuming(out.path());
    let outcome = again.run(&plan(), &driver, &(), &AtomicBool::new(false)).unwrap();
    assert_eq!(outcome.finished, 14);
    assert_eq!(driver.runs.into_inner(), 14 - stopped.finished);
    assert_eq!(content(out.path()), expected);
}

#[test]
fn what_an_interrupted_folder_has_so_far_is_read_in_the_order_of_the_plan() {
    let (whole, _) = whole();
    let all = Results::read(whole.path()).unwrap().records;
    let out = tempfile::tempdir().unwrap();
    let stopped = interrupt_after(5, &runner(out.path()), &plan());
    let so_far = Results::read_unfinished(out.path(), SeriesOf::EveryRun).unwrap();
    assert_eq!((so_far.records.len(), so_far.info.state), (stopped.finished, State::Interrupted));
    let ids: BTreeSet<&str> = so_far.records.iter().map(|record| record.id.as_str()).collect();
    let same: Vec<_> = all.into_iter().filter(|record| ids.contains(record.id.as_str())).collect();
    assert_eq!(so_far.records, same);
}

#[test]
fn a_torn_last_line_is_dropped_and_its_run_repeated() {
    let (_keep, expected) = whole();
    let out = tempfile::tempdir().unwrap();
    interrupt_after(5, &runner(out.path()), &plan());
    let path = out.path().join("finished.jsonl");
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 40]).unwrap();
    run(&resuming(out.path()), &plan()).unwrap();
    assert_eq!(content(out.path()), expected);
}

/// Its runs were repeated without a word, or taken for those of this build where both had the same version.
#[test]
fn runs_of_another_build_are_refused_with_the_ways_on() {
    let out = tempfile::tempdir().unwrap();
    interrupt_after(5, &runner(out.path()), &plan_of(&["ok", "other"], "1.0.0+0123456789ab"));
    let error = run(&resuming(out.path()), &plan()).unwrap_err();
    assert!(error.is_input());
    let message = error.to_string();
    for part in ["results of another build", "1.0.0+0123456789ab", VERSION, "--resume", "--replace", "--out"]
    {
        assert!(message.contains(part), "{message}");
    }
    let replacing = Runner { existing: Existing::Replace, ..runner(out.path()) };
    assert_eq!(run(&replacing, &plan()).unwrap().finished, 14);
    assert_eq!(content(out.path()), whole().1);
}

#[test]
fn shares_of_two_builds_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let ours = shards(&parent.path().join("ours"), &plan(), 2);
    let others = shards(&parent.path().join("others"), &plan_of(&["ok", "other"], "1.0.0+0123456789ab"), 2);
    let out = parent.path().join("out");
    let mixed = [ours[0].clone(), others[1].clone()];
    let error = merge(&mixed, &out, Existing::Refuse).unwrap_err();
    let message = error.to_string();
    assert!(
        error.is_input() && message.contains("1.0.0+0123456789ab") && message.contains(VERSION),
        "{message}"
    );
    assert!(!out.exists());
    assert_eq!(merge(&others, &out, Existing::Refuse).unwrap().finished, 14);
}

#[test]
fn results_are_never_overwritten_silently() {
    let (out, before) = whole();
    let error = run(&runner(out.path()), &plan()).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("--resume"), "{error}");
    let smaller = plan_of(&["ok"], VERSION);
    let error = run(&resuming(out.path()), &smaller).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("6 runs that are not in this plan"), "{error}");
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
    let again = resuming(out.path());
    again.run(&plan(), &driver, &(), &AtomicBool::new(false)).unwrap();
    assert_eq!(driver.runs.into_inner(), 6);
    assert_eq!(content(out.path()), whole().1);
}

#[test]
fn a_run_that_fails_or_panics_is_named_and_stops_no_other() {
    let out = tempfile::tempdir().unwrap();
    let outcome = run(&runner(out.path()), &plan_of(&["fails", "ok", "panics"], VERSION)).unwrap();
    assert_eq!((outcome.finished, outcome.failures.len(), outcome.interrupted), (8, 12, false));
    let reported: Vec<_> = outcome.failures.iter().map(|f| format!("{}: {}", f.label, f.cause)).collect();
    assert_eq!(reported[0], "fails on a, seed 1: the link broke");
    assert_eq!(reported[3], "panics on a, seed 1: internal error: index out of bounds");
    assert_eq!(Results::read(out.path()).unwrap().info.failures, outcome.failures);
}

#[test]
fn merged_shards_are_the_whole_byte_for_byte() {
    let (_keep, expected) = whole();
    let parent = tempfile::tempdir().unwrap();
    // More shares than runs: the last ones hold nothing.
    for count in [1, 3, 16] {
        let mut folders = shards(&parent.path().join(count.to_string()), &plan(), count);
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
    let folders = shards(parent.path(), &plan_of(&["ok", "fails"], VERSION), 2);
    let merged = merge(&folders, &parent.path().join("out"), Existing::Refuse).unwrap();
    assert_eq!((merged.finished, merged.failures.len()), (8, 6));
    assert_eq!(merged.failures[2].label, "fails on a, seed 3");
}

#[test]
fn shares_that_do_not_make_one_plan_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let folders = shards(&parent.path().join("a"), &plan(), 3);
    let others = shards(&parent.path().join("b"), &plan_of(&["ok"], VERSION), 3);
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
fn a_share_whose_place_in_the_plan_was_changed_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let folders = shards(parent.path(), &plan(), 2);
    let info = folders[0].join("run-info.json");
    let mut changed: serde_json::Value = serde_json::from_slice(&fs::read(&info).unwrap()).unwrap();
    let mut refused_with = |part: serde_json::Value| {
        changed["part"] = part;
        fs::write(&info, changed.to_string()).unwrap();
        merge(&folders, &parent.path().join("out"), Existing::Refuse).unwrap_err().to_string()
    };
    let hash = cellcc_runner::plan_sha256(&plan().runs.iter().map(|run| run.id).collect::<Vec<_>>());
    let places = serde_json::json!({ "plan_sha256": hash, "positions": [2, 0, 4, 6, 8, 10, 12] });
    assert!(refused_with(places).contains("was changed"));
    assert!(refused_with(serde_json::Value::Null).contains("shared plans out otherwise"));
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
    let error = OutputFolder::create(&file.join("out")).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("--out"), "{error}");
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

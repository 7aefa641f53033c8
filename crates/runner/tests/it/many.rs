//! Folders of more than a thousand runs, whose files lie in folders by the digits of their ids.

use crate::common::{Fake, VERSION, content, plan, resuming, run, runner, shards, whole};
use cellcc_experiment::{Plan, PlanFile, Record};
use cellcc_runner::{Existing, Results, Runner, SeriesOf, lie_by_digits, merge};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The limit, and two schemes by 510 seeds.
fn many() -> Plan {
    let file = PlanFile {
        title: "Many".into(),
        schemes: vec!["ok".into(), "other".into()],
        traces: vec!["a".into()],
        seeds: "1..510".parse().unwrap(),
        ..PlanFile::default()
    };
    Plan::new(&file, &Fake::default(), VERSION).unwrap()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Moves the files of runs to where builds had them that knew no folders by digits.
fn put_together(folder: &Path) {
    for digits in entries(folder) {
        for file in entries(&digits) {
            fs::rename(&file, folder.join(file.file_name().unwrap())).unwrap();
        }
        fs::remove_dir(digits).unwrap();
    }
}

/// Counts the files, which must all lie in folders by the digits that their names begin with.
fn by_digits(folder: &Path) -> usize {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let folders = entries(folder);
    assert!(folders.len() <= 256);
    let files =
        folders.iter().flat_map(|digits| entries(digits).into_iter().map(|file| (name(digits), name(&file))));
    files.inspect(|(digits, file)| assert!(file.starts_with(digits), "{digits}/{file}")).count()
}

/// Ten thousand files in one folder stopped programs that list it. Shares have fewer, which lie together.
#[test]
fn files_of_many_runs_lie_in_folders_by_digits_and_are_read_from_one_folder_as_well() {
    let folder = TempDir::new().unwrap();
    let (shares, out) = (shards(folder.path(), &many(), 2), folder.path().join("out"));
    assert!(entries(&shares[0].join("series")).iter().all(|path| path.is_file()), "a share has 510 runs");
    merge(&shares, &out, Existing::Refuse).unwrap();
    assert_eq!((by_digits(&out.join("series")), by_digits(&out.join("curves"))), (1_021, 510));
    assert!(lie_by_digits(&out));
    let (apart, before) = (Results::read(&out).unwrap(), content(&out));
    assert_eq!(apart.records[700].series.column("capacity_mbit_s"), Some(&[190.0, 0.5][..]));

    // As it is where all files are in one folder; a run whose file was changed is named, and made again in its place of today.
    ["series", "curves"].iter().for_each(|kind| put_together(&out.join(kind)));
    assert!(!lie_by_digits(&out));
    assert_eq!(Results::read(&out).unwrap(), apart);
    let changed = format!("{}.csv", apart.records[700].id);
    fs::write(out.join("series").join(&changed), "").unwrap();
    let message = Results::read(&out).unwrap_err().to_string();
    assert!(message.contains(&format!("series/{changed}: it was changed")), "{message}");
    run(&resuming(&out), &many()).unwrap();
    assert_eq!(Results::read(&out).unwrap().records, apart.records);
    let again = out.join("series").join(&changed[..2]).join(&changed);
    let in_its_place = before.iter().find(|(path, _)| again.ends_with(path)).unwrap();
    assert_eq!(fs::read(&again).unwrap(), in_its_place.1);

    // Files in both places go with a plan that replaces this one, and no other file does.
    fs::write(out.join("series/00.txt"), "somebody's").unwrap();
    run(&Runner { existing: Existing::Replace, ..runner(&out) }, &plan()).unwrap();
    assert_eq!(fs::read_to_string(out.join("series/00.txt")).unwrap(), "somebody's");
    fs::remove_file(out.join("series/00.txt")).unwrap();
    assert_eq!(content(&out), whole().1);
}

/// A run of a plan of ten thousand took nine kilobytes: its series, and conditions that all runs have alike.
#[test]
fn runs_that_differ_in_their_seeds_share_their_conditions_and_only_the_first_keeps_its_series() {
    let (out, _) = whole();
    let all = Results::read(out.path()).unwrap().records;
    let first = Results::read_with(out.path(), SeriesOf::FirstSeeds).unwrap().records;
    let none = Results::read_with(out.path(), SeriesOf::NoRun).unwrap().records;
    let has = |run: &Record| !run.series.columns.is_empty();
    let is_first = |run: &Record| run.scenario.seed == 1;
    assert!(all.iter().all(has) && !none.iter().any(has));
    assert_eq!(first.iter().filter(|run| is_first(run)).count(), 6);
    for (run, whole) in first.iter().zip(&all) {
        assert_eq!(has(run), is_first(run));
        let emptied = Record { series: run.series.clone(), curves: run.curves.clone(), ..whole.clone() };
        assert_eq!(*run, emptied);
        assert!(!is_first(run) || run == whole);
        assert!(std::ptr::eq(&*run.scenario.path, &*first[0].scenario.path));
        assert!(std::ptr::eq(&*run.scenario.endpoint, &*first[0].scenario.endpoint));
    }
}

//! One writer at a time, whole files, and nothing outside the folder.

use crate::common::{content, plan, resuming, run, runner, shards, whole};
use cellcc_runner::{Existing, OutputFolder, Results, Runner, RunnerError, merge};
use std::fs;
use std::path::Path;

/// Two writers left truncated results.
#[test]
fn a_second_writer_is_refused_and_hears_who_the_first_is() {
    let (out, before) = whole();
    let holder = OutputFolder::open(out.path()).unwrap();
    let shares = tempfile::tempdir().unwrap();
    let shares = shards(shares.path(), &plan(), 1);
    for error in [
        OutputFolder::create(out.path()).map(drop).unwrap_err(),
        merge(&shares, out.path(), Existing::Replace).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, RunnerError::InUse { .. }) && error.is_input(), "{error}");
        let message = error.to_string();
        let named = format!("process {} ", std::process::id());
        let since = " since 2";
        assert!(message.contains(&named) && message.contains(since) && message.contains("wait"), "{message}");
    }
    assert_eq!(content(out.path()), before);
    drop(holder);
    assert_eq!(run(&resuming(out.path()), &plan()).unwrap().finished, 14);
}

#[test]
fn a_folder_without_results_is_not_opened_and_not_made() {
    let parent = tempfile::tempdir().unwrap();
    let error = OutputFolder::open(&parent.path().join("none")).unwrap_err();
    assert!(matches!(error, RunnerError::NoResults { .. }), "{error}");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn what_a_killed_process_has_begun_to_write_is_gone_after_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let out = OutputFolder::create(folder.path()).unwrap();
    fs::write(folder.path().join(".cellcc-report.html.part"), "begun").unwrap();
    out.write("report.html", b"whole").unwrap();
    assert_eq!(fs::read(folder.path().join("report.html")).unwrap(), b"whole");
    assert!(!folder.path().join(".cellcc-report.html.part").exists());
}

#[cfg(unix)]
mod links {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Replaces these names in an output folder by links to `elsewhere`.
    fn linked(out: &Path, elsewhere: &Path, names: &[&str]) {
        for name in names {
            let _ = fs::remove_file(out.join(name)).or_else(|_| fs::remove_dir_all(out.join(name)));
            symlink(elsewhere.join(name), out.join(name)).unwrap();
        }
    }

    const FILES: [&str; 9] = [
        "runs.jsonl",
        "finished.jsonl",
        "run-info.json",
        "run-info.js",
        "report-series.js",
        "scenario.toml",
        "report.html",
        ".cellcc-runs.jsonl.part",
        ".cellcc-run-info.json.part",
    ];

    /// The files behind the links were overwritten, and series were written and removed behind linked folders.
    #[test]
    fn replacing_results_leaves_what_links_lead_to_as_it_is() {
        let (out, before) = whole();
        let elsewhere = tempfile::tempdir().unwrap();
        for name in FILES {
            fs::write(elsewhere.path().join(name), "precious").unwrap();
        }
        for name in ["series", "curves"] {
            fs::create_dir(elsewhere.path().join(name)).unwrap();
            fs::write(elsewhere.path().join(name).join("0123456789abcdef.csv"), "precious").unwrap();
        }
        linked(out.path(), elsewhere.path(), &FILES);
        linked(out.path(), elsewhere.path(), &["series", "curves"]);
        run(&Runner { existing: Existing::Replace, ..runner(out.path()) }, &plan()).unwrap();
        assert_eq!(content(out.path()), before);
        for name in
            FILES.iter().copied().chain(["series/0123456789abcdef.csv", "curves/0123456789abcdef.csv"])
        {
            assert_eq!(fs::read_to_string(elsewhere.path().join(name)).unwrap(), "precious", "{name}");
        }
        let files = |name: &str| fs::read_dir(elsewhere.path().join(name)).unwrap().count();
        assert_eq!((files("series"), files("curves")), (1, 1));
        assert_eq!(Results::read(out.path()).unwrap().records.len(), 14);
    }

    /// A link that leads nowhere yet was taken for nothing, and its target was made.
    #[test]
    fn a_link_that_leads_nowhere_counts_as_results() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        linked(folder.path(), elsewhere.path(), &["finished.jsonl"]);
        let error = run(&runner(folder.path()), &plan()).unwrap_err();
        assert!(matches!(error, RunnerError::HoldsResults { .. }), "{error}");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn linked_folders_and_a_linked_lock_are_refused() {
        let elsewhere = tempfile::tempdir().unwrap();
        let out = tempfile::tempdir().unwrap();
        linked(out.path(), elsewhere.path(), &["series"]);
        let error = run(&runner(out.path()), &plan()).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("symbolic link") && cause.contains("remove it"), "{error}: {cause}");

        fs::write(elsewhere.path().join(".cellcc-lock"), "precious").unwrap();
        linked(out.path(), elsewhere.path(), &[".cellcc-lock"]);
        assert!(OutputFolder::create(out.path()).is_err());
        assert_eq!(fs::read_to_string(elsewhere.path().join(".cellcc-lock")).unwrap(), "precious");
    }
}

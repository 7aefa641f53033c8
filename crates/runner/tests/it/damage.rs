//! Results that were changed, cut off, doubled or lost are named, and made again.

use crate::common::{Fake, VERSION, content, plan, plan_of, resuming, run, runner, shards, whole};
use cellcc_runner::{Existing, Progress, Results, merge};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// Takes down the damage that is reported to it.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Progress for Heard {
    fn repeats(&self, what: &str) {
        self.0.lock().unwrap().push(what.into());
    }
}

/// Changes the lines of a file of results.
fn change(path: &Path, change: impl FnOnce(&mut Vec<String>)) {
    let text = fs::read_to_string(path).unwrap();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(String::from).collect();
    change(&mut lines);
    fs::write(path, lines.concat()).unwrap();
}

/// Some damage to the lines of `runs.jsonl`, and a part of the message about it.
type Case = (fn(&mut Vec<String>), &'static str);

const CASES: [Case; 10] = [
    (|lines| lines.clear(), "missing: 14 of 14 runs ("),
    (|lines| lines.truncate(12), "missing: 2 of 14 runs ("),
    (|lines| lines.insert(2, lines[1].clone()), "line 3 repeats the run of line 2"),
    (|lines| lines.swap(3, 7), "not in the order of the plan"),
    (|lines| lines[13].truncate(100), "line 14 is cut off; missing: 1 of 14 runs ("),
    (
        |lines| lines[4] = lines[4].replace("\"seed\":1", "\"seed\":2"),
        "line 5 was changed since it was written",
    ),
    (|lines| lines[4] = lines[4].replacen(':', ": ", 1), "line 5 was changed since it was written"),
    // `--resume` called this another build.
    (
        |lines| lines[4] = lines[4].split(",\"series_sha256\"").next().unwrap().to_owned() + "}\n",
        "line 5 has version 1.0.0+",
    ),
    (|lines| lines[4] = "garbage\n".into(), "line 5 is not a Record with its hash"),
    (
        |lines| lines[4] = "{\"schema\":1}\n".into(),
        "line 5 is not a Record with its hash (missing field `id`",
    ),
];

/// `/dev/zero` took all memory.
#[cfg(unix)]
#[test]
fn a_device_in_the_place_of_a_file_of_results_is_named_and_not_read() {
    for name in ["run-info.json", "runs.jsonl"] {
        let (out, _) = whole();
        fs::remove_file(out.path().join(name)).unwrap();
        std::os::unix::fs::symlink("/dev/zero", out.path().join(name)).unwrap();
        let error = Results::read(out.path()).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.starts_with("is a device, not a file"), "{name}: {error}: {cause}");
    }
}

/// Each was reported without a word.
#[test]
fn lines_that_are_not_those_of_the_plan_are_named_and_made_again() {
    for (damage, expected) in CASES {
        let (out, before) = whole();
        let runs = out.path().join("runs.jsonl");
        change(&runs, damage);
        let error = Results::read(out.path()).unwrap_err();
        let message = error.to_string();
        assert!(error.is_input() && message.starts_with(&format!("{}: ", runs.display())), "{message}");
        assert!(message.contains(expected), "`{expected}` is not in: {message}");
        let remedy = format!("`cellcc compare --resume --out {}`", out.path().display());
        assert!(message.contains(&remedy), "{message}");

        let reported = Heard::default();
        resuming(out.path()).run(&plan(), &Fake::default(), &reported, &AtomicBool::new(false)).unwrap();
        let reported = reported.0.into_inner().unwrap();
        let first = expected.split("; ").next().unwrap();
        assert!(reported.iter().any(|reported| reported.contains(first)), "{reported:?}");
        assert_eq!(content(out.path()), before, "{expected}");
    }
}

#[test]
fn a_share_with_damaged_lines_is_refused_with_its_share() {
    for (damage, expected) in CASES {
        let parent = tempfile::tempdir().unwrap();
        let shares = shards(parent.path(), &plan(), 1);
        change(&shares[0].join("runs.jsonl"), damage);
        let out = parent.path().join("out");
        let message = merge(&shares, &out, Existing::Refuse).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("--shard 1/1`"), "{message}");
        assert!(!out.exists());
    }
}

#[test]
fn a_line_of_another_plan_is_named() {
    let (out, _) = whole();
    let other = tempfile::tempdir().unwrap();
    run(&runner(other.path()), &plan_of(&["third"], VERSION)).unwrap();
    let foreign = fs::read_to_string(other.path().join("runs.jsonl")).unwrap();
    let foreign = foreign.lines().nth(1).unwrap().to_owned() + "\n";
    change(&out.path().join("runs.jsonl"), |lines| lines[4] = foreign);
    let message = Results::read(out.path()).unwrap_err().to_string();
    assert!(
        message.contains("line 5 belongs to the run ") && message.contains("which is not in the plan"),
        "{message}"
    );
    let other_build = tempfile::tempdir().unwrap();
    run(&runner(other_build.path()), &plan_of(&["ok", "other"], "2.0.0")).unwrap();
    fs::copy(other_build.path().join("runs.jsonl"), out.path().join("runs.jsonl")).unwrap();
    let message = Results::read(out.path()).unwrap_err().to_string();
    assert!(message.contains("line 1 has version 2.0.0, and the plan has 1.0.0+"), "{message}");
    assert!(message.contains("; and 10 problems more"), "{message}");

    // As builds before the hashes wrote them.
    let strip = |line: &String| line.split(",\"series_sha256\"").next().unwrap().to_owned() + "}\n";
    change(&out.path().join("runs.jsonl"), |lines| *lines = lines.iter().map(strip).collect());
    let message = Results::read(out.path()).unwrap_err().to_string();
    assert!(message.contains("line 1 has version 2.0.0 and no hash"), "{message}");
    let message = run(&resuming(out.path()), &plan()).unwrap_err().to_string();
    assert!(message.contains("another build of cellcc (2.0.0; this is 1.0.0+"), "{message}");
}

/// It was opened as `series/../../secret.csv`.
#[test]
fn a_forged_id_names_no_file() {
    let (out, _) = whole();
    let forge = |lines: &mut Vec<String>| {
        let (start, end) = (lines[4].find("\"id\":\"").unwrap() + 6, lines[4].find("\",\"version").unwrap());
        lines[4].replace_range(start..end, "../../secret");
    };
    change(&out.path().join("runs.jsonl"), forge);
    let message = Results::read(out.path()).unwrap_err().to_string();
    assert!(message.contains("`../../secret` is not the id of a run"), "{message}");

    let (out, _) = whole();
    let info = out.path().join("run-info.json");
    let text = fs::read_to_string(&info).unwrap();
    let start = text.find("\"plan\": [").unwrap();
    let id = &text[start..].split('"').nth(3).unwrap().to_owned();
    fs::write(&info, text.replace(id.as_str(), "/etc/passwd")).unwrap();
    let message = Results::read(out.path()).unwrap_err().to_string();
    assert!(
        message.contains("run-info.json:") && message.contains("`/etc/passwd` is not the id"),
        "{message}"
    );
}

/// Some damage to a file of a run, and a part of the message about it.
type Spoiled = (fn(&Path), &'static str);

#[test]
fn a_changed_or_missing_file_of_a_run_is_named_and_made_again() {
    let cases: [Spoiled; 2] = [
        (
            |path| fs::write(path, fs::read_to_string(path).unwrap() + "1,1\n").unwrap(),
            "it was changed since",
        ),
        (|path| fs::remove_file(path).unwrap(), "it is missing"),
    ];
    for (spoil, expected) in cases {
        for kind in ["series", "curves"] {
            let (out, before) = whole();
            let id = Results::read(out.path()).unwrap().records[5].id.clone();
            let path = out.path().join(kind).join(format!("{id}.csv"));
            spoil(&path);
            let message = Results::read(out.path()).unwrap_err().to_string();
            assert!(message.starts_with(&format!("{}: {expected}", path.display())), "{message}");
            run(&resuming(out.path()), &plan()).unwrap();
            assert_eq!(content(out.path()), before);
        }
    }
}

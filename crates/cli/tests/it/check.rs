//! `cellcc check`: verdicts, files, exit status.

use crate::common::cellcc;
use std::process::Output;

fn check(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        cellcc(&std::env::temp_dir()).arg("check").args(arguments).arg("--quiet").output().unwrap();
    let text = if stdout.is_empty() { stderr } else { stdout };
    (status.code(), String::from_utf8(text).unwrap())
}

/// docs/evidence/check/README.md has the causes.
#[test]
fn bbr3_does_what_its_draft_says_but_for_seven_cases() {
    let (status, text) = check(&["bbr3", "--suite", "bbr"]);
    let with = |word: &str| {
        let lines = text.lines().filter(|line| line.starts_with(word));
        let words = lines.filter_map(|line| line.split_whitespace().nth(1));
        let mut cases: Vec<&str> = words.map(|word| word.trim_end_matches(':')).collect();
        cases.dedup();
        cases
    };
    assert_eq!(
        with("FAIL"),
        ["bbr/4", "bbr/5", "bbr/9", "bbr/14", "bbr/15", "bbr/15-bound", "bbr/16-loss"],
        "{text}"
    );
    assert_eq!((with("SKIP"), with("ERROR"), status), (vec![], vec![], Some(1)), "{text}");
    assert!(text.contains("  cellcc check 'bbr3' --case bbr/15 --driver sim"), "{text}");
}

#[test]
fn what_the_application_does_in_the_midst_of_a_phase_is_judged_in_quic_as_well() {
    let cases = ["--case", "bbr/2", "--case", "bbr/6", "--case", "bbr/22", "--driver", "quic-virtual"];
    let (status, text) = check(&[&["bbr3"][..], &cases].concat());
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("3 cases: 3 pass"), "{text}");
}

#[test]
fn noqs_own_are_judged_by_what_they_show() {
    let (status, text) = check(&["noq:newreno", "--case", "newreno/cut", "--case", "bbr/3"]);
    assert_eq!(status, Some(0), "{text}");
    // A formula alone does not explain its test.
    let case = "newreno/cut: A loss halves the window, once\nPASS  newreno/cut abs(ssthresh_pkt";
    assert!(text.contains(case), "{text}");
    assert!(text.contains("SKIP  bbr/3 ") && text.contains("`state` is not shown"), "{text}");
}

#[test]
fn what_failed_before_is_no_failure_and_what_is_new_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let (before, xml) = (folder.path().join("before.json"), folder.path().join("a.xml"));
    let case = ["cubic", "--case", "rfc9743/bufferbloat"];
    let (status, json) = check(&[&case[..], &["--format", "json"]].concat());
    assert_eq!(status, Some(1), "{json}");
    std::fs::write(&before, &json).unwrap();
    let baseline = ["--baseline", before.to_str().unwrap(), "--junit", xml.to_str().unwrap()];
    let (status, text) = check(&[&case[..], &baseline].concat());
    assert_eq!(status, Some(0), "{text}");
    assert!(std::fs::read_to_string(&xml).unwrap().contains("<failure message="));
    std::fs::write(&before, json.replace("\"fail\"", "\"pass\"")).unwrap();
    assert_eq!(check(&[&case[..], &baseline].concat()).0, Some(1));
}

/// A required check was green where each of its cases had been skipped.
#[test]
fn a_required_check_that_judges_nothing_fails_whatever_the_baseline_says() {
    let folder = tempfile::tempdir().unwrap();
    let (before, xml) = (folder.path().join("before.json"), folder.path().join("a.xml"));
    let case = ["noq:newreno", "--case", "bbr/3"];
    let (status, text) = check(&case);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.ends_with("1 skipped, 0 errors; none was judged by quic-virtual\n"), "{text}");
    let required = [&case[..], &["--require"]].concat();
    let (status, json) = check(&[&required[..], &["--format", "json"]].concat());
    assert_eq!(status, Some(1), "{json}");
    std::fs::write(&before, &json).unwrap();
    let baseline = ["--baseline", before.to_str().unwrap(), "--junit", xml.to_str().unwrap()];
    let (status, text) = check(&[&required[..], &baseline].concat());
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains("0 skipped, 1 errors; none was judged by quic-virtual; 0 conditions worse"),
        "{text}"
    );
    assert!(std::fs::read_to_string(&xml).unwrap().contains("<error message="));
    let (status, text) = check(&["noq:newreno", "--case", "newreno/cut", "--case", "bbr/3", "--require"]);
    assert_eq!(status, Some(0), "one is judged: {text}");
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    for (arguments, expected) in [
        (&["nosuch"][..], "`nosuch`"),
        (&["noq:nosuch"], "`noq:nosuch`"),
        (&["noq:cubic", "--driver", "sim"], "write --driver quic-virtual"),
        (&["kernel:bbrr"], "did you mean `bbr`?"),
        (&["kernel:bbrr", "--require"], "kernel:bbrr: neither Linux nor cellcc"),
        (&["cubic", "--suite", "bbbr"], "did you mean `bbr`?"),
        (&["cubic", "--case", "bbr/99"], "case `bbr/99` is not there"),
        (&["cubic", "--driver", "nosuch"], "--driver nosuch"),
        (&["cubic", "--baseline", "nosuch.json"], "--baseline nosuch.json"),
        (&["cubic", "--suite", "cubic", "--case", "bbr/1"], "leave the names of either out"),
    ] {
        let (status, text) = check(arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: `{expected}` is not in: {text}");
    }
}

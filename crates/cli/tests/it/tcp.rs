//! `cellcc tcp`, as far as it loads nothing: that is tested in `cellcc-kernel`.

use crate::common::cellcc;
use cellcc_control::event_log::StepWriter;
use std::fs;
use std::path::Path;

/// The message if another program has loaded schemes meanwhile: their names are the whole machine's.
const ELSEWHERE: &str = "in the kernel, but not in none";

/// Exit status, standard output and standard error.
fn ran(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = cellcc(folder).arg("tcp").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn bad_input_is_refused_before_anything_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("foreign"), "text").unwrap();
    for (arguments, expected) in [
        (&["load", "nonesuch"][..], "cellcc_reminis"),
        (&["load", "reminis(dtt=40)"], "dtt=40"),
        (&["load", "reminis(aimd=off)"], "the kernel's cellcc_reminis has no aimd=off"),
        (&["load", "c2tcp(target=60)"], "target takes a time such as 40ms"),
        (&["load", "westwood(profile=v1)"], "profile takes paper, linux"),
        (&["load", "tide(delay=5)"], "delay takes a time from 500us to 1s"),
        (&["load", "tide(preset=fast)"], "preset takes default, interactive, bulk"),
        (&["load", "cellcc_vegas(dtt=40ms)", "--pins", "none"], "`vegas` has no parameter `dtt`"),
        (&["load", "cellcc_reminis(dtt=40)"], "a time such as 40ms"),
        (&["load", "cellcc_natcp(alpha=0)"], "0.1 to 100"),
        (&["set", "cellcc_reminis", "--pins", "none"], "as in 'cellcc_reminis(dtt=1.5x,"),
        (&["set", "cellcc_c2tcp(target=60)", "--pins", "none"], "target takes a time such as 40ms"),
        (&["set", "c2tcp(dtt=60ms)", "--pins", "none"], "it has profile, target, alpha, tuner"),
        (&["set", "reminis(aimd=off)", "--pins", "none"], "the kernel's cellcc_reminis has no aimd=off"),
        (&["load", "verus"], "it runs in user space only, as with `cellcc serve --scheme verus`"),
        (&["load", "cubic"], "Linux has it as `cubic`"),
        (&["load", "cellcc_remini"], "did you mean `cellcc_reminis`?"),
        (&["load", "remini(dtt=40ms)"], "did you mean `reminis`?"),
        (&["route", "add", "10.0.0.0", "cellcc_reminis"], "10.45.0.0/16"),
        (&["route", "add", "10.45.9.7/24", "cellcc_reminis"], "write 10.45.9.0/24 for all of them"),
        (&["route", "del", "10.45.9.7/24"], "10.45.9.7/32 for the one"),
        (&["verify", "foreign"], "foreign: this is not a recorded event log"),
        (&["verify", "missing"], "missing: cannot be read"),
    ] {
        let (status, _, message) = ran(folder.path(), arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn what_cannot_be_done_is_a_failure_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["set", "cellcc_reminis(dtt=2x)", "--pins", "none"][..], "cellcc tcp load"),
        (&["unload", "cellcc_reminis", "--pins", "none"], "is not loaded"),
        (&["upgrade", "cellcc_reminis", "--pins", "none"], ""),
        (&["record", "capture", "--pins", "none"], "nothing is loaded"),
    ] {
        let (status, _, message) = ran(folder.path(), arguments);
        assert_eq!(status, Some(1), "{arguments:?}: {message}");
        let says_why = message.contains(expected) || message.contains(ELSEWHERE);
        assert!(message.starts_with("error: ") && says_why, "{arguments:?}: {message}");
    }
    assert!(!folder.path().join("capture").exists(), "nothing was recorded");
}

#[test]
fn replay_records_and_repeats_decisions_of_the_kernel_also_by_its_names_before() {
    let folder = tempfile::tempdir().unwrap();
    let capture = fs::File::create(folder.path().join("capture")).unwrap();
    drop(StepWriter::new(Box::new(capture), "cellcc_reminis"));
    let replay = |words: &[&str]| {
        let output = cellcc(folder.path()).args(words).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), text)
    };
    for words in [&["replay", "capture"][..], &["tcp", "verify", "capture"]] {
        assert_eq!(replay(words), (Some(0), "identical: no step\n".into()), "{words:?}");
    }
    let (status, json) = replay(&["replay", "capture", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, &answer["recorded_scheme"]), (Some(0), &"cellcc_reminis".into()), "{answer:#}");
    let (status, message) = replay(&["replay", "capture", "--dump"]);
    assert!(status == Some(2) && message.contains("capture: --scheme and --dump are for"), "{message}");
    let (status, message) = replay(&["replay", "record", "new", "--pins", "none"]);
    let says_why = message.contains("nothing is loaded") || message.contains(ELSEWHERE);
    assert!(status == Some(1) && says_why && !folder.path().join("new").exists(), "{message}");
}

#[test]
fn where_nothing_is_loaded_the_status_is_an_empty_list() {
    let folder = tempfile::tempdir().unwrap();
    let says_why = |message: &str| message.contains("nothing is loaded") || message.contains(ELSEWHERE);
    let (status, listed, message) = ran(folder.path(), &["status", "--pins", "none", "--format", "json"]);
    assert_eq!((status, listed.trim()), (Some(0), "[]"));
    assert!(says_why(&message), "{message}");
    // An ordinary user may not list sockets.
    let (_, _, message) = ran(folder.path(), &["watch", "--once", "--pins", "none"]);
    assert!(says_why(&message), "{message}");
}

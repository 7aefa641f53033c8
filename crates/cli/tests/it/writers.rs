//! Files that commands write: whole or not at all, never through a link, and to pipes and devices as they are.

use crate::common::cellcc;
use cellcc_test_support::skip;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Results, and a log of a link.
fn inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--schemes", "cubic", "--traces", "3g", "--duration", "1s", "--out", "out"];
    cellcc(folder.path()).arg("compare").args(small).assert().success();
    let log = "# base timestamp: 0\n0 # 1504\n1 + 1504\n5 # 1504\n5 - 1504 4\n900 # 1504\n";
    fs::write(folder.path().join("link.log"), log).unwrap();
    folder
}

/// Each command that writes a file, in a folder next to the inputs, without `--out` of results: those have tests of their own.
const WRITERS: [&str; 13] = [
    "plot ../out --x rtt-p95 --out p.svg",
    "plot ../out --x rtt-p95 --out p.pdf",
    "plot ../out --x rtt-p95 --out p.png",
    "export ../out --out . --csv",
    "export ../out --out .",
    "trace convert 3g t.mbps --force",
    "trace convert 3g t.mahi.gz --force",
    "trace convert 3g t.csv.xz --force",
    "explain 3g --duration 2s --figure e.svg",
    "check newreno --quiet --case newreno/cut --junit j.xml",
    "graph ../link.log",
    "man --out .",
    "compare --schemes cubic --traces 3g --duration 1s --events . --out ../other --force",
];

/// Runs a script that may mount, with the command as `$0`; `None` if this machine forbids it.
#[cfg(target_os = "linux")]
pub(crate) fn with_mounts(folder: &Path, script: &str) -> Option<Output> {
    let run = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]);
        command.arg(assert_cmd::cargo::cargo_bin!("cellcc")).current_dir(folder).output()
    };
    if !run("mount -t tmpfs none /mnt").is_ok_and(|tried| tried.status.success()) {
        skip("no tmpfs can be mounted in a namespace");
        return None;
    }
    Some(run(script).unwrap())
}

/// Empty or torn files stayed under their final names, and CI found a report of tests.
#[cfg(target_os = "linux")]
#[test]
fn on_a_full_disk_no_file_is_left_of_any_writer() {
    let folder = inputs();
    fs::create_dir(folder.path().join("disk")).unwrap();
    for writer in WRITERS {
        let script = format!(
            "mount -t tmpfs -o size=64k none disk && cd disk && head -c 64k /dev/zero >full && $0 {writer}; \
             echo \"status $?\"; ls -A"
        );
        let Some(Output { stdout, stderr, .. }) = with_mounts(folder.path(), &script) else { return };
        let (left, message) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
        let failed = left.contains("status 1\nfull\n") || left.contains("status 2\nfull\n");
        assert!(failed && left.ends_with("\nfull\n"), "{writer}: {left}{message}");
        assert!(message.contains("No space left on device"), "{writer}: {message}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_file_is_replaced_and_what_it_leads_to_stays() {
    let folder = inputs();
    for (number, writer) in WRITERS.iter().enumerate() {
        let path = |name: &str| folder.path().join(format!("{number}/{name}"));
        fs::create_dir_all(path("theirs")).unwrap();
        let run = || cellcc(&path("")).args(writer.split(' ')).assert();
        run().success();
        let files =
            fs::read_dir(path("")).unwrap().flatten().map(|file| file.file_name().into_string().unwrap());
        let files: Vec<String> = files.filter(|name| name != "theirs").collect();
        assert!(!files.is_empty(), "{writer}");
        for file in &files {
            fs::remove_file(path(file)).unwrap();
            fs::write(path(&format!("theirs/{file}")), "theirs").unwrap();
            std::os::unix::fs::symlink(format!("theirs/{file}"), path(file)).unwrap();
        }
        run().success();
        for file in &files {
            assert_eq!(fs::read_to_string(path(&format!("theirs/{file}"))).unwrap(), "theirs", "{writer}");
            assert!(path(file).symlink_metadata().unwrap().is_file(), "{writer}: {file}");
        }
    }
}

/// As root, a rename would take them from the whole machine.
#[cfg(target_os = "linux")]
#[test]
fn pipes_and_devices_are_written_to_and_stay_what_they_are() {
    let folder = inputs();
    let shell = |script: &str| {
        let command = assert_cmd::cargo::cargo_bin!("cellcc");
        let output =
            Command::new("bash").args(["-c", script]).arg(command).current_dir(folder.path()).output();
        let Output { status, stdout, stderr } = output.unwrap();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    };
    let before =
        ["/dev/stdout", "/dev/null", "/dev/full"].map(|path| fs::symlink_metadata(path).unwrap().file_type());
    // Standard output is no file name with an extension.
    let (_, printed, said) = shell("$0 explain 3g --duration 2s --figure /dev/stdout | cat");
    assert!(printed.contains("<svg ") && printed.contains("at 0.90"), "{said}");
    let (_, printed, said) =
        shell("$0 check newreno -q --case newreno/cut --junit >(cat >&2) >/dev/null; sleep 1");
    assert!(printed.is_empty() && said.contains("<testsuites>"), "{said}");
    let (_, _, said) = shell(
        "mkfifo p.svg; cat p.svg >got & $0 plot out --x rtt-p95 --out p.svg; wait; test -p p.svg && wc -c <got >&2",
    );
    let bytes = said.lines().last().and_then(|count| count.trim().parse::<u32>().ok());
    assert!(bytes.is_some_and(|bytes| bytes > 1000), "{said}");
    assert_eq!(shell("$0 explain 3g --duration 2s --figure /dev/null").0, Some(0));
    let (status, _, said) = shell("$0 explain 3g --duration 2s --figure /dev/full");
    assert!(status == Some(1) && said.contains("cannot write /dev/full: No space left"), "{said}");
    // It was replaced by the file that came.
    let (status, _, said) = shell("$0 get quic://127.0.0.1:9/file --insecure --out /dev/stdout");
    assert!(status != Some(0), "{said}");
    let after =
        ["/dev/stdout", "/dev/null", "/dev/full"].map(|path| fs::symlink_metadata(path).unwrap().file_type());
    assert_eq!(after, before);
}

/// It named an option that `report` has not.
#[cfg(target_os = "linux")]
#[test]
fn the_table_of_a_folder_that_cannot_be_written_is_printed() {
    let folder = inputs();
    let script = "mount --bind out out && mount -o remount,bind,ro out && $0 report out";
    let Some(Output { status, stdout, stderr }) = with_mounts(folder.path(), script) else { return };
    let (table, message) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success() && table.contains(" cubic "), "{table}{message}");
    assert!(
        message.starts_with("the table alone, no figures and no report: cannot write to out"),
        "{message}"
    );
}

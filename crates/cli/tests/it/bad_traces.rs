//! Traces that are bad, missing, or of one name: messages that name file and line, and exit status 2.

use crate::bad_input::{compare_refused, refused_in};
use crate::common::cellcc;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;

fn trace_refused(name: &str, content: &[u8], expected: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), content).unwrap();
    for arguments in
        [&["compare", "--traces", name][..], &["trace", "info", name], &["compare", "--traces", "."]]
    {
        refused_in(folder.path(), arguments, expected);
    }
}

#[test]
fn traces_that_are_none_are_refused_by_file_and_line() {
    trace_refused("empty.mbps", b"", &["empty.mbps", "is empty"]);
    trace_refused("binary.mahi", &[0, 159, 146, 150, 255], &["binary.mahi", "is not text"]);
    trace_refused("decreasing.mahi", b"5\n9\n3\n", &["decreasing.mahi:3", "time 3 ms follows 9 ms"]);
    trace_refused("decreasing.mbps", b"0 5\n2 5\n1 5\n", &["decreasing.mbps:3"]);
    trace_refused("negative.mbps", b"0 5\n1 -3\n", &["negative.mbps:2", "`-3`"]);
    trace_refused("nan.mbps", b"0 NaN\n", &["nan.mbps:1", "`NaN`"]);
    trace_refused("infinite.mbps", b"0 5\n1 inf\n", &["infinite.mbps:2", "`inf`"]);
    trace_refused("zero.mbps", b"0 0\n1 0\n", &["zero.mbps", "never carries"]);
    trace_refused("flat.txt", b"20000\n20000\n", &["flat.txt,as=mahimahi", "flat.txt,as=kbit/s@100ms"]);
    trace_refused("words.csv", b"a,b\n1,2\n", &["words.csv", "column"]);
}

#[test]
fn a_gzip_file_that_was_cut_off_is_refused() {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    (0..2000).for_each(|second| writeln!(encoder, "{second} {}", second * 7 % 31).unwrap());
    let whole = encoder.finish().unwrap();
    trace_refused("cut.mbps.gz", &whole[..whole.len() / 2], &["cut.mbps.gz", "gzip", "cut off"]);
}

#[test]
fn traces_that_are_not_there_are_refused() {
    compare_refused(&["--traces", "no/such.mbps"], &["no/such.mbps", "cannot be read"]);
    compare_refused(&["--traces", "no-such-link"], &["no-such-link"]);
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("none")).unwrap();
    fs::write(folder.path().join("none/README.md"), "Traces").unwrap();
    refused_in(
        folder.path(),
        &["compare", "--traces", "none"],
        &["the folder none and the folders in it hold no trace"],
    );
}

#[test]
fn traces_of_one_file_name_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    for (name, rate) in [("a", 1), ("b", 2)] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("x.mbps"), format!("0 {rate}\n")).unwrap();
    }
    let printed = |arguments: &[&str]| {
        let output =
            cellcc(folder.path()).args(arguments).args(["a/x.mbps", "b/x.mbps", "3g"]).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    };
    let named = |text: &str| ["a/x.mbps", "b/x.mbps"].iter().all(|name| text.contains(name));
    let info = printed(&["trace", "info", "--format", "csv"]);
    assert!(named(&info) && info.contains("\n3g,"), "{info}");
    let runs = ["compare", "--schemes", "cubic", "--duration", "1s", "--quiet"];
    for format in ["csv", "json", "table"] {
        let out = format!("out-{format}");
        let text = printed(&[&runs[..], &["--format", format, "--out", &out, "--traces"]].concat());
        assert!(named(&text), "{text}");
    }
}

#[test]
fn conversions_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.mahi"), "1\n2\n").unwrap();
    let refused = |arguments: &[&str], expected: &[&str]| {
        refused_in(folder.path(), &[&["trace", "convert"], arguments].concat(), expected);
    };
    refused(&["a.mahi", "b.txt"], &["b.txt", ".mbps"]);
    refused(&["a.mahi", "a.mahi"], &["a.mahi is there already", "--replace"]);
    refused(&["a.mahi", "b.mbps", "--bin", "0ms"], &["--bin", "100ms"]);
    refused(&["rate=1Mbit/s", "b.mbps"], &["--duration"]);
    refused(&["a.mahi", "none/b.mbps"], &["none/b.mbps"]);
}

//! `tools/docs-check`, on a page of its own.

use crate::common::cellcc;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const RUN: &str = "cellcc compare --schemes 'fixed-window(window={10pkt,20pkt})' --traces 12Mbit/s --rtt 20ms --duration 2s";

fn docs_check(page: &Path) -> Output {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/docs-check");
    let program = assert_cmd::cargo::cargo_bin("cellcc");
    Command::new("python3").arg(tool).arg(page).env("CELLCC", program).output().unwrap()
}

/// A page with a table, of which a cell is checked twice, and a block.
fn page(throughput: &str, rtt: &str, schemes: &str) -> String {
    format!(
        "# Results\n\n<!-- checked: {RUN}\nrows: fixed-window(window=10pkt) | -\n\
         columns: - | throughput_mbit_s rtt_mean_ms -->\n<!-- unchecked: no reason -->\n\n\
         | window | Mbit/s, ms |\n|---|---|\n| 10 | {throughput}, **{rtt}** (paper: 7) |\n| 20 | by hand |\n\n\
         <!-- checked: cellcc schemes | head -n 1 -->\n```\n{schemes}\n```\n"
    )
}

#[test]
fn a_figure_that_drifted_is_named_with_its_line_and_what_it_is_now() {
    if Command::new("python3").arg("--version").output().is_err() {
        cellcc_test_support::skip("no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.md");
    let schemes = cellcc(folder.path()).arg("schemes").output().unwrap();
    let schemes = String::from_utf8(schemes.stdout).unwrap().lines().next().unwrap().to_owned();
    // Ten packets of 1500 bytes in 20 ms and a packet's millisecond; the first round is without data.
    for (text, status, expected) in [
        (page("5.7", "21.0", &schemes), 0, vec!["0 figures drifted in the last digit, 0 further"]),
        (page("5.8", "21.0", &schemes), 1, vec!["last digit: ", "page.md:10: ", "5.8 in the text, 5.7"]),
        (page("5.7", "42.0", &schemes), 1, vec!["DRIFTED: ", "page.md:10: ", "42.0 in the text, 21.0"]),
        (page("5.7", "21.0", "something else"), 1, vec!["page.md:15:", "something else", &schemes]),
        (
            page("5.7", "21.0", &schemes).replace("rows: fixed", "rows: broken"),
            1,
            vec!["gives no such figure"],
        ),
        (
            page("5.7", "21.0", &schemes).replace("| -\n", "\n"),
            2,
            vec!["1 rows in the comment, 2 in the table"],
        ),
    ] {
        fs::write(&path, &text).unwrap();
        let output = docs_check(&path);
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{text}\n{said}");
        expected.iter().for_each(|part| assert!(said.contains(part), "`{part}`: {said}"));
    }
}

#[test]
fn a_ratio_may_be_to_what_a_scheme_does_under_another_condition() {
    if Command::new("python3").arg("--version").output().is_err() {
        cellcc_test_support::skip("no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("scenario.toml");
    let text = "schemes = ['fixed-window(window=10pkt)']\ntraces = ['rate=100Mbit/s']\nduration = '4s'\n\
                [vary]\n'path.rtt' = ['20ms', '40ms']\n";
    fs::write(&scenario, text).unwrap();
    let page = folder.path().join("page.md");
    // Ten packets in twice the time. The ratio to the scheme under the same condition would be 1.
    for (shown, status) in [("0.50", 0), ("1.00", 1)] {
        let text = format!(
            "<!-- checked: cellcc compare --scenario {}\nrows: path.rtt=40ms\n\
             columns: - | throughput_mbit_s/fixed-window(window=10pkt)[path.rtt=20ms] -->\n\n\
             | RTT | of 20 ms |\n|---|---|\n| 40 ms | {shown} |\n",
            scenario.display()
        );
        fs::write(&page, text).unwrap();
        let output = docs_check(&page);
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{shown}: {said}");
    }
}

#[test]
fn means_over_traces_are_compared_with_the_interval_of_that() {
    if Command::new("python3").arg("--version").output().is_err() {
        cellcc_test_support::skip("no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    // Twenty packets fill 8 Mbit/s; of 100 Mbit/s they are twice as much as ten, and a third of the way to forty.
    let checked = "cellcc compare --schemes 'fixed-window(window={10pkt,20pkt,40pkt})' --traces 8Mbit/s 100Mbit/s --rtt 20ms \
                   --duration 4s";
    let (key, ten) = ("throughput_mbit_s", "fixed-window(window=10pkt)");
    let way = format!("{ten}..fixed-window(window=40pkt)");
    for (shown, status) in [
        ("1.72 | 1.73 (1.43 to 2.00) | 0.41 (0.33 to 1.00)", 0),
        ("1.72 | 1.72 (1.43 to 2.00) | 0.41 (0.33 to 1.00)", 1),
        ("1.72 | 1.73 (1.50 to 2.00) | 0.41 (0.33 to 1.00)", 1),
        ("1.72 | 1.73 (1.43 to 2.00) | 0.50 (0.33 to 1.00)", 1),
        ("1.72 | 1.73 (1.43 to 2.00) | 0.41 (0.33)", 1),
    ] {
        let text = format!(
            "<!-- checked: {checked}\nrows: fixed-window(window=20pkt)\ncolumns: - | {key}/{ten} | \
             means:{key}/{ten} interval:means:{key}/{ten} | gap:{key}/{way} interval:gap:{key}/{way} -->\n\n\
             | window | ratios | of the means | of the way |\n|---|---|---|---|\n| 20 | {shown} |\n"
        );
        fs::write(&page, text).unwrap();
        let output = docs_check(&page);
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{shown}: {said}");
    }
}

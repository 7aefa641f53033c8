//! The report in headless Chromium without a network.

use crate::fabricated;
use crate::transfers::transfers;
use cellcc_experiment::Record;
use cellcc_report::html;
use cellcc_test_support::skip;
use cellcc_units::Span;
use std::path::Path;
use std::process::{Command, Stdio};

/// Collects errors of the page's own scripts from before they run.
const COLLECT: &str = "<script>const collectedErrors = [];\
    addEventListener('error', (event) => collectedErrors.push(event.message));\
    for (const kind of ['error', 'warn']) console[kind] = (...words) => collectedErrors.push(words.join(' '));\
    </script>";

const NAMES: [&str; 2] = ["chromium", "chromium-browser"];

fn chromium() -> Option<&'static str> {
    NAMES.into_iter().find(|name| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    })
}

/// The page as Chromium has it after its scripts ran.
fn open(chromium: &str, page: &Path, width: u32, link: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        // No name resolves, and what has no name goes to a proxy that is not there.
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--proxy-server=127.0.0.1:9",
            "--disable-background-networking",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},900"))
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("file://{}{link}", page.display()))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What `script`, added to the report of these Records, leaves in `data-selftest` at this width of the window.
fn check(records: &[Record], script: &str, width: u32) {
    check_link(records, script, width, "");
}

/// The same of a page that is opened with a `link` behind its address.
fn check_link(records: &[Record], script: &str, width: u32, link: &str) {
    let Some(chromium) = chromium() else {
        return skip("chromium is not installed (apt-get install chromium)");
    };
    let page = html("A report", records, Some("cubic")).replacen("<style>", &format!("{COLLECT}<style>"), 1);
    let (page, end) = page.rsplit_once("</body>").unwrap();
    let page = format!("{page}<script>{script}</script></body>{end}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    let dom = open(chromium, &file, width, link);
    let result = dom.split_once("data-selftest=\"").and_then(|(_, rest)| rest.split_once('"'));
    assert_eq!(result.map(|(result, _)| result), Some("passed"), "{} characters of page", dom.len());
}

fn selftest(width: u32) {
    let schemes = ["limit", "cubic", "bbr", "reminis(</script><b>)"];
    let records = fabricated::records(&schemes, &["walk", "drive"], &[1, 2], Span::from_secs(20));
    check(&records, include_str!("selftest.js"), width);
}

#[test]
fn a_varied_condition_and_curves_have_their_figures() {
    let mut records = fabricated::varied(&["limit", "cubic", "bbr"], &["walk"], &["33pkt", "65pkt"]);
    fabricated::add_curves(&mut records, "bbr", 20);
    for width in [1280, 390] {
        check(&records, include_str!("varied.js"), width);
    }
}

/// Labels used to cover each other, and the last columns of the table to be out of sight on a desktop.
#[test]
fn long_names_are_not_cut_and_cover_nothing() {
    let schemes = [
        "limit",
        "cubic",
        "verus(preset=reference, r=2, loss-timer=100ms)",
        "verus(preset=robust, r=4, loss-timer=200ms)",
        "reminis(dtt=40ms, profile=following)",
    ];
    let traces = fabricated::trace_names(16);
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    let records = fabricated::records(&schemes, &traces, &[1], Span::from_secs(5));
    for width in [1400, 390] {
        check(&records, include_str!("long_names.js"), width);
    }
}

/// The first figure was empty.
#[test]
fn transfers_of_unknown_links_have_a_figure() {
    for width in [1400, 390] {
        check(&transfers(&["cubic", "bbr"]), include_str!("transfers.js"), width);
    }
}

/// None of this was possible.
#[test]
fn runs_are_sorted_filtered_and_chosen_by_a_click() {
    let records =
        fabricated::records(&["limit", "cubic", "bbr"], &["walk", "drive"], &[1], Span::from_secs(5));
    for width in [1400, 390] {
        check(&records, include_str!("runs.js"), width);
    }
}

#[test]
fn a_link_shows_what_was_chosen_when_it_was_copied() {
    let records =
        fabricated::records(&["limit", "cubic", "bbr"], &["walk", "drive"], &[1], Span::from_secs(5));
    let link = "#view=drive&series=drive&delay=queueing&filter=drive&sort=0,1&from=1&to=3&only=bbr";
    check_link(&records, include_str!("link.js"), 1400, link);
    // What is not there is not chosen.
    check_link(
        &records,
        "document.body.dataset.selftest = collectedErrors.join() || 'passed';",
        1400,
        "#view=x&only=y&sort=z",
    );
}

#[test]
fn the_report_works_in_a_window_of_a_desktop() {
    selftest(1280);
}

#[test]
fn the_report_works_in_a_window_of_a_phone() {
    selftest(390);
}

//! The report in headless Chromium without a network.

use crate::fabricated;
use crate::transfers::transfers;
use cellcc_experiment::Record;
use cellcc_report::{Report, html};
use cellcc_test_support::{needs_punctuality, skip};
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

/// As high as any page: a chart far from the window is not drawn.
const HIGH: u32 = 12_000;

/// Far longer than a page takes on a busy machine, in seconds. Once Chromium printed its page, and did not end.
const HANG_TIMEOUT: &str = "120";

/// The page as Chromium has it after its scripts ran; none: it did not end.
fn open(chromium: &str, page: &Path, [width, height]: [u32; 2], link: &str) -> Option<String> {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("timeout")
        .args(["--signal=KILL", HANG_TIMEOUT, chromium])
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        // No name resolves, and addresses without a name go to a proxy that is not there.
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--proxy-server=127.0.0.1:9",
            "--disable-background-networking",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},{height}"))
        .args(["--virtual-time-budget=120000", "--dump-dom"])
        .arg(format!("file://{}{link}", page.display()))
        // One that is killed leaves a folder there.
        .env("TMPDIR", profile.path())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).ok().filter(|page| !page.is_empty())
}

/// The text that `script`, added to the report of these Records, leaves in `data-selftest` at this width of the window.
fn check(records: &[Record], script: &str, width: u32) {
    check_link(records, script, width, "");
}

/// Checks a page that is opened with a `link` behind its address.
fn check_link(records: &[Record], script: &str, width: u32, link: &str) {
    check_files(&[("report.html", html("A report", records, Some("cubic")))], script, width, link);
}

/// Checks these files in a folder.
fn check_files(files: &[(&str, String)], script: &str, width: u32, link: &str) {
    check_window(files, script, [width, HIGH], link);
}

/// Runs `script` half a second after the first figure was drawn, in the page or in a frame of it. A figure is drawn once the
/// browser has seen that it is in the window, which no moment guarantees on a busy machine.
const WHEN_DRAWN: &str = "const whenDrawn = (script, tries = 40) => {
        const pages = [document, ...[...document.querySelectorAll('iframe')].map((frame) => frame.contentDocument)];
        const drawn = pages.some((page) => page?.querySelector('[data-slot] .chart svg'));
        if (drawn || tries === 0) setTimeout(script, 500);
        else setTimeout(() => whenDrawn(script, tries - 1), 100);
    };";

/// Checks in a window of this width and height.
fn check_window(files: &[(&str, String)], script: &str, window: [u32; 2], link: &str) {
    let Some(chromium) = chromium() else {
        return skip("chromium is not installed (apt-get install chromium)");
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let file = folder.path().join("report.html");
    let page = std::fs::read_to_string(&file).unwrap().replacen("<style>", &format!("{COLLECT}<style>"), 1);
    let (page, end) = page.rsplit_once("</body>").unwrap();
    let script = format!("{WHEN_DRAWN}\nwhenDrawn(() => {{{script}\n}});");
    std::fs::write(&file, format!("{page}<script>{script}</script></body>{end}")).unwrap();
    let open = || open(chromium, &file, window, link);
    // On a busy machine the browser's clock runs ahead of its display: then a figure is not drawn although it is near.
    needs_punctuality(|| {
        let dom = open().or_else(open).expect("Chromium ends");
        let result = dom.split_once("data-selftest=\"").and_then(|(_, rest)| rest.split_once('"'));
        assert_eq!(result.map(|(result, _)| result), Some("passed"), "{} characters of page", dom.len());
    });
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

#[test]
fn two_varied_conditions_with_many_values_each_have_heat_maps() {
    check(&fabricated::heat(), include_str!("heat.js"), 1280);
}

/// Half of a sweep's rows were hidden in a box that scrolled, and no control chose a condition.
#[test]
fn the_conditions_of_a_sweep_are_picked_its_summary_sorts_and_its_rows_lead_to_their_figures() {
    let schemes = ["limit", "cubic", "bbr", "vegas"];
    let (queues, rtts) = (["33pkt", "65pkt", "130pkt"], ["20ms", "40ms", "80ms"]);
    let records = fabricated::varied_twice(&schemes, &["walk", "drive"], &queues, &rtts);
    for width in [1400, 900, 390] {
        check(&records, include_str!("pickers.js"), width);
    }
    let linked = "const rows = [...document.querySelectorAll('#summary tbody tr')].filter((row) => !row.hidden);
        const seen = [rows.length, ...[...document.querySelectorAll('#varied select')].map((select) => select.selectedOptions[0].text)];
        const sorted = document.querySelector('#summary [aria-sort=ascending]')?.textContent;
        document.body.dataset.selftest = seen.join() === '10,65pkt,all' && sorted === 'Scheme' ? 'passed' : `${seen}, ${sorted}`;";
    check_link(&records, linked, 1400, "#path.queue=65pkt&path.rtt=all&order=0,1");
}

/// The best and the worst cells of a heat map on a dark screen had a contrast of 4.1, and their key of 2.1.
#[test]
fn every_text_has_contrast_on_a_light_and_on_a_dark_screen() {
    let schemes = ["limit", "cubic", "bbr", "vegas", "newreno"];
    let records = fabricated::records(&schemes, &["walk", "drive"], &[1], Span::from_secs(5));
    check(&records, include_str!("contrast.js"), 1400);
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

/// Some points had no name, and nothing said so.
#[test]
fn every_scheme_has_its_name_in_a_crowd() {
    let crowd = |count: usize| -> Vec<String> {
        let alike = (1..=count).map(|dtt| format!("reminis(dtt={dtt}ms)"));
        ["limit", "cubic", "bbr", "vegas"].into_iter().map(str::to_owned).chain(alike).collect()
    };
    for (count, width) in [(16, 1400), (16, 390), (40, 1400)] {
        let schemes = crowd(count);
        let schemes: Vec<&str> = schemes.iter().map(String::as_str).collect();
        let records = fabricated::records(&schemes, &["walk", "drive"], &[1], Span::from_secs(5));
        check(&records, include_str!("crowd.js"), width);
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

/// Twenty schemes on sixty traces: it had time series of four traces, none of values inside schemes, and 16,500 pixels.
#[test]
fn a_page_of_twenty_schemes_on_sixty_traces_has_all_series_and_takes_3_mb_at_most() {
    let schemes: Vec<String> = ["limit", "cubic", "bbr", "vegas", "newreno"]
        .into_iter()
        .map(str::to_owned)
        .chain((1..=16).map(|dtt| format!("reminis(dtt={dtt}0ms)")))
        .collect();
    let schemes: Vec<&str> = schemes.iter().map(String::as_str).collect();
    let traces = fabricated::trace_names(60);
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    let records = fabricated::records(&schemes, &traces, &[1], Span::from_secs(10));
    let files = Report::new("Large", &records, "cubic").files();
    let file = |name: &str| files.iter().find(|file| file.name == name).unwrap().content.clone();
    let (page, series) = (file("report.html"), file("report-series.js"));
    assert!(page.len() <= 3_000_000, "{} bytes", page.len());
    assert!(!page.contains("of 60 traces, spread"), "in a folder, nothing is left out");
    let info = r#"cellccPart({"info": {"started": "2026-11-24T20:00:00Z", "command": ["cellcc", "compare", "--title", "A b"],
        "host": {"os": "linux", "arch": "x86_64", "cpus": 4}, "jobs": 2, "wall_time_s": 12.5}});"#;
    let whole = [("report.html", page.clone()), ("report-series.js", series), ("run-info.js", info.into())];
    for width in [1400, 390] {
        check_files(&whole, include_str!("large.js"), width, "#series=007-driving");
    }
    check_files(&whole[..1], include_str!("alone.js"), 1400, "#series=007-driving");
    check_window(&whole, include_str!("lazy.js"), [1400, 900], "");
}

/// It had no figures there: a frame has no address of its own for the choice.
#[test]
fn a_notebook_shows_the_figures_in_a_frame() {
    let records = fabricated::records(&["limit", "cubic", "bbr"], &["walk"], &[1], Span::from_secs(5));
    let page = html("A report", &records, None).replace('&', "&amp;").replace('"', "&quot;");
    let frame = format!(
        "<head><style></style></head><body><iframe srcdoc=\"{page}\" style=\"width:100%;height:9000px\"></iframe></body>"
    );
    let script = "const { contentDocument } = document.querySelector('iframe');
        const drawn = contentDocument.querySelectorAll('[data-slot] .chart svg').length;
        document.body.dataset.selftest = drawn > 3 ? 'passed' : `${drawn} figures`;";
    check_files(&[("report.html", frame)], script, 1400, "");
}

/// As `cellcc view` serves it.
#[test]
fn a_live_page_is_read_again_when_there_is_more_and_shows_what_was_chosen() {
    let records =
        fabricated::records(&["limit", "cubic", "bbr"], &["walk", "drive"], &[1], Span::from_secs(5));
    let files = Report::new("A report", &records, "").live_files("5 of 9 runs are finished");
    // The page says how many runs it shows. At the first question there are more; read again, it has all.
    let progress = "{
        const [{ type }] = performance.getEntriesByType('navigation');
        cellccPart({ progress: { words: `${type === 'reload' ? 5 : 6} of 9 runs are finished` } });
    }";
    let mut files: Vec<_> = files.into_iter().map(|file| (file.name, file.content)).collect();
    files.push(("progress.js".into(), progress.into()));
    let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.clone())).collect();
    check_files(&files, include_str!("live.js"), 1400, "#only=bbr");
}

#[test]
fn a_link_shows_what_was_chosen_when_it_was_copied() {
    let records =
        fabricated::records(&["limit", "cubic", "bbr"], &["walk", "drive"], &[1], Span::from_secs(5));
    let link = "#view=drive&series=drive&delay=queueing&filter=drive&sort=0,1&from=1&to=3&only=bbr";
    check_link(&records, include_str!("link.js"), 1400, link);
    // A missing scheme is not chosen.
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

//! Commands on a folder of results: a figure, its runs, a comparison with another folder, tables for other programs.

use crate::common::cellcc;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Two queues under two schemes, on links of the quick start.
fn results() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let plan = "schemes = [\"cubic\", \"reminis(dtt=2x)\"]\ntraces = [\"lte-static\", \"3g\"]\nduration = \"2s\"\n\
                [vary]\n\"path.rtt\" = [\"20ms\", \"60ms\"]\n";
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    cellcc(folder.path()).args(["compare", "--scenario", "plan.toml", "--out", "out"]).assert().success();
    folder
}

fn refused(folder: &Path, args: &[&str]) -> String {
    let refused = cellcc(folder).args(args).assert().code(2);
    String::from_utf8_lossy(&refused.get_output().stderr).into_owned()
}

fn printed(folder: &Path, args: &[&str]) -> String {
    let output = cellcc(folder).args(args).assert().success();
    String::from_utf8_lossy(&output.get_output().stdout).into_owned()
}

#[test]
fn a_figure_is_drawn_of_stored_results_as_svg_pdf_and_png() {
    let folder = results();
    let folder = folder.path();
    let plot =
        |more: &[&str]| cellcc(folder).args(["plot", "out", "--x", "rtt"]).args(more).assert().success();
    plot(&["--y", "throughput,rtt-p95", "--scheme", "reminis(dtt=2x)=Reminis", "--scheme", "cubic=CUBIC"]);
    let svg = fs::read_to_string(folder.join("out/plot.svg")).unwrap();
    for text in [">\nRTT\n<", "20ms", "60ms", "Reminis", "CUBIC"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(!svg.contains("limit"));
    plot(&["--y", "throughput", "--labels", "--width", "88mm", "--font-size", "8pt", "--out", "f.pdf"]);
    let pdf = fs::read(folder.join("f.pdf")).unwrap();
    assert!(pdf.starts_with(b"%PDF"));
    let made_by = "cellcc plot out --x rtt --y throughput --labels --width 88mm --font-size 8pt --out f.pdf";
    assert!(String::from_utf8_lossy(&pdf).contains(made_by), "its metadata say how it is made again");
    plot(&["--y", "throughput", "--out", "f.PNG"]);
    assert!(fs::read(folder.join("f.PNG")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_figure_of_any_kind_is_drawn_of_stored_results() {
    let folder = results();
    let plots: [&[&str]; 5] = [
        &["box", "--x", "rtt", "--y", "rtt-p95"],
        &["bars", "--facet", "rtt"],
        &["cdf", "--x", "throughput", "--facet", "path.rtt"],
        &["ccdf", "--x", "queueing", "--only", "rtt=20ms"],
        &["time", "--only", "rtt=20ms", "--only", "trace=lte-static"],
    ];
    for kind in plots {
        cellcc(folder.path()).args(["plot", "out", "--kind"]).args(kind).assert().success();
        let svg = fs::read_to_string(folder.path().join("out/plot.svg")).unwrap();
        assert!(svg.contains("cubic"), "{kind:?}");
    }
    let said = refused(folder.path(), &["plot", "out"]);
    assert!(said.contains("--x <COLUMN|KEY>"), "{said}");
}

#[test]
fn what_a_figure_cannot_show_is_refused_with_what_it_can() {
    let folder = results();
    let refused = |args: &[&str]| refused(folder.path(), &[&["plot", "out"], args].concat());
    assert!(
        refused(&["--x", "rtt-p95", "--out", "f.eps"]).contains("--out f.eps: no figure is written as `eps`")
    );
    assert!(
        refused(&["--x", "rtt-95"]).contains("--x rtt-95: neither a column of the table nor a condition")
    );
    assert!(
        refused(&["--x", "rtt-p95", "--scheme", "vegas"]).contains("--scheme vegas: not among the schemes")
    );
    assert!(refused(&["--x", "rtt-p95", "--width", "88"]).contains("such as `3.5in`"));
    let said = refused(&["--x", "rtt-p95", "--only", "path.rtt=30ms"]);
    assert!(said.contains("no run has it; did you mean `20ms`? Its values are 20ms, 60ms"), "{said}");
    assert!(refused(&["--x", "rtt-p95", "--height", "10mm"]).contains("it is 0.39 in high"));
    fs::write(folder.path().join("a.ttf"), "no font").unwrap();
    let said = refused(&["--x", "rtt-p95", "--font", "a.ttf", "--out", "f.pdf"]);
    assert!(said.contains("a.ttf: not a font that can be drawn with"), "{said}");
}

#[test]
fn runs_are_listed_with_the_worst_first() {
    let folder = results();
    let table = printed(folder.path(), &["runs", "out", "--worst", "rtt_p95_ms", "--count", "3"]);
    let first = table.lines().nth(4).unwrap();
    assert!(first.contains("cubic") && first.contains("lte-static"), "{table}");
    let id = first.split("series/").nth(1).unwrap().split(".csv").next().unwrap();
    assert!(folder.path().join(format!("out/series/{id}.csv")).exists(), "{table}");
    let json = printed(folder.path(), &["runs", "out", "--worst", "rtt_p95_ms", "--format", "json"]);
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!((rows.len(), rows[0]["id"].as_str()), (8, Some(id)));
    let delays: Vec<f64> = rows.iter().map(|row| row["rtt_p95_ms"].as_f64().unwrap()).collect();
    assert!(delays.is_sorted_by(|one, other| one >= other), "{delays:?}");
}

#[test]
fn a_folder_is_held_against_another_one() {
    let folder = results();
    let folder = folder.path();
    cellcc(folder)
        .args(["compare", "--scenario", "plan.toml", "--schemes", "cubic,bbr", "--out", "other"])
        .assert()
        .success();
    let report = fs::read(folder.join("out/report.html")).unwrap();
    let table = printed(folder, &["report", "out", "--against", "other"]);
    assert_eq!(
        fs::read(folder.join("out/report.html")).unwrap(),
        report,
        "the report of the results alone stays"
    );
    let against = fs::read_to_string(folder.join("out/report-against.html")).unwrap();
    assert!(against.contains("Against other") && against.contains("Grey: the same in other."));
    for text in [
        "Against other",
        "Unchanged: cubic, path.rtt=20ms; cubic, path.rtt=60ms.",
        "Not in other: reminis",
        "Only in other: bbr",
    ] {
        assert!(table.contains(text), "{text}: {table}");
    }
    assert!(refused(folder, &["report", "out", "--against", "nowhere"]).contains("nowhere"));
    assert!(!table.contains('\x1b'), "there is no terminal");
}

#[test]
fn tables_are_written_for_other_programs() {
    let folder = results();
    let folder = folder.path();
    cellcc(folder).args(["export", "out", "--out", "tables"]).assert().success();
    for name in ["runs", "series"] {
        assert!(fs::read(folder.join(format!("tables/{name}.parquet"))).unwrap().starts_with(b"PAR1"));
    }
    cellcc(folder).args(["export", "out", "--out", "tables", "--csv"]).assert().success();
    let series = fs::read_to_string(folder.join("tables/series.csv")).unwrap();
    assert!(
        series
            .starts_with("id,scheme,variation,trace,seed,driver,path.rtt,path_rtt_ms,time_s,capacity_mbit_s")
    );
    // The limit, two schemes, two traces, two RTTs, bins of 100 ms.
    assert_eq!(series.lines().count(), 1 + 3 * 2 * 2 * 20);
}

//! The report and the figures of fabricated Records.

use crate::fabricated;
use cellcc_experiment::Record;
use cellcc_report::{Report, Scale, figures, html, png};
use cellcc_units::Span;
use resvg::usvg;

const SCHEMES: [&str; 4] = ["limit", "cubic", "bbr", "reminis"];

fn small() -> Vec<Record> {
    fabricated::records(&SCHEMES, &["walk", "drive"], &[1, 2], Span::from_secs(20))
}

fn data(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn three_hundred_records_of_three_minutes_fit_in_5_mb_and_the_report_says_what_it_left_out() {
    let schemes = ["limit", "cubic", "newreno", "bbr", "reminis"];
    let names = fabricated::trace_names(60);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut records = fabricated::records(&schemes, &names, &[1], Span::from_secs(180));
    for record in &mut records {
        // Twelve columns, as schemes with many internal values have.
        for index in record.series.columns.len()..12 {
            let mut column = record.series.columns[1].clone();
            column.name = format!("flow0.scheme.internal{index}");
            record.series.columns.push(column);
        }
    }
    assert_eq!((records.len(), records[1].series.columns[0].values.len()), (300, 1800));
    let page = html("Large", &records, None);
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(page.contains("Time series are shown for 12 of 60 traces"));
    assert!(page.contains("thinned to") && page.contains("series/"));
}

#[test]
fn names_cannot_break_out_of_the_page() {
    let evil = "</script><script>alert(1)</script>";
    let records = fabricated::records(&[evil, "limit"], &[evil], &[1], Span::from_secs(2));
    let page = html(evil, &records, None);
    assert!(!page.contains("<script>alert"));
    assert_eq!(data(&page)["lines"][0]["label"], evil);
    for figure in figures(evil, &records) {
        let svg = figure.svg();
        assert!(!svg.contains("<script") && !figure.html().contains("<script"));
        usvg::roxmltree::Document::parse(&svg).unwrap();
    }
}

#[test]
fn the_page_loads_nothing() {
    let page = html("Offline", &small(), None);
    for tag in ["src=", "<link", "@import", "url("] {
        let own = page.replace(include_str!("../../assets/echarts.common.min.js"), "");
        assert!(!own.contains(tag), "{tag}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_limit_has_a_row_of_its_own_kind_at_the_end() {
    let page = html("x", &small(), None);
    let row = page.find("<tr class=\"limit\"><th scope=\"row\"><span>(</span><span>limit)").unwrap();
    assert!(page.find("<th scope=\"row\"><span>reminis").unwrap() < row);
    assert_eq!(
        data(&page)["lines"][3]["colour"],
        serde_json::Value::Null,
        "the limit has the colour of the text"
    );
}

#[test]
fn the_same_records_give_the_same_bytes() {
    assert_eq!(html("x", &small(), None), html("x", &small(), None));
    assert_eq!(figures("x", &small()), figures("x", &small()));
}

#[test]
fn there_is_one_well_formed_svg_a_figure_with_real_text() {
    let figures = figures("A comparison", &small());
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "throughput-delay",
            "throughput-delay-walk",
            "throughput-delay-drive",
            "queueing-delay-cdf",
            "queueing-delay-cdf-walk",
            "queueing-delay-cdf-drive",
            "rtt-cdf",
            "rtt-cdf-walk",
            "rtt-cdf-drive",
            "time-series-walk",
            "time-series-drive"
        ]
    );
    for figure in &figures {
        let (name, svg) = (&figure.name, figure.svg());
        let document = usvg::roxmltree::Document::parse(&svg).unwrap();
        assert_eq!(document.root_element().attribute("width"), Some("3.5in"));
        let texts: Vec<_> = document.descendants().filter(|node| node.has_tag_name("text")).collect();
        assert!(texts.iter().any(|text| text.text().is_some_and(|text| text.contains("cubic"))), "{name}");
        assert!(texts.iter().all(|text| text.attribute("font-family") == Some("sans-serif")), "{name}");
    }
}

#[test]
fn a_figure_as_png_is_drawn_with_letters() {
    let svg = figures("x", &small())[0].svg();
    let with = png(&svg).unwrap();
    assert!(with.starts_with(b"\x89PNG"));
    let without = png(&svg.replace("cubic", "")).unwrap();
    assert_ne!(with, without);
}

#[test]
fn what_is_not_svg_is_refused() {
    assert!(png("<html/>").unwrap_err().to_string().contains("cannot be drawn"));
}

#[test]
fn records_without_series_still_make_a_report() {
    let mut records = small();
    records.iter_mut().for_each(|record| record.series.columns.clear());
    assert!(html("x", &records, None).contains("without time series"));
    assert_eq!(figures("x", &records).len(), 9);
}

#[test]
fn without_records_there_is_an_empty_report_and_no_figure() {
    assert!(html("x", &[], None).contains("<h1>x</h1>"));
    assert!(figures("x", &[]).is_empty());
    assert!(Report::new("x", &[], "").files().is_empty());
}

#[test]
fn one_varied_condition_is_the_axis_of_a_figure_with_a_line_a_scheme() {
    let records =
        fabricated::varied(&["limit", "cubic", "bbr"], &["walk", "drive"], &["520pkt", "33pkt", "65pkt"]);
    let figure = figures("x", &records).into_iter().find(|figure| figure.name == "sweep-path-queue").unwrap();
    for text in ["520pkt", "65pkt", "path.queue", "cubic", "Mean RTT, ms"] {
        assert!(figure.svg().contains(text), "{text}");
    }
    let marks = &figure.panels[1].marks;
    assert_eq!(
        marks.iter().map(|mark| figure.keys[mark.key].label.as_str()).collect::<Vec<_>>(),
        ["cubic", "bbr", "(limit)"]
    );
    // Values stand where their numbers are; the limit, which is the same under all, has a point at each.
    assert_eq!(marks[0].points.iter().map(|point| point.0).collect::<Vec<_>>(), [520.0, 33.0, 65.0]);
    assert_eq!(marks[2].points.len(), 3);
    assert_eq!(figure.panels[0].x.scale, Scale::Log);
}

/// There was no figure at all.
#[test]
fn of_two_varied_conditions_one_sets_side_by_side_what_the_other_does() {
    let mut records = Vec::new();
    for rtt in ["20ms", "60ms"] {
        let mut varied =
            fabricated::varied(&["limit", "cubic", "bbr"], &["walk"], &["33pkt", "65pkt", "520pkt"]);
        varied.iter_mut().for_each(|record| record.scenario.variation += &format!(", path.rtt={rtt}"));
        records.extend(varied);
    }
    let page = data(&html("x", &records, None));
    assert!(page["figures"].as_array().unwrap().iter().any(|figure| figure["slot"] == "sweep"));
    let all = figures("x", &records);
    let figure = all.iter().find(|figure| figure.name == "sweep-path-queue-path-rtt").unwrap();
    let titles: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!((figure.columns, &titles[..2]), (2, &["rtt 20ms", "rtt 60ms"][..]));
    assert!(figure.panels.iter().all(|panel| panel.marks.len() == 3 && panel.marks[0].points.len() == 3));
    // Three keys have none.
    records
        .iter_mut()
        .enumerate()
        .for_each(|(index, record)| record.scenario.variation += &format!(", path.loss={}%", index % 2));
    assert!(!figures("x", &records).iter().any(|figure| figure.name.starts_with("sweep")));
}

/// There was no figure at all.
#[test]
fn two_varied_conditions_with_many_values_each_make_heat_maps() {
    let all = figures("x", &fabricated::heat());
    let figure = all.iter().find(|figure| figure.name == "sweep-path-queue-path-rtt").unwrap();
    // A row of three quantities a scheme, with a cell for each of 8 x 7 combinations.
    assert_eq!((figure.columns, figure.panels.len()), (3, 9));
    assert!(figure.panels.iter().all(|panel| panel.marks[0].cells.len() == 56));
    assert_eq!(figure.panels[0].title, "cubic: Utilisation");
    // A shade means the same for all schemes.
    let shades = |quantity: usize| {
        let panels = figure.panels.iter().skip(quantity).step_by(3);
        panels.flat_map(|panel| panel.marks[0].cells.iter().map(|(dark, _)| *dark))
    };
    for quantity in 0..3 {
        assert_eq!((shades(quantity).fold(1.0, f64::min), shades(quantity).fold(0.0, f64::max)), (0.0, 1.0));
    }
    for text in ["bbr: Mean RTT, ms", "path.rtt", "7ms", "7pkt"] {
        assert!(figure.svg().contains(text), "{text}");
    }
}

/// One of them was 11 inches high, and its legend ten.
#[test]
fn figures_of_many_conditions_are_no_higher_than_a_page() {
    let height = |svg: &str| -> f64 {
        let (_, rest) = svg.split_once("height=\"").unwrap();
        rest.split_once("in\"").unwrap().0.parse().unwrap()
    };
    let queues: Vec<String> = (1..=20).map(|count| format!("{count}pkt")).collect();
    let queues: Vec<&str> = queues.iter().map(String::as_str).collect();
    let twenty = fabricated::varied(&["limit", "cubic", "bbr"], &["walk"], &queues);
    let nine = fabricated::varied_twice(
        &["limit", "cubic", "bbr"],
        &["walk"],
        &queues[..3],
        &["20ms", "60ms", "90ms"],
    );
    for records in [&twenty, &nine] {
        for figure in figures("x", records) {
            assert!(height(&figure.svg()) < 8.0, "{} is {} inches high", figure.name, height(&figure.svg()));
        }
    }
    let of = |records: &[Record], name: &str| {
        figures("x", records).into_iter().find(|figure| figure.name == name).unwrap()
    };
    assert!(
        of(&twenty, "throughput-delay").title.ends_with("queue 1pkt"),
        "it shows the first condition and says so"
    );
    let distributions = of(&nine, "rtt-cdf");
    assert_eq!((distributions.columns, distributions.panels.len()), (3, 9));
    assert_eq!(distributions.panels[8].title, "queue 3pkt, rtt 90ms");
    assert!(distributions.panels.iter().all(|panel| panel.marks.len() == 3));
}

#[test]
fn a_run_with_curves_has_a_figure_of_them_from_early_to_late() {
    let mut records = small();
    assert!(!figures("x", &records).iter().any(|figure| figure.name.starts_with("curve")));
    fabricated::add_curves(&mut records, "reminis", 100);
    let all = figures("x", &records);
    let figure = all.iter().find(|figure| figure.name.starts_with("curve")).unwrap();
    let snapshots = &figure.panels[0].marks;
    assert_eq!(snapshots.len(), 40);
    assert_ne!(figure.keys[0].style, figure.keys[39].style);
    let points = &snapshots[0].points;
    assert!(points.len() <= 61 && points.last().unwrap().0 == 200.0, "both ends of a thinned curve are kept");
    let placed = data(&html("x", &records, None));
    assert_eq!(
        placed["figures"].as_array().unwrap().iter().filter(|figure| figure["slot"] == "curves").count(),
        2
    );
    let names: Vec<String> = figures("x", &records).into_iter().map(|figure| figure.name).collect();
    assert!(names.contains(&"curve-profile-reminis-walk".into()), "{names:?}");
}

#[test]
fn a_baseline_adds_its_ratios_to_the_report() {
    let records = small();
    let report = Report::new("x", &records, " bbr ");
    let error = report.against("vegas").unwrap_err().to_string();
    assert!(error.contains("--baseline vegas") && error.contains("cubic, bbr, reminis"), "{error}");
    let page = report.html();
    assert!(page.contains("<h3>Relative to bbr: geometric mean over traces of the ratio on each trace</h3>"));
    assert!(report.against("cubic").unwrap().html().contains("Relative to cubic"));
    assert!(!html("x", &records, None).contains("Relative to"));
    assert_eq!(
        Report::new("x", &records, "vegas").html(),
        html("x", &records, None),
        "none of its runs is there"
    );
}

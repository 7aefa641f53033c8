//! A paper's figure.

use crate::fabricated;
use cellcc_experiment::Record;
use cellcc_report::{Figure, Length, Plot, PlotKind, ReportError, TableColumn};
use cellcc_units::Span;
use resvg::usvg::roxmltree::Document;

const SCHEMES: [&str; 4] = ["limit", "cubic", "bbr", "reminis(dtt=1x)"];

fn records() -> Vec<Record> {
    let traces = fabricated::trace_names(10);
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    fabricated::records(&SCHEMES, &traces, &[1], Span::from_secs(5))
}

fn plot(x: &str, y: &[&str]) -> Plot {
    let y = y.iter().map(|text| text.parse::<TableColumn>().unwrap()).collect();
    Plot { x: (!x.is_empty()).then(|| x.into()), y, ..Plot::default() }
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| node.text().map(|text| text.trim().to_owned())).collect()
}

/// The ends of the lines that axes and their ticks are drawn with, in units of the drawing.
fn axis_lines(svg: &str) -> Vec<[(u32, u32); 2]> {
    let document = Document::parse(svg).unwrap();
    let lines = document.descendants().filter(|node| node.attribute("stroke-width") == Some("2"));
    let point = |text: &str| {
        let (x, y) = text.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    let ends = |points: &str| points.split_whitespace().map(point).collect::<Vec<_>>().try_into().unwrap();
    lines.filter_map(|node| node.attribute("points")).map(ends).collect()
}

fn labels(figure: &Figure) -> Vec<&str> {
    figure.keys.iter().map(|key| key.label.as_str()).collect()
}

#[test]
fn schemes_have_the_order_and_the_names_that_are_asked_for() {
    let schemes = ["reminis(dtt=1x)=Reminis", "limit", "cubic=CUBIC"].map(|text| text.parse().unwrap());
    let plot = Plot { schemes: schemes.to_vec(), ..plot("rtt-p95", &["throughput"]) };
    let figure = plot.figure("x", &records()).unwrap();
    assert_eq!(labels(&figure), ["Reminis", "(limit)", "CUBIC"]);
    let error = Plot { schemes: vec!["vegas".parse().unwrap()], ..plot }.figure("x", &records()).unwrap_err();
    assert!(
        matches!(error, ReportError::Scheme("scheme", ..)) && error.to_string().contains("cubic, bbr"),
        "{error}"
    );
}

#[test]
fn intervals_are_drawn_unless_they_are_refused() {
    let plot = plot("rtt_p95_ms", &["throughput_mbit_s", "power"]);
    let figure = plot.figure("x", &records()).unwrap();
    let drawn = |figure: &Figure| {
        figure.panels.iter().flat_map(|panel| &panel.marks).filter(|mark| !mark.intervals.is_empty()).count()
    };
    assert_eq!((figure.panels.len(), drawn(&figure)), (2, 7), "the limit has no power");
    for panel in &figure.panels {
        let ends = panel.marks.iter().flat_map(|mark| &mark.intervals).filter_map(|[_, along]| *along);
        let (from, to) = (panel.y.from, panel.y.to);
        assert!(
            ends.clone().count() > 2 && ends.clone().all(|(low, high)| from <= low && high <= to),
            "they are not cut off"
        );
    }
    assert_eq!(drawn(&Plot { no_intervals: true, ..plot }.figure("x", &records()).unwrap()), 0);
}

#[test]
fn a_varied_condition_is_an_axis_by_the_end_of_its_key_and_a_value_of_it_can_be_chosen() {
    let queues = ["33pkt", "65pkt", "520pkt"];
    let records = fabricated::varied(&["limit", "cubic", "bbr"], &["walk", "drive"], &queues);
    let figure = plot("queue", &["throughput", "rtt-p95"]).figure("x", &records).unwrap();
    assert_eq!((figure.panels.len(), figure.panels[0].x.title.as_str()), (2, "Queue"));
    assert_eq!(figure.panels[1].marks[0].points.len(), 3);
    let only = Plot { only: vec!["queue=65pkt".parse().unwrap()], ..plot("rtt-p95", &[]) };
    assert_eq!(
        labels(&only.figure("x", &records).unwrap()),
        ["cubic", "bbr", "(limit)"],
        "no name says the only queue"
    );
    let error = plot("queueng", &[]).figure("x", &records).unwrap_err().to_string();
    assert!(
        error.contains("did you mean `queueing`?") && error.contains("path.queue, utilisation"),
        "{error}"
    );
    let none = Plot { only: vec!["queue=1pkt".parse().unwrap()], ..plot("rtt-p95", &[]) };
    assert!(none.figure("x", &records).unwrap_err().to_string().contains("--only queue=1pkt: no run has it"));
}

#[test]
fn labels_stand_at_the_points_within_the_axes_and_not_on_each_other() {
    let mut plot = plot("rtt-p95", &["throughput"]);
    plot.paper.labels = true;
    let figure = plot.figure("x", &records()).unwrap();
    let svg = figure.svg_on(&plot.paper);
    for name in ["cubic", "bbr", "reminis(dtt=1x)", "(limit)"] {
        assert_eq!(texts(&svg).iter().filter(|text| *text == name).count(), 1, "{name}");
    }
    let document = Document::parse(&svg).unwrap();
    let number = |node: resvg::usvg::roxmltree::Node, name: &str| {
        node.attribute(name).unwrap().parse::<f64>().unwrap()
    };
    let all: Vec<_> = document
        .descendants()
        .filter(|node| {
            node.has_tag_name("text") && labels(&figure).contains(&node.text().unwrap_or("").trim())
        })
        .map(|node| (number(node, "x"), number(node, "y"), node.text().unwrap().trim().len() as f64 * 17.4))
        .collect();
    for (at, (x, y, wide)) in all.iter().enumerate() {
        assert!((0.0..1050.0).contains(&(x - wide / 2.0)) && x + wide / 2.0 < 1050.0, "{all:?}");
        for (other_x, other_y, other_wide) in &all[..at] {
            assert!((x - other_x).abs() > (wide + other_wide) / 2.0 || (y - other_y).abs() > 30.0, "{all:?}");
        }
    }
}

#[test]
fn a_figure_is_as_large_as_it_is_asked_to_be_and_one_that_is_too_small_is_refused() {
    let mut plot = plot("rtt-p95", &["throughput"]);
    let inches = |text: &str| text.parse::<Length>().unwrap();
    plot.paper.width = Some(inches("88.9mm"));
    plot.paper.height = Some(inches("2in"));
    plot.paper.font_size = Some(inches("10pt"));
    let svg = plot.figure("x", &records()).unwrap().svg_on(&plot.paper);
    let document = Document::parse(&svg).unwrap();
    let size = |name: &str| {
        let text = document.root_element().attribute(name).unwrap();
        text.strip_suffix("in").unwrap().parse::<f64>().unwrap()
    };
    assert!((size("width") - 3.5).abs() < 0.01 && (size("height") - 2.0).abs() < 0.01, "{svg}");
    plot.paper.height = Some(inches("1in"));
    let error = plot.figure("x", &records()).unwrap_err().to_string();
    assert!(error.contains("it is 1.00 in high, and letters of this size need"), "{error}");
}

/// The library that draws was given areas of no size.
#[test]
fn every_size_is_drawn_or_refused() {
    let records = records();
    for width in ["0.1in", "1in", "2in", "12in"] {
        for height in ["0.1in", "1in", "3in"] {
            for font_size in ["1pt", "7pt", "40pt"] {
                for labels in [false, true] {
                    let mut plot = plot("rtt-p95", &["throughput", "loss"]);
                    plot.paper.labels = labels;
                    [plot.paper.width, plot.paper.height, plot.paper.font_size] =
                        [width, height, font_size].map(|text| text.parse().ok());
                    if let Ok(figure) = plot.figure("x", &records) {
                        assert!(!plot.file(&figure, "svg").unwrap().is_empty());
                    }
                }
            }
        }
    }
}

#[test]
fn a_pdf_has_the_size_of_the_figure_and_only_the_letters_that_it_needs() {
    let plot = plot("rtt-p95", &["throughput"]);
    let figure = plot.figure("x", &records()).unwrap();
    let pdf = plot.file(&figure, "pdf").unwrap();
    assert_eq!(pdf, plot.file(&figure, "pdf").unwrap(), "the same figure has the same bytes");
    let text = String::from_utf8_lossy(&pdf);
    assert!(text.starts_with("%PDF-1.5") && text.contains("/MediaBox [0 0 252 172.8"), "{}", &text[..300]);
    assert!(text.contains("+DejaVuSans") && text.contains("/ToUnicode"));
    assert!(pdf.len() < 40_000, "{} bytes", pdf.len());
    let plot = Plot { made_by: "cellcc 1.2: cellcc plot results".into(), ..plot };
    let pdf = plot.file(&figure, "pdf").unwrap();
    let text = String::from_utf8_lossy(&pdf);
    assert!(text.contains("/Title (x: Throughput, Mbit/s against the 95th percentile of the RTT, ms)"));
    assert!(text.contains("/Creator (cellcc 1.2: cellcc plot results)"));
    assert!(plot.file(&figure, "png").unwrap().starts_with(b"\x89PNG"));
    let error = plot.file(&figure, "eps").unwrap_err().to_string();
    assert_eq!(error, "no figure is written as `eps`; this build writes svg, pdf, png");
}

#[test]
fn a_font_of_ones_own_is_named_in_svg_and_held_in_pdf_and_what_is_none_is_refused() {
    let font = include_bytes!("../../assets/DejaVuSans-subset.ttf").to_vec();
    let plot = Plot { font: Some(font), ..plot("rtt-p95", &["throughput"]) };
    let figure = plot.figure("x", &records()).unwrap();
    let svg = String::from_utf8(plot.file(&figure, "svg").unwrap()).unwrap();
    assert!(svg.contains("font-family=\"DejaVu Sans, sans-serif\""));
    let none = Plot { font: Some(b"no font".to_vec()), ..plot };
    for kind in ["svg", "png", "pdf"] {
        assert_eq!(none.file(&figure, kind), Err(ReportError::Font), "{kind}");
    }
}

/// Two schemes and the limit over three queues and three round-trip times on twelve traces, which have intervals.
fn swept() -> Vec<Record> {
    let traces = fabricated::trace_names(12);
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    let (queues, rtts) = (["33pkt", "65pkt", "520pkt"], ["20ms", "60ms", "120ms"]);
    fabricated::varied_twice(&["limit", "cubic", "bbr"], &traces, &queues, &rtts)
}

fn of_kind(kind: &str, x: &str, y: &[&str]) -> Plot {
    Plot { kind: Some(kind.parse().unwrap()), ..plot(x, y) }
}

/// It was cut at both ends: "5th percentile of the queueing delay, ms".
#[test]
fn a_title_without_room_is_shortened() {
    let svg = |plot: Plot| plot.figure("x", &records()).unwrap().svg_on(&plot.paper);
    let long = "95th percentile of the queueing delay, ms";
    let high = texts(&svg(plot("rtt-p95", &["queueing-p95"])));
    assert!(high.iter().any(|text| text == "p95 queueing delay, ms"), "{high:?}");
    let mut small = plot("rtt-p95", &["queueing-p95"]);
    small.paper.height = "1.5in".parse().ok();
    let small = texts(&svg(small));
    assert!(small.iter().any(|text| text == "p95 queueing, ms"), "{small:?}");
    let across = texts(&svg(plot("queueing-p95", &["throughput"])));
    assert!(across.iter().any(|text| text == long), "there is room: {across:?}");
}

/// Each plot had a range of its own: 100 s, 10 s and 10 s.
#[test]
fn plots_side_by_side_have_one_vertical_axis() {
    let plot = plot("queue", &["queueing-p95"]);
    let figure = plot.figure("x", &swept()).unwrap();
    assert_eq!((figure.columns, figure.panels.len()), (3, 3));
    assert!(figure.panels.iter().all(|panel| panel.y == figure.panels[0].y));
    let texts = texts(&figure.svg_on(&plot.paper));
    assert_eq!(texts.iter().filter(|text| text.starts_with("p95 queueing")).count(), 1, "{texts:?}");
}

/// The axis of RTTs was nearer to the edge than that of rates, whose numbers are longer: a second did not stand above itself.
#[test]
fn plots_below_each_other_have_one_left_edge() {
    let mut records = records();
    records.iter_mut().for_each(|run| run.total.throughput_mbit_s *= 1e5);
    let plot = plot("rtt-p95", &["throughput", "utilisation"]);
    let svg = plot.figure("x", &records).unwrap().svg_on(&plot.paper);
    let upright = axis_lines(&svg).into_iter().filter(|[from, to]| from.0 == to.0 && to.1 - from.1 > 20);
    let edges: Vec<u32> = upright.map(|[from, _]| from.0).collect();
    assert!(edges.len() == 2 && edges[0] == edges[1], "{edges:?}");
}

/// Below bars stood a tick without a number, and a third of an inch of nothing.
#[test]
fn schemes_side_by_side_take_no_room_for_an_axis_without_numbers() {
    let plot = of_kind("bars", "", &["throughput"]);
    let figure = plot.figure("x", &records()).unwrap();
    let lines = axis_lines(&figure.svg_on(&plot.paper));
    let bottom = lines.iter().flatten().map(|end| end.1).max().unwrap();
    let level = lines.iter().filter(|[from, to]| from.1 == bottom && to.1 == bottom).count();
    assert_eq!(level, 1, "nothing is below the axis itself: {lines:?}");
    let height = (figure.panels[0].inches * 300.0) as u32;
    assert!(height - bottom < 40, "the axis is at {bottom} of {height}");
}

/// Those of six schemes lay on one vertical line.
#[test]
fn intervals_over_the_same_value_stand_apart() {
    let figure = plot("queue", &["throughput"]).figure("x", &swept()).unwrap();
    let firsts: Vec<f64> = figure.panels[0].marks.iter().map(|mark| mark.points[0].0).collect();
    assert!(firsts.iter().enumerate().all(|(at, x)| !firsts[..at].contains(x)), "{firsts:?}");
    assert!(firsts.iter().all(|x| (x / 33.0 - 1.0).abs() < 0.1), "they stay near 33: {firsts:?}");
}

/// The legend had a line for each scheme under each condition, cut before it differed: the figure was 11 inches high.
#[test]
fn a_legend_names_colours_and_marks_apart() {
    let mut records = swept();
    records.retain(|run| run.scenario.variation.contains("rtt=60ms"));
    let plot = plot("rtt-p95", &["throughput"]);
    let figure = plot.figure("x", &records).unwrap();
    let texts = texts(&figure.svg_on(&plot.paper));
    for name in ["cubic", "bbr", "(limit)", "queue 33pkt", "queue 520pkt"] {
        assert!(texts.iter().any(|text| text.starts_with(name)), "{name}: {texts:?}");
    }
    assert!(!texts.iter().any(|text| text.contains("cubic, ")), "{texts:?}");
}

#[test]
fn a_figure_that_no_reader_reads_is_refused_with_the_flag_that_mends_it() {
    let error = |plot: Plot| plot.figure("x", &swept()).unwrap_err().to_string();
    let marks = error(plot("rtt-p95", &["throughput"]));
    assert!(marks.contains("the marks of 9 conditions apart"), "{marks}");
    for text in [&marks, &error(of_kind("cdf", "rtt", &[])), &error(of_kind("bars", "", &["throughput"]))] {
        assert!(text.contains("--only path.queue=33pkt") && text.contains("--facet path.queue"), "{text}");
    }
    let facet = Plot { facet: Some("loss".into()), ..plot("rtt-p95", &[]) };
    assert!(
        error(facet)
            .contains("--facet loss: not a condition that is varied; varied are path.queue, path.rtt")
    );
    assert!(error(of_kind("scatter", "queue", &[])).contains("--x rtt-p95"));
    assert!(error(of_kind("time", "rtt", &[])).contains("has no --x"));
    assert!(
        "pie".parse::<PlotKind>().unwrap_err().to_string().contains("scatter, box, bars, cdf, ccdf or time")
    );
}

#[test]
fn a_facet_has_a_plot_for_each_value_with_the_same_axes_and_names_without_it() {
    let plot = Plot { facet: Some("rtt".into()), ..of_kind("ccdf", "queueing", &[]) };
    let figure = plot.figure("x", &swept()).unwrap();
    let titles: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!((figure.columns, &titles[..]), (3, &["rtt 20ms", "rtt 60ms", "rtt 120ms"][..]));
    assert!(figure.panels.iter().all(|panel| panel.x == figure.panels[0].x && panel.marks.len() == 6));
    assert!(labels(&figure).contains(&"cubic, path.queue=33pkt"), "{:?}", labels(&figure));
}

#[test]
fn boxes_reach_from_quartile_to_quartile_and_bars_from_zero() {
    let mut records = records();
    for (at, run) in records.iter_mut().filter(|run| run.scenario.scheme == "cubic").enumerate() {
        run.total.throughput_mbit_s = 10.0 * (at + 1) as f64;
    }
    let marks = |kind: &str| {
        let figure = of_kind(kind, "", &["throughput"]).figure("x", &records).unwrap();
        let cubic = figure.keys.iter().position(|key| key.label == "cubic").unwrap();
        figure.panels[0].marks.iter().filter(|mark| mark.key == cubic).cloned().collect::<Vec<_>>()
    };
    // Nearest ranks of 10, 20, ... 100.
    let [bar, point] = &marks("box")[..] else { panic!("a box and a mark") };
    assert_eq!((bar.points[0].1, bar.points[1].1, point.points[0].1), (30.0, 80.0, 50.0));
    assert_eq!(point.intervals[0][1], Some((10.0, 100.0)));
    let [bar, point] = &marks("bars")[..] else { panic!("a bar and a mark") };
    assert_eq!((bar.points[0].1, bar.points[1].1, point.points[0].1), (0.0, 55.0, 55.0));
    assert!(point.intervals[0][1].is_some_and(|(low, high)| low < 55.0 && 55.0 < high));
}

#[test]
fn the_distribution_over_traces_rises_by_one_of_them_at_each_value() {
    let points = |kind: &str| {
        let figure = of_kind(kind, "throughput", &[]).figure("x", &records()).unwrap();
        figure.panels[0].marks[0].points.clone()
    };
    let (below, above) = (points("cdf"), points("ccdf"));
    assert_eq!((below.len(), below[0].1, below[19].1), (20, 0.0, 1.0));
    assert!(
        below.is_sorted()
            && below.iter().zip(&above).all(|(one, other)| (one.1 + other.1 - 1.0).abs() < 1e-9)
    );
    assert_eq!(above.len(), 19, "zero has no place on a logarithmic axis");
}

#[test]
fn values_over_time_are_those_of_one_trace() {
    let mut records = records();
    let plot = Plot {
        only: vec!["trace=002-driving".parse().unwrap()],
        ..of_kind("time", "", &["rtt", "throughput"])
    };
    let figure = plot.figure("x", &records).unwrap();
    assert!(figure.title.ends_with("on 002-driving") && figure.panels.len() == 2, "{}", figure.title);
    let none = of_kind("time", "", &["loss"]).figure("x", &records).unwrap_err().to_string();
    assert!(none.contains("--y loss: not among the time series"), "{none}");
    records.iter_mut().for_each(|run| run.series.columns.clear());
    assert!(plot.figure("x", &records).unwrap_err().to_string().contains("no run has time series"));
}

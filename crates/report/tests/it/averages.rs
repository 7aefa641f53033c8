//! Averages, intervals and distributions of fabricated Records whose answers are known.

use crate::fabricated;
use cellcc_experiment::{Offset, Record};
use cellcc_report::{DEFAULT_WIDTH, TableFormat, figures, table};
use cellcc_units::Span;

/// One run of each scheme on each of `count` traces.
fn on_traces(schemes: &[&str], count: usize) -> Vec<Record> {
    let names = fabricated::trace_names(count);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fabricated::records(schemes, &names, &[1], Span::from_secs(1))
}

fn text(records: &[Record], baseline: Option<&str>) -> String {
    table(records, TableFormat::Markdown, baseline, DEFAULT_WIDTH)
}

/// The cell of a scheme's row in the column that begins like this, in the table under `heading`.
fn cell(text: &str, heading: &str, scheme: &str, column: &str) -> String {
    let (_, below) = text.split_once(heading).unwrap();
    let lines: Vec<&str> = below.lines().filter(|line| line.starts_with('|')).collect();
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_owned()).collect() };
    let index = cells(lines[0]).iter().position(|title| title.starts_with(column)).unwrap();
    let row = lines.iter().map(|line| cells(line)).find(|row| row[1] == scheme).unwrap();
    row[index].clone()
}

/// A fixed window is better on one link whose queue stays nearly empty and worse on all others. The mean of its power was
/// 2518 next to BBR's 26; the medians are 21 and 26.
#[test]
fn one_link_with_a_nearly_empty_queue_does_not_decide_the_power() {
    let mut records = on_traces(&["fixed-window", "bbr"], 12);
    for (index, pair) in records.chunks_mut(2).enumerate() {
        pair[0].total.power = Some(if index == 0 { 29_979.0 } else { 21.0 });
        pair[1].total.power = Some(26.0);
    }
    let old: f64 = records.iter().step_by(2).filter_map(|run| run.total.power).sum::<f64>() / 12.0;
    assert_eq!(old.round(), 2518.0);
    let text = text(&records, Some("bbr"));
    // 21 * (29979 / 21)^(1/12) = 38.46. One link out of twelve is no spread to judge by.
    assert_eq!(cell(&text, "Means over 12 traces", "fixed-window", "Power"), "38.5 (–)");
    assert_eq!(cell(&text, "Means over 12 traces", "bbr", "Power"), "26.0 (–)");
    assert!(cell(&text, "Relative to bbr", "fixed-window", "Power,").starts_with("0.676"), "{text}");
}

/// It looked like an error of ours.
#[test]
fn a_mean_rtt_below_the_mean_queueing_delay_is_explained() {
    let mut records = on_traces(&["cubic", "bbr"], 2);
    assert!(!text(&records, None).contains("below the mean queueing delay"));
    for run in records.iter_mut().filter(|run| run.scenario.scheme == "cubic") {
        run.total.rtt_mean_ms = Some(2390.0);
        run.total.queueing_delay_mean_ms = Some(2620.0);
    }
    let text = text(&records, None);
    assert!(
        text.contains("- cubic: the mean RTT is below the mean queueing delay, as the packets"),
        "{text}"
    );
}

#[test]
fn power_that_is_zero_or_missing_is_left_out_and_said() {
    let mut records = on_traces(&["bbr"], 12);
    for (index, run) in records.iter_mut().enumerate() {
        run.total.power = Some(2.0 + index as f64);
    }
    records[0].total.power = None;
    records[1].total.power = Some(0.0);
    let text = text(&records, None);
    let note =
        "bbr: Power is over 10 of 12 traces; on 1 it is zero, and on 1 there is none (no queueing delay)";
    assert!(text.contains(note), "{text}");
    // The geometric mean of 4, 5, ... 13: (13! / 3!)^(1/10).
    assert!(cell(&text, "Means over 12 traces", "bbr", "Power").starts_with("7.97 ("), "{text}");
}

#[test]
fn pairs_on_the_same_traces_tell_apart_what_the_spread_of_the_links_hides() {
    let mut records = on_traces(&["cubic", "bbr"], 16);
    for (index, pair) in records.chunks_mut(2).enumerate() {
        let link = 10.0 * (1 + index) as f64;
        pair[0].total.throughput_mbit_s = link;
        pair[1].total.throughput_mbit_s = link * if index % 2 == 0 { 0.90 } else { 0.92 };
    }
    let text = text(&records, Some("cubic"));
    let bounds = |cell: &str| -> (f64, f64) {
        let (low, high) = cell.split_once('(').unwrap().1.trim_end_matches(')').split_once('–').unwrap();
        (low.parse().unwrap(), high.parse().unwrap())
    };
    let (low, high) = bounds(&cell(&text, "Means over 16 traces", "bbr", "Throughput"));
    assert!(low < 60.0 && high > 90.0, "the links differ: {low} to {high}");
    let (low, high) = bounds(&cell(&text, "Relative to cubic", "bbr", "Throughput"));
    assert!(0.90 < low && low < 0.91 && 0.91 < high && high < 0.92, "{low} to {high}");
}

#[test]
fn below_ten_traces_the_count_is_said_and_no_interval() {
    let few = text(&on_traces(&["cubic", "bbr"], 9), None);
    assert!(
        few.contains("Means over 9 traces") && few.contains("they need at least 10 traces, and there are 9"),
        "{few}"
    );
    assert!(!few.contains("Below an average"), "{few}");
    let enough = text(&on_traces(&["cubic", "bbr"], 10), None);
    assert!(enough.contains("Below an average: its 95 % confidence interval over traces"), "{enough}");
}

/// The interval was `0–77600`, below a mean of 1670.
#[test]
fn below_a_mean_that_few_traces_decide_stand_median_and_quartiles() {
    let mut records = on_traces(&["cubic", "bbr"], 16);
    for (at, run) in records.iter_mut().step_by(2).enumerate() {
        run.total.rtt_p95_ms = Some(if at == 7 { 26_000.0 } else { 21.0 + at as f64 });
    }
    let text = text(&records, None);
    let of_cubic = cell(&text, "Means over 16 traces", "cubic", "RTT, p95");
    assert_eq!(of_cubic, "1650 (median 29.0, 24.0–33.0)");
    assert!(text.contains("a few values decide the average"), "{text}");
}

/// `n = 8` stood below each of forty numbers, and a note said the same.
#[test]
fn the_count_of_all_traces_is_said_once_and_another_one_in_its_cell() {
    let mut records = on_traces(&["cubic", "bbr"], 8);
    records[1].total.power = None;
    let text = text(&records, None);
    assert!(!text.contains("n = 8") && text.contains("and there are 8"), "{text}");
    assert!(cell(&text, "Means over 8 traces", "bbr", "Power").ends_with("(n = 7)"), "{text}");
}

/// It said "± 0", half of a 95 % confidence interval, of runs in which nothing is random.
#[test]
fn seeds_that_changed_nothing_have_a_dash_with_a_word_why() {
    let mut records =
        fabricated::records(&["cubic", "reminis"], &["walk"], &[1, 2, 3, 4, 5], Span::from_secs(2));
    let first = records[0].total.clone();
    records.iter_mut().filter(|run| run.scenario.scheme == "cubic").for_each(|run| run.total = first.clone());
    let fixed = text(&records, None);
    let value = |scheme: &str| cell(&fixed, "Means over 5 seeds", scheme, "Utilisation");
    assert!(value("cubic").ends_with("(–)"), "{fixed}");
    assert!(value("reminis").ends_with("(n = 5)"), "{fixed}");
    assert!(fixed.contains("every seed gave the same; with --offset random"), "{fixed}");
    assert!(!fixed.contains('±'));
    records.iter_mut().for_each(|run| run.scenario.offset = Offset::Random);
    assert!(text(&records, None).contains("every seed gave the same."));
}

/// The packets of all traces were pooled: here 95 % of them are from a fast link, with 10 ms, while the table's mean of the
/// 95th percentiles is 505 ms.
#[test]
fn a_fast_link_does_not_hide_a_slow_one_in_the_distribution() {
    let mut records = on_traces(&["cubic"], 2);
    for (run, delay_ms, packets) in [(0, 10, 10_000), (1, 1_000, 100)] {
        let mut delays = cellcc_experiment::Distribution::default();
        (0..packets).for_each(|_| delays.add(Span::from_millis(delay_ms)));
        records[run].total.rtt_p95_ms = delays.summary().map(|it| it.p95_ms);
        records[run].flows[0].rtt = delays;
    }
    let figure = figures("x", &records);
    let points = |name: &str| {
        let figure = figure.iter().find(|figure| figure.name == name).unwrap();
        figure.panels[0].marks[0].points.clone()
    };
    // On the axis for tails 50 % lies at the logarithm of two.
    let (lower, upper): (Vec<_>, Vec<_>) =
        points("rtt-cdf").into_iter().partition(|point| point.1 < std::f64::consts::LOG10_2);
    let all = |points: &[(f64, f64)], ms: f64| points.len() > 9 && points.iter().all(|at| at.0.round() == ms);
    assert!(all(&lower, 10.0) && all(&upper, 1_000.0), "half of the weight is each link's");
    let table_mean = points("throughput-delay")[0].0;
    assert!((table_mean - 505.2).abs() < 0.05, "the table's mean lies between the two steps: {table_mean}");
    let of_traces: Vec<f64> = figure
        .iter()
        .filter(|figure| figure.name.starts_with("rtt-cdf-"))
        .map(|figure| figure.panels[0].marks[0].points[100].0.round())
        .collect();
    assert_eq!(of_traces, [10.0, 1_000.0], "each trace has a distribution of its own");
}

/// Two CUBIC flows and one of BBR next to each other.
fn shared() -> Record {
    let mut run = on_traces(&["2*cubic+bbr"], 1).remove(0);
    let setup = run.scenario.flows[0].clone();
    let flow = run.flows[0].clone();
    run.flows.clear();
    run.scenario.flows.clear();
    for (scheme, throughput, user) in [("cubic", 50.0, 0), ("cubic", 30.0, 1), ("bbr", 20.0, 1)] {
        let mut flow = flow.clone();
        flow.scheme = scheme.into();
        flow.metrics.throughput_mbit_s = throughput;
        (flow.metrics.sent_packets, flow.metrics.lost_packets) = (1_000, throughput as u64);
        flow.convergence_time_s = (user == 0).then_some(3.0);
        run.flows.push(flow);
        run.scenario.flows.push(cellcc_experiment::FlowSetup {
            scheme: scheme.into(),
            user,
            ..setup.clone()
        });
    }
    run
}

#[test]
fn each_flow_has_a_row_and_flows_of_one_scheme_are_distinguished() {
    let text = text(&[shared()], None);
    let flows = |name: &str, column: &str| cell(&text, "### Flows", name, column);
    assert_eq!(flows("cubic 1 (user 0)", "Throughput"), "50.0");
    assert_eq!(flows("cubic 2 (user 1)", "Share"), "30.0");
    assert_eq!(flows("bbr (user 1)", "Loss"), "2.00");
    assert_eq!(flows("cubic, all 2", "Share"), "80.0");
    assert_eq!(flows("user 1, all 2", "Throughput"), "50.0");
    assert_eq!(
        (flows("cubic 1 (user 0)", "Converged"), flows("bbr (user 1)", "Converged")),
        ("3.00".into(), "–".into())
    );
}

#[test]
fn csv_and_json_have_every_flow() {
    let mut records = on_traces(&["bbr"], 1);
    records.push(shared());
    let csv = table(&records, TableFormat::Csv, None, DEFAULT_WIDTH);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{csv}");
    let at = |name: &str| lines[0].iter().position(|title| *title == name).unwrap();
    assert_eq!((lines[2][at("flow1.name")], lines[2][at("flow2.user")]), ("cubic 2", "1"));
    assert_eq!(
        (lines[2][at("flow0.throughput_mbit_s")], lines[1][at("flow0.throughput_mbit_s")]),
        ("50.0", "")
    );
    let json: serde_json::Value =
        serde_json::from_str(&table(&records, TableFormat::Json, None, DEFAULT_WIDTH)).unwrap();
    assert_eq!(
        (&json[1]["flows"][0]["name"], &json[1]["flows"][2]["throughput_share"]),
        (&"cubic 1".into(), &0.2.into())
    );
}

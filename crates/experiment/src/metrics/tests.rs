use super::*;
use std::collections::BTreeSet;
use std::fmt::Write as _;

#[test]
fn keys_and_names_are_unique_and_a_key_ends_in_its_unit() {
    let texts: BTreeSet<&str> = METRICS.iter().flat_map(|metric| [metric.key, metric.name]).collect();
    let same = METRICS.iter().filter(|metric| metric.key == metric.name).count();
    assert_eq!(texts.len(), 2 * METRICS.len() - same);
    for metric in METRICS {
        let end = match metric.unit {
            "ms" => "_ms",
            "s" => "_s",
            "Mbit/s" if metric.key != "qoe_lin" => "_mbit_s",
            "packets" if metric.key != "sent_acks" => "_packets",
            "%" => "_ratio",
            _ => "",
        };
        assert!(metric.key.ends_with(end), "{}", metric.key);
    }
}

#[test]
fn every_column_of_tables_is_there_once() {
    let keys: Vec<&str> = Metric::in_tables().map(|(metric, _)| metric.key).collect();
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    assert_eq!(keys.len(), METRICS.iter().filter(|metric| metric.is_of_runs()).count());
}

fn read(text: &str) -> Result<Metrics, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn metrics_are_written_by_key_in_the_order_of_the_table_and_read_back() {
    let mut metrics = Metrics { utilisation: f64::NAN, freezes: Some(3), ..Metrics::default() };
    metrics.set("p_base_mean", 0.25);
    let text = serde_json::to_string(&metrics).unwrap();
    assert!(
        text.starts_with(r#"{"throughput_mbit_s":0.0,"utilisation":null,"queueing_delay_mean_ms":null,"#),
        "{text}"
    );
    assert!(text.contains(r#""loss_ratio":0.0,"p_base_mean":0.25,"retransmitted_packets":0,"#), "{text}");
    assert!(text.ends_with(r#""deadline_miss_ratio":null,"freezes":3}"#), "{text}");
    let again = read(&text).unwrap();
    assert!(again.utilisation.is_nan());
    assert_eq!(Metrics { utilisation: 0.0, ..again }, Metrics { utilisation: 0.0, ..metrics });
}

/// A metric that is added stands in no earlier Record.
#[test]
fn a_record_may_lack_what_may_be_absent_and_nothing_else() {
    let least = r#"{"throughput_mbit_s":1,"sent_packets":2,"lost_packets":0,"loss_ratio":0,"retransmitted_packets":0"#;
    let metrics = read(&format!("{least}}}")).unwrap();
    assert_eq!((metrics.throughput_mbit_s, metrics.sent_packets, metrics.rtt_mean_ms), (1.0, 2, None));
    assert!(metrics.utilisation.is_nan());
    let without = least.replace(r#""sent_packets":2,"#, "");
    assert!(read(&format!("{without}}}")).unwrap_err().starts_with("missing field `sent_packets`"));
    for (wrong, error) in [
        (r#""sent_packets":2"#, "duplicate field `sent_packets`"),
        (r#""speed":2"#, "unknown field `speed`"),
        (r#""jain_index":1"#, "unknown field `jain_index`"),
        (r#""freezes":0.5"#, "invalid type: floating point"),
    ] {
        let found = read(&format!("{least},{wrong}}}")).unwrap_err();
        assert!(found.starts_with(error), "{found}");
    }
    let null = least.replace(r#""loss_ratio":0"#, r#""loss_ratio":null"#);
    assert!(read(&format!("{null}}}")).unwrap_err().starts_with("`loss_ratio` is null"));
}

/// Between these lines of docs/metrics.md stands the table, which the test writes where `CELLCC_WRITE_DOCS` is set.
const BEGIN: &str = "<!-- the table of crates/experiment/src/metrics/table.rs, held by its test -->\n";
const END: &str = "<!-- the table ends -->\n";

#[test]
fn the_page_of_metrics_has_the_table() {
    let mut table = String::new();
    for (heading, is_in) in SECTIONS {
        let _ = write!(
            table,
            "\n## {heading}\n\n| key | column | unit | range | average | better | definition | absent |\n\
             |---|---|---|---|---|---|---|---|\n"
        );
        METRICS.iter().filter(|metric| is_in(&metric.of)).for_each(|metric| table += &row(metric));
    }
    table.push('\n');
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the line before the table");
    let (_, after) = rest.split_once(END).expect("the page has the line after the table");
    let made = [before, BEGIN, &table, END, after].concat();
    if std::env::var_os("CELLCC_WRITE_DOCS").is_some() {
        std::fs::write(path, &made).unwrap();
    } else {
        assert_eq!(page, made, "set CELLCC_WRITE_DOCS=1 to write the page");
    }
}

type IsOf = fn(&Of) -> bool;
const SECTIONS: [(&str, IsOf); 3] = [
    ("Per flow, and for all flows of a run together", |of| matches!(of, Of::Both { .. })),
    ("Per run", |of| matches!(of, Of::Run(_))),
    ("Per flow, where a run has several", |of| matches!(of, Of::Flow(_))),
];

fn row(metric: &Metric) -> String {
    let column = if metric.is_of_runs() { format!("`{}`", metric.name) } else { String::new() };
    let unit = if metric.unit == "%" { "1; in tables %" } else { metric.unit };
    let range = match metric.range {
        (0.0, f64::INFINITY) => "from 0".into(),
        (f64::NEG_INFINITY, f64::INFINITY) => "any".into(),
        (least, most) => format!("{least} to {most}"),
    };
    let average = match metric.average {
        Kind::Mean => "arithmetic",
        Kind::Geometric => "geometric",
    };
    let better = match metric.better {
        Better::More => "more",
        Better::Less => "less",
        Better::Neither => "–",
    };
    let absent = match metric.absent {
        Absent::Never => "never".into(),
        Absent::Null(when) => format!("`null` {when}"),
        Absent::LeftOut(when) => format!("left out {when}"),
    };
    let (key, meaning) = (metric.key, metric.meaning().replace('|', "\\|"));
    format!("| `{key}` | {column} | {unit} | {range} | {average} | {better} | {meaning} | {absent} |\n")
}

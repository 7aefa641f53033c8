//! The figures that are made of Records. Each is built here once, for files and for the page.

pub(crate) mod curves;
pub(crate) mod delays;
pub(crate) mod heat;
pub(crate) mod scatter;
pub(crate) mod spread;
pub(crate) mod sweep;
pub(crate) mod time;

use crate::comparison::{Comparison, Trace, View};
use crate::figure::Figure;
use crate::tables::column::{QUEUEING_P95, RTT_P95};
use cellcc_experiment::Record;
use curves::curves;
use delays::cumulative;
use scatter::scatter;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use sweep::sweep;
use time::{Detail, first_runs, over_time};

/// With more traces than this, only the average over them is drawn, except for time series.
const MOST_TRACES: usize = 6;
/// Time series are drawn for the first few traces.
const MOST_SERIES_TRACES: usize = 3;
/// Curves of one trace that are drawn.
const MOST_CURVES: usize = 6;
/// Steps of a distribution.
const CDF_STEPS: usize = 200;
/// Letters of a figure's name. File systems allow 255 bytes, some encrypting ones 143; the ending needs a few.
const LONGEST_NAME: usize = 120;
/// Height of a plot on paper, with its axes.
pub(crate) const HEIGHT_INCHES: f64 = 2.4;

/// Conditions with a plot each: three rows of distributions, and series side by side.
const MOST_PLOTS: usize = 9;
const MOST_SIDE_BY_SIDE: usize = 3;

/// Those that are written next to the results. A figure shows the first condition where it has neither marks nor plots
/// for all.
pub(crate) fn figures(title: &str, records: &[Record]) -> Vec<Figure> {
    let all = &Comparison::new(records);
    if all.rows.is_empty() {
        return Vec::new();
    }
    let with_plots = |most| {
        let mut few = Comparison::new(records);
        let first = few.keep_few_conditions(most);
        few.set_placed(few.conditions.iter().map(|condition| condition.key).collect());
        (few, first)
    };
    let mut files = Files { title, taken: BTreeSet::new(), figures: Vec::new() };
    let few_traces = (2..=MOST_TRACES).contains(&all.traces.len());
    let one_by_one = all.traces.iter().filter(|_| few_traces).map(|&trace| (trace.name, View::On(trace)));
    let views: Vec<(&str, View)> = std::iter::once(("", View::All)).chain(one_by_one).collect();
    let delay = if all.has(&RTT_P95) { RTT_P95 } else { QUEUEING_P95 };
    let mut marked = Comparison::new(records);
    let most = if marked.too_many_marks().is_some() { 1 } else { usize::MAX };
    let first = marked.keep_few_conditions(most);
    for (trace, view) in &views {
        let figure = scatter(&marked, *view, &delay, &all.gets());
        files.add(format!("throughput-delay {trace}"), &first, figure);
    }
    if let Some((name, figure)) = sweep(all, View::All) {
        files.add(name, &None, figure);
    }
    let (few, first) = with_plots(MOST_PLOTS);
    for delay in [delays::QUEUEING, delays::RTT] {
        for (trace, view) in &views {
            if let Some(figure) = cumulative(&few, *view, delay, CDF_STEPS) {
                files.add(format!("{} {trace}", delay.0), &first, few.faceted(&few.placed, figure));
            }
        }
    }
    let (few, first) = with_plots(MOST_SIDE_BY_SIDE);
    let with_series = |trace: &&Trace| first_runs(all, **trace).next().is_some();
    let detail = Detail { points: time::POINTS, flows: 1 };
    for &trace in all.traces.iter().filter(with_series).take(MOST_SERIES_TRACES) {
        let shown = ["throughput_mbit_s", "queueing_delay_ms", "media_rate_mbit_s", "buffer_s"];
        let figure = over_time(&few, trace, &shown, detail);
        files.add(format!("time-series {}", trace.name), &first, few.faceted(&few.placed, figure));
    }
    for &trace in all.traces.iter().take(MOST_SERIES_TRACES) {
        for (name, figure) in curves(all, trace).into_iter().take(MOST_CURVES) {
            files.add(format!("curve {name} {}", trace.name), &None, figure);
        }
    }
    files.figures
}

/// The figures so far.
struct Files<'a> {
    title: &'a str,
    taken: BTreeSet<String>,
    figures: Vec<Figure>,
}

impl Files<'_> {
    /// A figure under the name of this text; of the first condition, where it shows only that.
    fn add(&mut self, text: String, first: &Option<String>, mut figure: Figure) {
        figure.hold_intervals();
        figure.set_apart();
        let stem = file_stem(&text);
        let copies = (2..).map(|copy| format!("{stem}-{copy}"));
        let name = std::iter::once(stem.clone()).chain(copies).find(|name| !self.taken.contains(name));
        let name = name.expect("there is no end of numbers");
        self.taken.insert(name.clone());
        let first = first.as_ref().map(|text| format!(", {text}")).unwrap_or_default();
        self.figures.push(Figure {
            name,
            title: format!("{}: {}{first}", self.title, figure.title),
            ..figure
        });
    }
}

/// The name of a figure's file without its ending: `text` in safe letters. A long text is cut, and a hash of all of it
/// keeps it apart from others that begin alike.
fn file_stem(text: &str) -> String {
    let slug = slug(text);
    if slug.len() <= LONGEST_NAME {
        return slug;
    }
    let digest = Sha256::digest(text.as_bytes());
    let hash: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let mut ends = (0..=LONGEST_NAME - hash.len() - 1).rev();
    let end = ends.find(|end| slug.is_char_boundary(*end)).unwrap_or(0);
    let kept = slug[..end].trim_end_matches('-');
    format!("{kept}-{hash}")
}

/// Lower-case letters and digits, of whatever language, and single hyphens.
fn slug(text: &str) -> String {
    let hyphens: String =
        text.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    hyphens.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figures_name_is_safe_as_a_files_name() {
        assert_eq!(file_stem("time-series ../A b/rate=1Mbit"), "time-series-a-b-rate-1mbit");
        // It was `time-series-mlaut`.
        assert_eq!(file_stem("time-series Ümlaut 中\u{1b}"), "time-series-ümlaut-中");
        assert!(file_stem(&"ü".repeat(200)).len() <= LONGEST_NAME);
    }

    #[test]
    fn a_links_long_text_makes_a_short_name_of_its_own() {
        let link = |last: &str| format!("time-series step={}{last}", "12Mbit/s:10s,".repeat(40));
        let (one, other) = (file_stem(&link("1Mbit/s:1s")), file_stem(&link("2Mbit/s:1s")));
        assert!(
            one.len() <= LONGEST_NAME && one.starts_with("time-series-step-12mbit-s-10s-12mbit"),
            "{one}"
        );
        assert_ne!(one, other, "they differ in their last letters only");
        assert_eq!(one, file_stem(&link("1Mbit/s:1s")), "the same figure has the same name");
    }
}

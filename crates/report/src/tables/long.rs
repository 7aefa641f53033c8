//! All time series, or all curves, of results as one table: one row per bin or point, with its run.

use crate::comparison::Comparison;
use crate::tables::rows::{Varied, written};
use cellcc_experiment::Record;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The columns that identify the run of a row, before those of the varied conditions.
const OF: &str = "id,scheme,variation,trace,seed,driver";

/// The header of the columns that a run has in each of its rows.
fn header(varied: &Varied) -> String {
    std::iter::once(OF.to_owned()).chain(varied.names()).collect::<Vec<_>>().join(",")
}

/// The time series: `time_s`, the beginning of the bin, and a column for each quantity of any run, empty where a run has none.
pub(crate) fn series(records: &[Record]) -> String {
    let (comparison, varied) = (Comparison::new(records), Varied::of(records.iter(), &[]));
    let mut seen = BTreeSet::new();
    let all = records.iter().flat_map(|run| &run.series.columns).map(|column| column.name.as_str());
    let names: Vec<&str> = all.filter(|name| seen.insert(*name)).collect();
    let mut text = format!("{},time_s", header(&varied));
    names.iter().for_each(|name| text.extend([",", name]));
    text.push('\n');
    for run in records {
        let of = of(run, &comparison, &varied);
        let columns: Vec<&[f32]> =
            names.iter().map(|name| run.series.column(name).unwrap_or_default()).collect();
        let rows = columns.iter().map(|values| values.len()).max().unwrap_or(0);
        for row in 0..rows {
            let _ = write!(text, "{of},{}", (run.series.bin * row as u64).as_secs_f64());
            for values in &columns {
                let _ = match values.get(row) {
                    Some(value) if !value.is_nan() => write!(text, ",{value}"),
                    _ => write!(text, ","),
                };
            }
            text.push('\n');
        }
    }
    text
}

/// The curves: when it was recorded, the flow, its name, the quantities of its axes, and a point.
pub(crate) fn curves(records: &[Record]) -> String {
    let (comparison, varied) = (Comparison::new(records), Varied::of(records.iter(), &[]));
    let mut text = format!("{},time_s,flow,curve,x_is,y_is,x,y\n", header(&varied));
    for run in records {
        let of = of(run, &comparison, &varied);
        for curve in &run.curves {
            for (x, y) in &curve.points {
                let names = [&curve.name, &curve.x, &curve.y].map(String::as_str).join(",");
                let _ = writeln!(text, "{of},{},{},{names},{x},{y}", curve.time_s, curve.flow);
            }
        }
    }
    text
}

/// The cells of this run in the columns of the header.
fn of(run: &Record, comparison: &Comparison, varied: &Varied) -> String {
    let (scenario, trace) = (&run.scenario, comparison.trace_name(run));
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    let own = (&run.id, &scenario.scheme, &scenario.variation, trace, scenario.seed, &run.driver);
    writer.serialize((own, varied.cells(run))).expect("memory takes every row");
    written(writer).trim_end().to_owned()
}

//! One row a run for people, the worst first.

use crate::comparison::{Comparison, label_by};
use crate::tables::column::{COLUMNS, Column, RTT_P95, THROUGHPUT};
use crate::tables::grid::{Cell, Grid, GridRow, varied_keys};
use crate::tables::number::NONE;
use crate::tables::text_table::{Style, drawn};
use crate::tables::{rows, wrap};
use crate::{RunsOptions, TableFormat};
use cellcc_experiment::{LIMIT, Record, varied};

/// The runs of schemes, in the order asked for.
pub(crate) fn runs(records: &[Record], format: TableFormat, width: usize, options: &RunsOptions) -> String {
    let comparison = Comparison::new(records);
    let mut chosen: Vec<&Record> = records.iter().filter(|run| run.scenario.scheme != LIMIT).collect();
    if let Some(worst) = options.worst {
        // A run without a value is worse than any: nothing came through.
        let badness = |run: &Record| match (worst.0.measure.quantity)(run) {
            Some(value) if !value.is_nan() => worst.0.badness(value),
            _ => f64::INFINITY,
        };
        chosen.sort_by(|one, other| badness(other).total_cmp(&badness(one)));
    }
    let all = chosen.len();
    chosen.truncate(options.count.unwrap_or(all));
    match format {
        TableFormat::Json => rows::json(&chosen, &comparison),
        TableFormat::Csv => rows::csv(&chosen, &comparison),
        TableFormat::Markdown => drawn(&grid(&chosen, &comparison, options), Style::Markdown),
        TableFormat::Table => {
            let mut text = drawn(&grid(&chosen, &comparison, options), Style::Terminal(width));
            if chosen.len() < all {
                let note = format!("{} of {all} runs; --count {all} prints all.", chosen.len());
                text += &format!("\n{}\n", wrap::wrap_text(&note, width));
            }
            text
        }
    }
}

fn grid(runs: &[&Record], comparison: &Comparison, options: &RunsOptions) -> Grid {
    let usual = [options.worst.map(|column| column.0), Some(&COLUMNS[THROUGHPUT]), Some(&COLUMNS[RTT_P95])];
    let mut columns: Vec<&Column> = options.columns.iter().map(|column| column.0).collect();
    if columns.is_empty() {
        for column in usual.into_iter().flatten() {
            if !columns.iter().any(|known| known.key == column.key) {
                columns.push(column);
            }
        }
    }
    let varied_keys = varied_keys(comparison);
    let has_seeds = comparison.seeds.len() > 1;
    let row = |run: &&Record| {
        let scenario = &run.scenario;
        let conditions = varied(&scenario.variation);
        let value = |key: &String| conditions.iter().find(|(other, _)| other == key).map_or(NONE, |it| it.1);
        let trace = comparison.traces.iter().find(|trace| trace.key == scenario.trace);
        let place = [trace.map_or(&*scenario.trace, |trace| trace.name).to_owned()];
        let seed = has_seeds.then(|| scenario.seed.to_string());
        let cells = columns.iter().map(|column| Cell::plain((column.measure.quantity)(run)));
        let series =
            if run.series.columns.is_empty() { NONE.into() } else { format!("series/{}.csv", run.id) };
        GridRow {
            name: label_by(&scenario.scheme, &scenario.driver),
            values: varied_keys.iter().map(value).map(str::to_owned).chain(place).chain(seed).collect(),
            is_limit: false,
            cells: cells.chain([Cell::text(series)]).collect(),
        }
    };
    let fixed = ["Trace"].into_iter().chain(has_seeds.then_some("Seed")).map(String::from);
    Grid {
        caption: String::new(),
        of: "Scheme",
        keys: varied_keys.iter().cloned().chain(fixed).collect(),
        columns: columns
            .iter()
            .map(|column| (column.title, column.unit.to_owned()))
            .chain([("Time series", String::new())])
            .collect(),
        rows: runs.iter().map(row).collect(),
    }
}

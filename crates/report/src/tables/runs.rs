//! One row a run for people, the worst first.

use crate::comparison::{Comparison, label_by, of_schemes};
use crate::tables::column::{RTT_P95, THROUGHPUT};
use crate::tables::grid::{Cell, Grid, GridRow, titles, values, varied_keys};
use crate::tables::number::NONE;
use crate::tables::text_table::{Style, drawn};
use crate::tables::{rows, wrap};
use crate::{RunsOptions, TableFormat};
use cellcc_experiment::{Record, file_of_run};

/// The runs of schemes, in the chosen order.
pub(crate) fn runs(records: &[Record], format: TableFormat, width: usize, options: &RunsOptions) -> String {
    let comparison = Comparison::new(records);
    let mut chosen: Vec<&Record> = of_schemes(records).collect();
    if let Some(worst) = options.worst {
        // A run without a value is worse than any: nothing came through.
        let badness = |run: &Record| match worst.value(run) {
            Some(value) if !value.is_nan() => worst.badness(value),
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
    let mut columns = options.columns.clone();
    if columns.is_empty() {
        columns = vec![THROUGHPUT, RTT_P95];
        if let Some(worst) = options.worst {
            columns.retain(|column| column.key != worst.key);
            columns.insert(0, worst);
        }
    }
    let keys = varied_keys(comparison);
    let has_seeds = comparison.seeds.len() > 1;
    let row = |run: &&Record| {
        let scenario = &run.scenario;
        let name = label_by(&scenario.scheme, &scenario.driver);
        let trace = comparison.trace_name(run).to_owned();
        let seed = has_seeds.then(|| scenario.seed.to_string());
        let of = std::iter::once(name).chain(values(&scenario.variation, &keys)).chain([trace]).chain(seed);
        let file = format!("series/{}", file_of_run(&run.id, options.planned));
        let series = if run.series.columns.is_empty() { NONE.into() } else { file };
        let cells = columns.iter().map(|column| Cell::plain(column.value(run)));
        GridRow { of: of.collect(), is_limit: false, cells: cells.chain([Cell::text(series)]).collect() }
    };
    let rows = runs.iter().map(row).collect();
    let columns = columns.iter().map(|column| (column.title, column.below()));
    let columns = columns.chain([("Time series", String::new())]);
    let fixed = ["Trace"].into_iter().chain(has_seeds.then_some("Seed")).map(String::from);
    let of = std::iter::once("Scheme".to_owned()).chain(keys.iter().cloned()).chain(fixed);
    Grid { caption: String::new(), of: of.collect(), columns: titles(columns), rows }
}

//! The least delay of links.

use super::{Args, Part, USES, draw, floors, millis};
use crate::exit::{Exit, print};
use crate::grid;
use cellcc_link::{DelayFloor, TraceCache};
use cellcc_report::TableFormat;
use cellcc_runner::traces;
use cellcc_units::Ratio;
use serde::Serialize;

#[derive(Serialize)]
struct Row {
    trace: String,
    alone_mean_ms: f64,
    alone_p95_ms: f64,
    bounds: Vec<Bound>,
}

#[derive(Serialize)]
struct Bound {
    utilisation: f64,
    queueing_mean_ms: f64,
    queueing_p95_ms: f64,
}

impl Row {
    fn new(trace: &str, floor: &DelayFloor) -> Self {
        let (mean, p95) = floor.alone();
        let bounds = USES.map(|utilisation| {
            let point = floor.at(Ratio::new(utilisation));
            let (queueing_mean_ms, queueing_p95_ms) = (point.mean.as_millis_f64(), point.p95.as_millis_f64());
            Bound { utilisation: point.utilisation.get(), queueing_mean_ms, queueing_p95_ms }
        });
        Self {
            trace: trace.into(),
            alone_mean_ms: mean.as_millis_f64(),
            alone_p95_ms: p95.as_millis_f64(),
            bounds: bounds.into(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let means = self.bounds.iter().map(|bound| millis(bound.queueing_mean_ms));
        let ends = [&self.bounds[1], &self.bounds[2]].map(|bound| millis(bound.queueing_p95_ms));
        [self.trace.clone(), millis(self.alone_mean_ms)].into_iter().chain(means).chain(ends).collect()
    }
}

const HEADINGS: [&str; 7] =
    ["trace", "a lone packet", "use 0.90", "use 0.95", "use 0.98", "p95 at 0.95", "p95 at 0.98"];

pub(super) fn run(args: &Args, given: &[String]) -> Result<(), Exit> {
    let cache = TraceCache::default();
    let texts = traces::expand(given)?;
    let parts = texts.iter().map(|text| {
        let source = cache.open(text).map_err(Exit::input)?;
        Ok(Part { name: source.name, capacity: source.capacity, duration: args.duration, rtt: args.rtt })
    });
    let parts = parts.collect::<Result<Vec<_>, Exit>>()?;
    let floors = floors(&parts)?;
    draw(args, "The least queueing delay", &floors, Vec::new())?;
    let rows: Vec<Row> = parts.iter().zip(&floors).map(|(part, floor)| Row::new(&part.name, floor)).collect();
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    let text = grid::render(args.format, &HEADINGS, &cells, &rows)?;
    match args.format {
        TableFormat::Table | TableFormat::Markdown => print(&format!(
            "{text}\n\nMean queueing delay in ms: of a packet alone in the queue, and the least at which 0.90, 0.95\n\
             and 0.98 of the link is used, of a sender that knows in advance what each {} carries, but\n\
             not when in it; and the 95th percentile of the sender whose mean is the least.",
            args.rtt
        )),
        TableFormat::Json | TableFormat::Csv => print(&text),
    }
}

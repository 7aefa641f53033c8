//! The delay of schemes beside the least that there is.

use super::{Args, Part, against, draw, floors, millis};
use crate::exit::{Exit, print};
use crate::grid;
use cellcc_experiment::{LIMIT, Record, row_name};
use cellcc_link::{DelayFloor, TraceCache};
use cellcc_report::{TableFormat, UseAndDelay};
use cellcc_runner::Results;
use cellcc_units::Ratio;
use serde::Serialize;
use std::path::Path;

/// A scheme's means over its runs.
#[derive(Serialize)]
struct Row {
    scheme: String,
    runs: usize,
    utilisation: f64,
    queueing_mean_ms: f64,
    /// The least mean at each run's own use.
    least_mean_ms: f64,
    queueing_p95_ms: f64,
    /// Of the sender whose mean is the least.
    least_p95_ms: f64,
}

impl Row {
    fn new(scheme: &Scheme<'_>, floors: &[DelayFloor]) -> Self {
        let runs = &scheme.runs;
        let mean = |of: &dyn Fn(&Record, &DelayFloor) -> f64| {
            runs.iter().map(|(record, part)| of(record, &floors[*part])).sum::<f64>() / runs.len() as f64
        };
        let least = |record: &Record, floor: &DelayFloor| floor.at(Ratio::new(record.total.utilisation));
        Self {
            scheme: scheme.name.clone(),
            runs: runs.len(),
            utilisation: mean(&|record, _| record.total.utilisation),
            queueing_mean_ms: mean(&|record, _| record.total.queueing_delay_mean_ms.unwrap_or(0.0)),
            least_mean_ms: mean(&|record, floor| least(record, floor).mean.as_millis_f64()),
            queueing_p95_ms: mean(&|record, _| record.total.queueing_delay_p95_ms.unwrap_or(0.0)),
            least_p95_ms: mean(&|record, floor| least(record, floor).p95.as_millis_f64()),
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.scheme.clone(),
            format!("{:.3}", self.utilisation),
            millis(self.queueing_mean_ms),
            millis(self.least_mean_ms),
            millis(self.queueing_mean_ms - self.least_mean_ms),
            millis(self.queueing_p95_ms),
        ]
    }
}

const HEADINGS: [&str; 6] = ["scheme", "use", "mean", "least", "own", "p95"];

pub(super) fn run(args: &Args, folder: &Path) -> Result<(), Exit> {
    let Results { info, records } = Results::read(folder)?;
    let records: Vec<Record> = records.into_iter().filter(|record| record.scenario.scheme != LIMIT).collect();
    if records.is_empty() {
        return Err(Exit::input(format!("{}: holds no run of a scheme", folder.display())));
    }
    // Runs of many schemes are on the same part of the same link.
    let cache = TraceCache::default();
    let mut parts: Vec<Part> = Vec::new();
    let mut part_of = Vec::new();
    for record in &records {
        let part = part(record, &cache)?;
        let place = parts.iter().position(|other| *other == part).unwrap_or(parts.len());
        if place == parts.len() {
            parts.push(part);
        }
        part_of.push(place);
    }
    let schemes = schemes(&records, &part_of);
    let floors = floors(&parts)?;
    let rows: Vec<Row> = schemes.iter().map(|scheme| Row::new(scheme, &floors)).collect();
    draw(args, &info.title, &floors, lines(&schemes, &rows))?;
    if let Some(against) = &args.against {
        return against::run(args, against, &schemes);
    }
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    let text = grid::render(args.format, &HEADINGS, &cells, &rows)?;
    match args.format {
        TableFormat::Table | TableFormat::Markdown => print(&format!(
            "{text}\n\nQueueing delay in ms, arithmetic means over the runs. least: the least mean at which as much of\n\
             the link is used, of a sender that knows in advance what each RTT carries, but not when in it;\n\
             own: what the scheme adds to that."
        )),
        TableFormat::Json | TableFormat::Csv => print(&text),
    }
}

/// A scheme's runs, each with the part of a link that it was on.
pub(super) struct Scheme<'a> {
    pub(super) name: String,
    /// The same for schemes that differ in numbers only.
    pub(super) line: String,
    pub(super) runs: Vec<(&'a Record, usize)>,
}

fn schemes<'a>(records: &'a [Record], part_of: &[usize]) -> Vec<Scheme<'a>> {
    let mut schemes: Vec<Scheme<'_>> = Vec::new();
    for (record, &part) in records.iter().zip(part_of) {
        let name = record.scenario.row_name();
        if let Some(scheme) = schemes.iter_mut().find(|scheme| scheme.name == name) {
            scheme.runs.push((record, part));
            continue;
        }
        let scenario = &record.scenario;
        let line = row_name(&without_numbers(&scenario.scheme), &scenario.driver, &scenario.variation);
        schemes.push(Scheme { name, line, runs: vec![(record, part)] });
    }
    schemes
}

/// `tide(delay=5ms)` as `tide(delay=…)`.
fn without_numbers(scheme: &str) -> String {
    let (first, values) = scheme.split_once('=').unwrap_or((scheme, ""));
    let values = values.split('=').filter(|value| !value.is_empty()).map(|value| {
        let end = value.find([',', ')']).unwrap_or(value.len());
        let is_number = value.starts_with(|first: char| first.is_ascii_digit());
        if is_number { format!("=…{}", &value[end..]) } else { format!("={value}") }
    });
    first.to_owned() + &values.collect::<String>()
}

/// What the picture shows: schemes that differ in numbers only as a line, in the order of their use.
fn lines(schemes: &[Scheme<'_>], rows: &[Row]) -> Vec<(String, Vec<UseAndDelay>)> {
    let mut lines: Vec<(String, String, Vec<UseAndDelay>)> = Vec::new();
    for (scheme, row) in schemes.iter().zip(rows) {
        let at = UseAndDelay { utilisation: row.utilisation, queueing_ms: row.queueing_mean_ms };
        match lines.iter_mut().find(|(line, ..)| *line == scheme.line) {
            Some((line, name, points)) => {
                name.clone_from(line);
                points.push(at);
            }
            None => lines.push((scheme.line.clone(), scheme.name.clone(), vec![at])),
        }
    }
    for (.., points) in &mut lines {
        points.sort_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
    }
    lines.into_iter().map(|(_, name, points)| (name, points)).collect()
}

/// The part of the link that a run was measured on.
fn part(record: &Record, cache: &TraceCache) -> Result<Part, Exit> {
    let scenario = &record.scenario;
    let opened = cache.open(&scenario.trace).map_err(Exit::input)?;
    if opened.hash != scenario.trace_sha256 {
        return Err(Exit::input(format!(
            "{}: is not the trace that the results are of; run the comparison again",
            scenario.trace
        )));
    }
    let capacities = scenario.capacities(cache).map_err(Exit::input)?;
    let [capacity] = capacities.forward.as_slice() else {
        return Err(Exit::input(
            "these are results of a cell: its users' shares depend on each other's queues",
        ));
    };
    Ok(Part {
        name: scenario.trace.clone(),
        capacity: capacity.beginning_at(scenario.warm_up).into(),
        duration: scenario.duration.saturating_sub(scenario.warm_up),
        rtt: scenario.path.rtt,
    })
}

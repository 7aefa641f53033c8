//! The delay of schemes beside that of another one at the same use.

use super::results::Scheme;
use super::{Args, millis};
use crate::exit::{Exit, print};
use crate::grid;
use cellcc_experiment::Record;
use cellcc_report::{BesideLine, TableFormat, UseAndDelay, beside_line};
use serde::Serialize;

#[derive(Serialize)]
struct Row {
    scheme: String,
    traces: usize,
    utilisation: f64,
    p95: Beside,
    mean: Beside,
}

/// A delay, and what it is beside the line's; nothing of that where the line does not reach to this use.
#[derive(Serialize)]
struct Beside {
    queueing_ms: f64,
    line_ms: Option<f64>,
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
}

/// A scheme's point on each trace on which all schemes ran.
type Points = Vec<UseAndDelay>;

const HEADINGS: [&str; 8] = ["scheme", "use", "p95", "line", "ratio", "mean", "line", "ratio"];

pub(super) fn run(args: &Args, against: &str, schemes: &[Scheme<'_>]) -> Result<(), Exit> {
    let is_of_line = |scheme: &&Scheme<'_>| name_of(scheme) == against;
    let settings: Vec<&Scheme<'_>> = schemes.iter().filter(is_of_line).collect();
    if settings.len() < 2 {
        return Err(Exit::input(format!(
            "--against {against}: the results hold {} of it; a line needs a scheme with several values of its knob, such as \
             `cellcc compare --schemes 'tide(delay={{2ms,5ms,20ms}}),bbr'`",
            settings.len()
        )));
    }
    let parts = common_parts(schemes);
    if parts.is_empty() {
        return Err(Exit::input("there is no trace on which all of the schemes ran"));
    }
    let rows = schemes.iter().filter(|scheme| !is_of_line(scheme)).map(|scheme| {
        let condition = condition_of(scheme);
        let line: Vec<_> =
            settings.iter().copied().filter(|setting| condition_of(setting) == condition).collect();
        Row::new(scheme, &line, &parts)
    });
    let rows: Vec<Row> = rows.collect();
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    let text = grid::render(args.format, &HEADINGS, &cells, &rows)?;
    match args.format {
        TableFormat::Table | TableFormat::Markdown => print(&format!(
            "{text}\n\nUse, and 95th percentile and mean of the queueing delay in ms: arithmetic means over {} traces. line: the\n\
             delay of {against} at the same use, along its knob; ratio: the scheme's divided by that, and its 95 %\n\
             interval over traces. Below 1 a scheme has less delay than any setting of {against}.",
            parts.len()
        )),
        TableFormat::Json | TableFormat::Csv => print(&text),
    }
}

impl Row {
    fn new(scheme: &Scheme<'_>, line: &[&Scheme<'_>], parts: &[usize]) -> Self {
        let beside = |delay: fn(&Record) -> Option<f64>| {
            let own = points(scheme, parts, delay);
            let line: Vec<Points> = line.iter().map(|setting| points(setting, parts, delay)).collect();
            let queueing_ms = own.iter().map(|point| point.queueing_ms).sum::<f64>() / own.len() as f64;
            Beside::new(queueing_ms, beside_line(&own, &line))
        };
        let uses = points(scheme, parts, |_| None);
        Self {
            scheme: scheme.name.clone(),
            traces: parts.len(),
            utilisation: uses.iter().map(|point| point.utilisation).sum::<f64>() / uses.len() as f64,
            p95: beside(|record| record.total.queueing_delay_p95_ms),
            mean: beside(|record| record.total.queueing_delay_mean_ms),
        }
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.scheme.clone(), format!("{:.3}", self.utilisation)];
        cells.extend(self.p95.cells());
        cells.extend(self.mean.cells());
        cells
    }
}

impl Beside {
    fn new(queueing_ms: f64, beside: Option<BesideLine>) -> Self {
        Self {
            queueing_ms,
            line_ms: beside.map(|beside| beside.line_ms),
            ratio: beside.map(|beside| beside.ratio),
            interval: beside.and_then(|beside| beside.interval),
        }
    }

    fn cells(&self) -> [String; 3] {
        let none = || "–".to_owned();
        let ratio = match (self.ratio, self.interval) {
            (Some(ratio), Some((low, high))) => format!("{ratio:.2} ({low:.2} to {high:.2})"),
            (Some(ratio), None) => format!("{ratio:.2}"),
            (None, _) => none(),
        };
        [millis(self.queueing_ms), self.line_ms.map_or_else(none, millis), ratio]
    }
}

/// `tide` of `tide(delay=5ms)`.
fn name_of<'a>(scheme: &Scheme<'a>) -> &'a str {
    let scheme = scheme.runs[0].0.scenario.scheme.as_str();
    scheme.split_once('(').map_or(scheme, |(name, _)| name)
}

/// What else the runs of a scheme have in common.
fn condition_of<'a>(scheme: &Scheme<'a>) -> (&'a str, &'a str) {
    let scenario = &scheme.runs[0].0.scenario;
    (&scenario.driver, &scenario.variation)
}

/// The parts of links on which every scheme ran.
fn common_parts(schemes: &[Scheme<'_>]) -> Vec<usize> {
    let mut parts: Vec<usize> = schemes[0].runs.iter().map(|(_, part)| *part).collect();
    parts.sort_unstable();
    parts.dedup();
    parts.retain(|part| schemes.iter().all(|scheme| scheme.runs.iter().any(|(_, other)| other == part)));
    parts
}

/// Means over the runs on each part.
fn points(scheme: &Scheme<'_>, parts: &[usize], delay: fn(&Record) -> Option<f64>) -> Points {
    let point = |part: &usize| {
        let runs: Vec<&Record> =
            scheme.runs.iter().filter(|(_, other)| other == part).map(|(record, _)| *record).collect();
        let mean =
            |of: &dyn Fn(&Record) -> f64| runs.iter().map(|run| of(run)).sum::<f64>() / runs.len() as f64;
        UseAndDelay {
            utilisation: mean(&|run| run.total.utilisation),
            queueing_ms: mean(&|run| delay(run).unwrap_or(0.0)),
        }
    };
    parts.iter().map(point).collect()
}

//! The delay of schemes, and the least that there is.

use super::{ExplainError, FrontierFigure, LinkPart, UseAndDelay};
use cellcc_experiment::{Record, is_limit, row_name};
use cellcc_link::{DelayFloor, TraceCache};
use cellcc_units::Ratio;
use serde::Serialize;

/// Runs by scheme, and the parts of links that they were on.
#[derive(Debug)]
pub struct Explanation<'a> {
    pub(super) schemes: Vec<SchemeRuns<'a>>,
    parts: Vec<LinkPart>,
}

/// A scheme's runs, each with the index of its part.
#[derive(Debug)]
pub(super) struct SchemeRuns<'a> {
    pub(super) name: String,
    /// The text for schemes that differ in numbers only.
    line: String,
    pub(super) runs: Vec<(&'a Record, usize)>,
}

/// A scheme's means over its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SchemeDelay {
    /// Scheme, driver and variation, as a row of the report names them.
    pub scheme: String,
    /// The number of its runs, over which the means are.
    pub runs: usize,
    /// The used part of the link's capacity.
    pub utilisation: f64,
    /// Mean queueing delay in milliseconds.
    pub queueing_mean_ms: f64,
    /// The least mean at each run's own use.
    pub least_mean_ms: f64,
    /// The 95th percentile of the queueing delay in milliseconds.
    pub queueing_p95_ms: f64,
    /// The percentile of the sender whose mean is the least.
    pub least_p95_ms: f64,
}

impl<'a> Explanation<'a> {
    /// Explains the runs of schemes among these Records; the limit's are left out. Reads each trace again.
    ///
    /// # Errors
    /// [`ExplainError`] where there is no run, or no link by itself: a cell, or a trace that cannot be read or has changed.
    pub fn new(records: &'a [Record], traces: &TraceCache) -> Result<Self, ExplainError> {
        let runs = records.iter().filter(|record| !is_limit(&record.scenario.scheme));
        let mut parts: Vec<LinkPart> = Vec::new();
        let mut schemes: Vec<SchemeRuns<'_>> = Vec::new();
        for record in runs {
            let part = part(record, traces)?;
            // Runs of many schemes are on the same part of the same link.
            let index = parts.iter().position(|other| *other == part).unwrap_or(parts.len());
            if index == parts.len() {
                parts.push(part);
            }
            let name = record.scenario.row_name();
            match schemes.iter_mut().find(|scheme| scheme.name == name) {
                Some(scheme) => scheme.runs.push((record, index)),
                None => schemes.push(SchemeRuns::new(name, record, index)),
            }
        }
        if schemes.is_empty() { Err(ExplainError::NoRuns) } else { Ok(Self { schemes, parts }) }
    }

    /// The parts of links that the runs were on, for [`least_delays`](super::least_delays).
    pub fn parts(&self) -> &[LinkPart] {
        &self.parts
    }

    /// Each scheme's delay and the least of its links, which [`least_delays`](super::least_delays) gives for
    /// [`parts`](Self::parts).
    pub fn delays(&self, least: &[DelayFloor]) -> Vec<SchemeDelay> {
        self.schemes.iter().map(|scheme| SchemeDelay::new(scheme, least)).collect()
    }

    /// The least delay as a line and the schemes as points; those that differ in numbers only as a line, in the order of their use.
    pub fn figure(&self, title: &str, least: &[DelayFloor]) -> FrontierFigure {
        let mut lines: Vec<(&str, String, Vec<UseAndDelay>)> = Vec::new();
        for (scheme, delay) in self.schemes.iter().zip(self.delays(least)) {
            let at = UseAndDelay { utilisation: delay.utilisation, queueing_ms: delay.queueing_mean_ms };
            match lines.iter_mut().find(|(line, ..)| *line == scheme.line) {
                Some((line, name, points)) => {
                    *name = (*line).to_owned();
                    points.push(at);
                }
                None => lines.push((&scheme.line, scheme.name.clone(), vec![at])),
            }
        }
        for (.., points) in &mut lines {
            points.sort_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
        }
        let schemes = lines.into_iter().map(|(_, name, points)| (name, points)).collect();
        FrontierFigure { schemes, ..FrontierFigure::new(title, least) }
    }
}

impl<'a> SchemeRuns<'a> {
    fn new(name: String, first: &'a Record, part: usize) -> Self {
        let scenario = &first.scenario;
        let line = row_name(&without_numbers(&scenario.scheme), &scenario.driver, &scenario.variation);
        Self { name, line, runs: vec![(first, part)] }
    }
}

impl SchemeDelay {
    fn new(scheme: &SchemeRuns<'_>, least: &[DelayFloor]) -> Self {
        let runs = &scheme.runs;
        let mean = |of: &dyn Fn(&Record, &DelayFloor) -> f64| {
            runs.iter().map(|(record, part)| of(record, &least[*part])).sum::<f64>() / runs.len() as f64
        };
        let at_its_use = |record: &Record, least: &DelayFloor| least.at(Ratio::new(record.total.utilisation));
        Self {
            scheme: scheme.name.clone(),
            runs: runs.len(),
            utilisation: mean(&|record, _| record.total.utilisation),
            queueing_mean_ms: mean(&|record, _| record.total.queueing_delay_mean_ms.unwrap_or(0.0)),
            least_mean_ms: mean(&|record, least| at_its_use(record, least).mean.as_millis_f64()),
            queueing_p95_ms: mean(&|record, _| record.total.queueing_delay_p95_ms.unwrap_or(0.0)),
            least_p95_ms: mean(&|record, least| at_its_use(record, least).p95.as_millis_f64()),
        }
    }
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

/// The part of the link that a run was measured on.
fn part(record: &Record, traces: &TraceCache) -> Result<LinkPart, ExplainError> {
    let scenario = &record.scenario;
    if traces.open(&scenario.trace)?.hash != scenario.trace_sha256 {
        return Err(ExplainError::OtherTrace(scenario.trace.clone()));
    }
    let capacities = scenario.capacities(traces)?;
    let [capacity] = capacities.forward.as_slice() else { return Err(ExplainError::Cell) };
    Ok(LinkPart {
        name: scenario.trace.clone(),
        capacity: capacity.beginning_at(scenario.warm_up).into(),
        duration: scenario.duration.saturating_sub(scenario.warm_up),
        rtt: scenario.path.rtt,
        access: scenario.path.access,
    })
}

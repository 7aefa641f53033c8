//! The delay of schemes, divided by that of another one at the same use.

use super::schemes::SchemeRuns;
use super::{AtLine, ExplainError, Explanation, UseAndDelay, at_line};
use cellcc_experiment::Record;
use serde::Serialize;

/// A scheme's delay, and that of another scheme at the same use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgainstLine {
    /// Scheme, driver and variation, as a row of the report names them.
    pub scheme: String,
    /// On how many traces all schemes ran.
    pub traces: usize,
    /// The used part of the links' capacity.
    pub utilisation: f64,
    /// The 95th percentile of the queueing delay.
    pub p95: DelayAgainst,
    /// Its mean.
    pub mean: DelayAgainst,
}

/// A delay, and the line's at the same use; nothing of that where the line does not reach to this use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DelayAgainst {
    /// The scheme's own, in milliseconds: the mean over traces.
    pub queueing_ms: f64,
    /// The line's.
    pub line_ms: Option<f64>,
    /// The scheme's divided by the line's.
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio over traces.
    pub interval: Option<(f64, f64)>,
}

/// A scheme's point on each trace on which all schemes ran.
type Points = Vec<UseAndDelay>;

impl Explanation<'_> {
    /// The other schemes against the line that several settings of `scheme` draw.
    ///
    /// # Errors
    /// [`ExplainError::NoLine`] where there are fewer than two settings of it, [`ExplainError::NoCommonTrace`].
    pub fn against(&self, scheme: &str) -> Result<Vec<AgainstLine>, ExplainError> {
        let is_of_line = |runs: &&SchemeRuns<'_>| name_of(runs) == scheme;
        let settings: Vec<&SchemeRuns<'_>> = self.schemes.iter().filter(is_of_line).collect();
        if settings.len() < 2 {
            return Err(ExplainError::NoLine { scheme: scheme.into(), count: settings.len() });
        }
        let parts = common_parts(&self.schemes);
        if parts.is_empty() {
            return Err(ExplainError::NoCommonTrace);
        }
        let others = self.schemes.iter().filter(|runs| !is_of_line(runs)).map(|runs| {
            let condition = condition_of(runs);
            let line: Vec<_> =
                settings.iter().copied().filter(|setting| condition_of(setting) == condition).collect();
            AgainstLine::new(runs, &line, &parts)
        });
        Ok(others.collect())
    }
}

impl AgainstLine {
    fn new(scheme: &SchemeRuns<'_>, line: &[&SchemeRuns<'_>], parts: &[usize]) -> Self {
        let against = |delay: fn(&Record) -> Option<f64>| {
            let own = points(scheme, parts, delay);
            let line: Vec<Points> = line.iter().map(|setting| points(setting, parts, delay)).collect();
            let queueing_ms = own.iter().map(|point| point.queueing_ms).sum::<f64>() / own.len() as f64;
            DelayAgainst::new(queueing_ms, at_line(&own, &line))
        };
        let uses = points(scheme, parts, |_| None);
        Self {
            scheme: scheme.name.clone(),
            traces: parts.len(),
            utilisation: uses.iter().map(|point| point.utilisation).sum::<f64>() / uses.len() as f64,
            p95: against(|record| record.total.queueing_delay_p95_ms),
            mean: against(|record| record.total.queueing_delay_mean_ms),
        }
    }
}

impl DelayAgainst {
    fn new(queueing_ms: f64, line: Option<AtLine>) -> Self {
        Self {
            queueing_ms,
            line_ms: line.map(|line| line.line_ms),
            ratio: line.map(|line| line.ratio),
            interval: line.and_then(|line| line.interval),
        }
    }
}

/// `tide` of `tide(delay=5ms)`.
fn name_of<'a>(scheme: &SchemeRuns<'a>) -> &'a str {
    let scheme = scheme.runs[0].0.scenario.scheme.as_str();
    scheme.split_once('(').map_or(scheme, |(name, _)| name)
}

/// The other common conditions of a scheme's runs.
fn condition_of<'a>(scheme: &SchemeRuns<'a>) -> (&'a str, &'a str) {
    let scenario = &scheme.runs[0].0.scenario;
    (&scenario.driver, &scenario.variation)
}

/// The parts of links on which every scheme ran.
fn common_parts(schemes: &[SchemeRuns<'_>]) -> Vec<usize> {
    let mut parts: Vec<usize> = schemes[0].runs.iter().map(|(_, part)| *part).collect();
    parts.sort_unstable();
    parts.dedup();
    parts.retain(|part| schemes.iter().all(|scheme| scheme.runs.iter().any(|(_, other)| other == part)));
    parts
}

/// Means over the runs on each part.
fn points(scheme: &SchemeRuns<'_>, parts: &[usize], delay: fn(&Record) -> Option<f64>) -> Points {
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

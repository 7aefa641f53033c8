//! The kinds of figures, and the refusal of those whose rows no reader tells apart.

use super::{Plot, is_called};
use crate::comparison::{Comparison, Trace, View, distinct};
use crate::figure::Figure;
use crate::figures::scatter::scatter;
use crate::figures::spread::{bars, boxes, distribution};
use crate::figures::sweep::over_condition;
use crate::figures::time::{Detail, POINTS, first_runs, over_time, quantities};
use crate::tables::grid::varied_keys;
use crate::{ReportError, TableColumn};
use cellcc_units::{ParseError, instead};
use std::str::FromStr;

/// Curves in a plot, of several conditions: as many as there are colours.
const MOST_CURVES: usize = 10;

/// How a figure shows its quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotKind {
    /// A point a row: one quantity against another one.
    Scatter,
    /// Quartiles over the traces.
    Box,
    /// Averages.
    Bars,
    /// The share of packets or traces up to a value.
    Cdf,
    /// The share above a value.
    Ccdf,
    /// Values over time.
    Time,
}

impl PlotKind {
    const ALL: [(&'static str, Self); 6] = [
        ("scatter", Self::Scatter),
        ("box", Self::Box),
        ("bars", Self::Bars),
        ("cdf", Self::Cdf),
        ("ccdf", Self::Ccdf),
        ("time", Self::Time),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for PlotKind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, kind)| *kind);
        found.ok_or_else(|| ParseError::new(text, "a kind of figure: scatter, box, bars, cdf, ccdf or time"))
    }
}

impl Plot {
    /// The figure of the kind that is wanted.
    pub(super) fn of_kind(
        &self,
        comparison: &Comparison,
        across: Option<Across>,
    ) -> Result<Figure, ReportError> {
        use PlotKind::{Bars, Box, Ccdf, Cdf, Scatter, Time};
        let y = if self.y.is_empty() { vec![comparison.gets()] } else { self.y.clone() };
        let key = if let Some(Across::Condition(key)) = across { Some(key) } else { None };
        match (self.kind, across) {
            (None, Some(Across::Condition(key))) => over_condition(comparison, key, &y).ok_or_else(|| {
                ReportError::Plot(format!(
                    "--x {key}: of the varied conditions {} a figure shows two; choose a value of the others with --only KEY=VALUE",
                    varied_keys(comparison).join(", ")
                ))
            }),
            (None | Some(Scatter), Some(Across::Column(x))) => {
                told_apart(comparison)?;
                Ok(below_each_other(y.iter().map(|y| scatter(comparison, View::All, &x, y))))
            }
            (Some(kind @ (Bars | Box)), None | Some(Across::Condition(_))) => {
                one_at_a_place(comparison, key)?;
                let draw = if kind == Box { boxes } else { bars };
                Ok(below_each_other(y.iter().map(|y| draw(comparison, y, key))))
            }
            (Some(kind @ (Cdf | Ccdf)), Some(Across::Column(x))) => {
                few_curves(comparison)?;
                distribution(comparison, &x, kind == Ccdf)
                    .ok_or_else(|| ReportError::Plot("no run has a value for the axes".into()))
            }
            (Some(Time), None) => {
                few_curves(comparison)?;
                self.over_time(comparison)
            }
            (kind, _) => {
                let kind = kind.map_or("scatter", PlotKind::name);
                let needs = match kind {
                    "scatter" | "cdf" | "ccdf" => "needs a column of the table as --x, such as --x rtt-p95",
                    "time" => "has no --x: its horizontal axis is the time",
                    _ => "has the schemes side by side, at each value of a varied parameter with --x KEY",
                };
                let missing = if self.kind.is_none() { ", or name a varied parameter" } else { "" };
                Err(ReportError::Plot(format!("--kind {kind} {needs}{missing}")))
            }
        }
    }

    /// The quantities over time of the first seed on the first trace.
    fn over_time(&self, comparison: &Comparison) -> Result<Figure, ReportError> {
        const USUAL: [&str; 2] = ["throughput_mbit_s", "queueing_delay_ms"];
        let series = |column: &TableColumn| {
            quantities().into_iter().find(|name| column.key.starts_with(name.trim_end_matches("_ms")))
        };
        let wanted = self.y.iter().map(|column| {
            let none = || {
                ReportError::Plot(format!(
                    "--y {}: not among the time series of runs; there are throughput, rtt and queueing",
                    column.name
                ))
            };
            series(column).ok_or_else(none)
        });
        let wanted: Vec<&str> = wanted.collect::<Result<_, _>>()?;
        let wanted = if wanted.is_empty() { USUAL.to_vec() } else { wanted };
        let has_series = |trace: &&Trace| first_runs(comparison, **trace).next().is_some();
        let trace = comparison.traces.iter().find(has_series);
        let trace = trace.ok_or_else(|| ReportError::Plot("no run has time series".into()))?;
        Ok(over_time(comparison, *trace, &wanted, Detail { points: POINTS, flows: 1 }))
    }
}

/// The quantity of the horizontal axis.
#[derive(Clone, Copy)]
pub(super) enum Across<'a> {
    Condition(&'a str),
    Column(TableColumn),
}

/// The quantity of this name: a condition, and where there is none, or the kind needs one, a column.
pub(super) fn across<'a>(
    comparison: &Comparison<'a>,
    kind: Option<PlotKind>,
    given: &str,
) -> Result<Across<'a>, ReportError> {
    let column = given.parse().map(Across::Column);
    let needs_column = matches!(kind, Some(PlotKind::Scatter | PlotKind::Cdf | PlotKind::Ccdf));
    let condition = comparison.conditions.iter().find(|condition| is_called(condition.key, given));
    if let Some(condition) = condition.filter(|_| !needs_column || column.is_err()) {
        return Ok(Across::Condition(condition.key));
    }
    column.map_err(|_: ReportError| {
        let known = varied_keys(comparison).into_iter().chain(TableColumn::names().map(String::from));
        let given: String = given.chars().take(60).collect();
        let there_are = instead(&given, "there are", &known.collect::<Vec<_>>().join(", "));
        ReportError::Plot(format!(
            "--x {given}: neither a column of the table nor a condition that is varied{there_are}"
        ))
    })
}

/// The varied condition of this name.
pub(super) fn facet<'a>(comparison: &Comparison<'a>, given: &str) -> Result<&'a str, ReportError> {
    let found = comparison.conditions.iter().find(|condition| is_called(condition.key, given));
    found.map(|condition| condition.key).ok_or_else(|| {
        let is_varied = instead(given, "varied are", &varied_keys(comparison).join(", "));
        ReportError::Plot(format!("--facet {given}: not a condition that is varied{is_varied}"))
    })
}

/// Refuses marks for more conditions than there are marks.
fn told_apart(comparison: &Comparison) -> Result<(), ReportError> {
    refuse(comparison, comparison.too_many_marks(), |count| {
        format!("no reader tells the marks of {count} conditions apart")
    })
}

/// Refuses lines of more than one condition that have one colour each.
fn few_curves(comparison: &Comparison) -> Result<(), ReportError> {
    let count = distinct(comparison.keys.iter().map(|key| key.label.as_str())).len();
    let is_tangle = comparison.told() > 1 && count > MOST_CURVES;
    refuse(comparison, is_tangle.then_some(count), |count| format!("no reader tells {count} curves apart"))
}

/// Refuses several conditions of a scheme at one place.
fn one_at_a_place(comparison: &Comparison, key: Option<&str>) -> Result<(), ReportError> {
    let count = Some(comparison.told()).filter(|count| *count > 1);
    let also = if key.is_none() { "; or put one on the axis with --x KEY" } else { "" };
    refuse(comparison, count, |count| format!("{count} conditions would stand at one place{also}"))
}

/// The refusal of so many, where there are too many, with what to write.
fn refuse(
    comparison: &Comparison,
    count: Option<usize>,
    why: impl Fn(usize) -> String,
) -> Result<(), ReportError> {
    let Some(count) = count else { return Ok(()) };
    let varied = comparison.conditions.iter().filter(|condition| condition.values.len() > 1);
    let open: Vec<_> = varied.filter(|condition| !comparison.placed.contains(&condition.key)).collect();
    let [first, ..] = open[..] else {
        return Err(ReportError::Plot(format!("{}; choose some with --scheme", why(count))));
    };
    let (key, value) = (first.key, first.values[0]);
    Err(ReportError::Plot(format!(
        "{}: choose with --only {key}={value}, or draw a plot for each value with --facet {key}",
        why(count)
    )))
}

/// One figure of several.
fn below_each_other(figures: impl Iterator<Item = Figure>) -> Figure {
    let all = figures.reduce(|mut above, below| {
        above.panels.extend(below.panels);
        above
    });
    all.expect("there is a column at least")
}

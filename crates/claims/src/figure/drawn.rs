//! Figures with the numbers of runs: the points of each line, and of the paper.

use super::{Figure, Line, Panel, Paper, Quoted, of_line};
use crate::claim_file::at;
use crate::expression::{ColumnUse, Expression, ExpressionError, Reduction, RunValue, What};
use crate::quantity::Value;
use crate::runs::DataRuns;
use crate::series;
use crate::{ClaimError, Quantity};

/// Most points of a time series, each the mean of neighbours: a figure of a page is about as many pixels wide.
const MOST_POINTS: usize = 400;

/// Points that are drawn together.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// Their source.
    pub of: PointsOf,
    /// Places. A value of the paper without one coordinate has NaN for it.
    pub points: Vec<(f64, f64)>,
    /// The 95 % intervals of x and y for a single point that is a mean over traces; else empty.
    pub intervals: Vec<[Option<(f64, f64)>; 2]>,
}

/// Source of points. A number is the index of a line in [`Figure::lines`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PointsOf {
    /// A time series.
    Time(usize),
    /// Values of a condition, in their order.
    Path(usize),
    /// Each by itself: a mean, or the traces.
    Each(usize),
    /// Capacity of the link over time.
    Capacity,
    /// The paper's values, of a line or of none, with their description.
    Paper(Option<usize>, String),
}

/// A figure with the points of its panels.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnFigure<'a> {
    /// The figure.
    pub figure: &'a Figure,
    /// The points of each panel, from back to front.
    pub panels: Vec<Vec<Points>>,
    /// The ids of the claims about the same data sets.
    pub claims: Vec<&'a str>,
}

impl Figure {
    /// The points of each panel, from back to front, without lines that have none. With runs that are only planned, this checks
    /// that everything the figure names exists.
    ///
    /// # Errors
    /// The first thing that is missing or does not fit, with file and line.
    pub fn drawn(&self, runs: &DataRuns) -> Result<Vec<Vec<Points>>, ClaimError> {
        self.panels.iter().map(|panel| self.panel(panel, runs)).collect()
    }

    fn panel(&self, panel: &Panel, runs: &DataRuns) -> Result<Vec<Points>, ClaimError> {
        let mut marks = Vec::new();
        if let Some((text, expression)) = &panel.capacity {
            let points = over_time(expression, runs).map_err(|error| self.error(text, &error))?;
            marks.push(Points { of: PointsOf::Capacity, points, intervals: Vec::new() });
        }
        for (index, line) in self.each_line().enumerate() {
            marks.push(self.line(panel, index, line, runs)?);
        }
        for Paper { line, says, x, y } in &panel.paper {
            let numbers = |of: &Option<Quoted>| match of {
                None => Ok(None),
                Some((text, expression)) => {
                    self.numbers(text, expression, runs).map(|found| Some(found.numbers))
                }
            };
            let points = match (numbers(x)?, numbers(y)?) {
                (None, Some(y)) if y.len() > 1 => self.pairs(panel, panel.over_names(), y)?,
                (x, y) => self.pairs(panel, x.unwrap_or(vec![f64::NAN]), y.unwrap_or(vec![f64::NAN]))?,
            };
            marks.push(Points { of: PointsOf::Paper(*line, says.clone()), points, intervals: Vec::new() });
        }
        marks.retain(|mark| {
            let is_of_paper = matches!(mark.of, PointsOf::Paper(..));
            let is_there = |(x, y): &(f64, f64)| {
                y.is_finite() && x.is_finite() || is_of_paper && (x.is_finite() || y.is_finite())
            };
            mark.points.iter().any(is_there)
        });
        Ok(marks)
    }

    fn line(
        &self,
        panel: &Panel,
        index: usize,
        line: Option<&Line>,
        runs: &DataRuns,
    ) -> Result<Points, ClaimError> {
        let (text, y) = (&panel.y.0, of_line(&panel.y.1, line));
        if panel.x.is_none() && panel.names.is_empty() {
            let points = over_time(&y, runs).map_err(|error| self.error(text, &error))?;
            return Ok(Points { of: PointsOf::Time(index), points, intervals: Vec::new() });
        }
        let y = self.numbers(text, &y, runs)?;
        let Some((text, x)) = &panel.x else {
            let points = self.pairs(panel, panel.over_names(), y.numbers)?;
            return Ok(Points { of: PointsOf::Each(index), points, intervals: Vec::new() });
        };
        let x = self.numbers(text, &of_line(x, line), runs)?;
        let intervals = [x.interval, y.interval];
        let of = if x.is_list || y.is_list { PointsOf::Path(index) } else { PointsOf::Each(index) };
        let points = self.pairs(panel, x.numbers, y.numbers)?;
        let intervals = if intervals == [None, None] { Vec::new() } else { vec![intervals] };
        Ok(Points { of, points, intervals })
    }

    fn pairs(&self, panel: &Panel, x: Vec<f64>, y: Vec<f64>) -> Result<Vec<(f64, f64)>, ClaimError> {
        if x.len() != y.len() {
            let (file, line) = &self.place;
            let problem = format!(
                "{}: x has {} numbers, and y has {}: {}",
                self.id,
                x.len(),
                y.len(),
                panel.y.0.trim()
            );
            return Err(at(file, *line, problem));
        }
        Ok(x.into_iter().zip(y).collect())
    }

    fn numbers(&self, text: &str, expression: &Expression, runs: &DataRuns) -> Result<Numbers, ClaimError> {
        let quantity = Quantity::points(expression, runs).map_err(|error| self.error(text, &error))?;
        Ok(match quantity.value() {
            Value::Number(number) => {
                Numbers { numbers: vec![number], interval: quantity.interval(), is_list: false }
            }
            Value::List(numbers) => Numbers { numbers, interval: None, is_list: !quantity.is_of_traces() },
        })
    }
}

impl Panel {
    fn over_names(&self) -> Vec<f64> {
        (0..self.names.len()).map(|at| at as f64).collect()
    }
}

struct Numbers {
    numbers: Vec<f64>,
    interval: Option<(f64, f64)>,
    is_list: bool,
}

/// The bins of a `window_mean` over seconds; with several runs, those of the first one that has a time series.
fn over_time(expression: &Expression, runs: &DataRuns) -> Result<Vec<(f64, f64)>, ExpressionError> {
    let Expression::Run(run @ RunValue { what: What::Columns(used), .. }) = expression else {
        return Err(ExpressionError::new(
            0,
            "over time, `y` is the `window_mean(scheme; column, from..to)` of a run",
        ));
    };
    let ColumnUse { reduction: Reduction::Mean(column), window } = used else {
        return Err(ExpressionError::new(
            run.at,
            "over time a column is drawn: `window_mean(scheme; column, from..to)`",
        ));
    };
    // Refuses names of runs that do not exist.
    Quantity::points(expression, runs)?;
    let of_data = run.data.as_ref().and_then(|name| runs.get(name)).into_iter().flatten();
    let mut found = of_data.filter(|other| other.is(&run.scheme, &run.conditions));
    let outcome = found.find_map(|run| run.outcome.as_deref().filter(|it| !it.series.columns.is_empty()));
    let points = outcome.and_then(|outcome| series::over_time(outcome, column, *window, MOST_POINTS));
    Ok(points.unwrap_or_default())
}

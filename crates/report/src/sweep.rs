//! The one condition that a plan varies, as the horizontal axis of a figure.

use crate::comparison::{Comparison, Row, label_by};
use crate::drawing::plot::{
    Area, Categories, Drawn, LINE_MARKER, Marker, Octaves, STROKE, Sample, chart, colour, legend, linear,
};
use crate::drawing::style::SchemeStyle;
use cellcc_experiment::varied;
use plotters::prelude::*;

/// What is shown over a varied condition.
pub(crate) struct Sweep<'a> {
    /// The condition: `path.queue`.
    pub(crate) key: &'a str,
    /// Its values, in the order of the plan.
    pub(crate) values: Vec<&'a str>,
    /// One a scheme and driver.
    pub(crate) lines: Vec<Line<'a>>,
}

/// A scheme's line.
pub(crate) struct Line<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) driver: &'a str,
    pub(crate) style: SchemeStyle,
    /// By value, the row that has it.
    pub(crate) rows: Vec<Option<Row<'a>>>,
}

impl<'a> Sweep<'a> {
    /// `None` where not exactly one condition is varied.
    pub(crate) fn new(comparison: &Comparison<'a>) -> Option<Self> {
        let mut key = None;
        let mut values: Vec<&str> = Vec::new();
        for row in comparison.rows.iter().filter(|row| !row.variation.is_empty()) {
            let [(this, value)] = varied(row.variation)[..] else { return None };
            if *key.get_or_insert(this) != this {
                return None;
            }
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let row_at = |scheme: (&str, &str), value: &str| {
            let has = |row: &&Row| {
                // The limit's row has no variation where it is the same under all.
                (row.scheme, row.driver) == scheme
                    && varied(row.variation).first().is_none_or(|(_, other)| *other == value)
            };
            comparison.rows.iter().find(has).copied()
        };
        let lines = comparison.schemes().into_iter().enumerate().map(|(index, scheme)| Line {
            scheme: scheme.0,
            driver: scheme.1,
            style: SchemeStyle::new(scheme.0, index, 0),
            rows: values.iter().map(|value| row_at(scheme, value)).collect(),
        });
        Some(Self { key: key.filter(|_| values.len() > 1)?, lines: lines.collect(), values })
    }

    /// The names of the lines.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.lines.iter().map(|line| label_by(line.scheme, line.driver)).collect()
    }

    /// What schemes get, mean and 95th percentile of the RTT over the condition: means over the traces.
    pub(crate) fn draw(&self, area: &Area, comparison: &Comparison<'a>) -> Drawn {
        let entries: Vec<_> = self
            .lines
            .iter()
            .map(|line| (label_by(line.scheme, line.driver), line.style, Sample::MarkedLine))
            .collect();
        let area = legend(area, &entries)?;
        let panels = area.split_evenly((3, 1));
        let gets = comparison.gets();
        let got = self.points(comparison, gets.quantity);
        let top = got.iter().flatten().map(|point| point.1).fold(0.0, f64::max);
        self.panel(&panels[0], &got, (linear(0.0, top.max(0.01) * 1.06), gets.title))?;
        let mean = self.points(comparison, |run| run.total.rtt_mean_ms);
        let p95 = self.points(comparison, |run| run.total.rtt_p95_ms);
        for (panel, points, title) in [(&panels[1], mean, "Mean RTT, ms"), (&panels[2], p95, "p95 RTT, ms")] {
            let delays: Vec<f64> = points.iter().flatten().map(|point| point.1).collect();
            self.panel(panel, &points, (Octaves::around(&delays, 0.0, false), title))?;
        }
        Ok(())
    }

    /// By line, its points.
    fn points(&self, comparison: &Comparison, quantity: crate::comparison::Quantity) -> Vec<Vec<(f64, f64)>> {
        let point = |(index, row): (usize, &Option<Row>)| {
            let value = comparison.mean((*row)?, quantity)?;
            (value > 0.0).then_some((index as f64, value))
        };
        self.lines.iter().map(|line| line.rows.iter().enumerate().filter_map(point).collect()).collect()
    }

    fn panel<Y>(&self, area: &Area, lines: &[Vec<(f64, f64)>], y: (Y, &str)) -> Drawn
    where
        Y: plotters::coord::ranged1d::Ranged<ValueType = f64>
            + plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        let x = Categories::new(&self.values);
        let tick = x.clone();
        let mut chart = chart(area, (x, self.key, &|value| tick.name(value)), y)?;
        for (line, points) in self.lines.iter().zip(lines) {
            let stroke = colour(line.style).stroke_width(STROKE);
            chart.draw_series(LineSeries::new(points.iter().copied(), stroke))?;
            let marker = |&at| Marker { at, style: line.style, radius: LINE_MARKER };
            chart.draw_series(points.iter().map(marker))?;
        }
        Ok(())
    }
}

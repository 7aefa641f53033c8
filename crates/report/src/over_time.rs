//! One figure of values over time, beside those of Records: a link's throughput, its delay.

use crate::drawing::plot::{
    CAPACITY, DASH, Drawn, GAP, STROKE, Sample, chart, colour, document, legend, legend_inches, linear, short,
};
use crate::drawing::style::SchemeStyle;
use crate::drawing::thin::thin;
use crate::figures::{HEIGHT_INCHES, POINTS, line};
use plotters::prelude::*;

/// Values at equal distances in time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeLine {
    /// For the legend.
    pub name: String,
    /// The values; NaN where there is none.
    pub values: Vec<f32>,
    /// Seconds from one value to the next, above zero.
    pub step_s: f64,
}

/// A figure of values over time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeFigure {
    /// For those who cannot see it.
    pub title: String,
    /// What the values are, with their unit.
    pub y_title: String,
    /// The time of the first value of each line, in seconds.
    pub start_s: f64,
    /// Drawn as an area behind the lines.
    pub area: Option<TimeLine>,
    /// Drawn as lines.
    pub lines: Vec<TimeLine>,
    /// One value throughout, for the legend and as a dashed line.
    pub level: Option<(String, f64)>,
}

/// An SVG document of a column's width. The same figure gives the same bytes; long lines are thinned, and keep their
/// peaks.
pub fn time_figure(figure: &TimeFigure) -> String {
    let area = figure.area.iter().map(|line| (line.name.clone(), style(0), Sample::Area));
    let lines = figure
        .lines
        .iter()
        .enumerate()
        .map(|(index, line)| (line.name.clone(), style(index), Sample::MarkedLine));
    let level = figure.level.iter().map(|(name, _)| (name.clone(), style(1), Sample::DashedLine));
    let entries: Vec<_> = area.chain(lines).chain(level).collect();
    let height = HEIGHT_INCHES + legend_inches(entries.iter().map(|(name, ..)| name.as_str()));
    document(&figure.title, height, |drawing| draw(figure, &legend(drawing, &entries)?))
}

fn style(index: usize) -> SchemeStyle {
    SchemeStyle::new("", index, 0)
}

fn draw(figure: &TimeFigure, drawing: &crate::drawing::plot::Area) -> Drawn {
    let points = |line: &TimeLine| {
        let (values, steps) = thin(&line.values, POINTS);
        let point = |(index, value)| (figure.start_s + index as f64 * line.step_s * steps, f64::from(value));
        values.into_iter().enumerate().map(point).collect::<Vec<_>>()
    };
    let area = figure.area.as_ref().map(points).unwrap_or_default();
    let lines: Vec<_> = figure.lines.iter().map(points).collect();
    let all = || lines.iter().flatten().chain(&area);
    let end = all().map(|(second, _)| *second).fold(figure.start_s + 1e-3, f64::max);
    let level = figure.level.as_ref().map(|(_, level)| *level);
    let values = all().map(|(_, value)| *value).chain(level).filter(|value| value.is_finite());
    let top = values.fold(1e-3, f64::max) * 1.05;
    let mut chart = chart(
        drawing,
        (linear(figure.start_s, end), "Time, s", &short),
        (linear(0.0, top), &figure.y_title),
    )?;
    chart.draw_series(AreaSeries::new(area, 0.0, CAPACITY))?;
    let count = lines.len();
    for (index, points) in lines.into_iter().enumerate() {
        line(&mut chart, points, style(index), index as f64 / count as f64)?;
    }
    if let Some(level) = level {
        let across = [(figure.start_s, level), (end, level)];
        let stroke = colour(style(1)).stroke_width(STROKE);
        chart.draw_series(DashedLineSeries::new(across, DASH, GAP, stroke))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(values: Vec<f32>) -> TimeFigure {
        TimeFigure {
            title: "<a log>".into(),
            y_title: "Delay, ms".into(),
            start_s: 0.0,
            area: None,
            lines: vec![TimeLine { name: "delay".into(), values, step_s: 0.001 }],
            level: Some(("p95".into(), 4.0)),
        }
    }

    #[test]
    fn an_hour_of_milliseconds_makes_a_small_figure() {
        let values = (0..3_600_000).map(|index| (index % 97) as f32).collect();
        let svg = time_figure(&figure(values));
        assert!(svg.len() < 60_000, "{}", svg.len());
        assert!(svg.contains("<title>&lt;a log&gt;</title>"));
    }

    #[test]
    fn nothing_but_gaps_is_a_figure_too() {
        for values in [vec![], vec![f32::NAN; 10], vec![1.0]] {
            assert!(crate::png(&time_figure(&figure(values))).is_ok());
        }
    }
}

//! One figure of what no sender could avoid: use against delay, and schemes beside it.

use crate::drawing::plot::{
    DASH, Drawn, GAP, LINE_MARKER, MARKER, Marker, Octaves, STROKE, Sample, chart, colour, document, legend,
    legend_inches, linear, short,
};
use crate::drawing::style::SchemeStyle;
use crate::figures::HEIGHT_INCHES;
use cellcc_experiment::LIMIT;
use plotters::prelude::*;

/// Use of a link and what it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UseAndDelay {
    /// What was carried of what the link could carry.
    pub utilisation: f64,
    /// The queueing delay in milliseconds: in the figure the mean.
    pub queueing_ms: f64,
}

/// The least delay at each use, and where schemes are.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontierFigure {
    /// For those who cannot see it.
    pub title: String,
    /// No sender is below: from little use to much.
    pub frontier: Vec<UseAndDelay>,
    /// By name: a scheme, or as a line one with several values of its knob.
    pub schemes: Vec<(String, Vec<UseAndDelay>)>,
}

/// Smaller delays look alike on a logarithmic axis.
const LEAST_DELAY_MS: f64 = 0.125;
/// The figure shows less use only where a scheme has less.
const LEAST_USE: f64 = 0.8;

/// An SVG document of a column's width; right and up is better. The same figure gives the same bytes.
pub fn frontier_figure(figure: &FrontierFigure) -> String {
    let style = |index| SchemeStyle::new("", index, 0);
    let bound = SchemeStyle::new(LIMIT, 0, 0);
    let schemes = figure.schemes.iter().enumerate();
    let entries: Vec<_> = std::iter::once(("no sender is beyond".to_owned(), bound, Sample::DashedLine))
        .chain(schemes.map(|(index, (name, points))| {
            let sample = if points.len() > 1 { Sample::MarkedLine } else { Sample::Marker };
            (name.clone(), style(index), sample)
        }))
        .collect();
    let height = HEIGHT_INCHES + legend_inches(entries.iter().map(|(name, ..)| name.as_str()));
    document(&figure.title, height, |drawing| draw(figure, &legend(drawing, &entries)?))
}

fn draw(figure: &FrontierFigure, area: &crate::drawing::plot::Area) -> Drawn {
    let place = |point: &UseAndDelay| (point.queueing_ms.max(LEAST_DELAY_MS), point.utilisation);
    let schemes: Vec<Vec<(f64, f64)>> =
        figure.schemes.iter().map(|(_, points)| points.iter().map(place).collect()).collect();
    let lowest = schemes.iter().flatten().map(|(_, utilisation)| *utilisation).fold(LEAST_USE, f64::min);
    let frontier: Vec<(f64, f64)> = figure.frontier.iter().map(place).filter(|at| at.1 >= lowest).collect();
    let delays: Vec<f64> = frontier.iter().chain(schemes.iter().flatten()).map(|(delay, _)| *delay).collect();
    let mut chart = chart(
        area,
        (Octaves::around(&delays, 0.15, true), "Mean queueing delay, ms", &short),
        (linear(lowest - 0.02, 1.01), "Utilisation"),
    )?;
    let stroke = colour(SchemeStyle::new(LIMIT, 0, 0)).stroke_width(STROKE);
    chart.draw_series(DashedLineSeries::new(frontier, DASH, GAP, stroke))?;
    for (index, points) in schemes.into_iter().enumerate() {
        let style = SchemeStyle::new("", index, 0);
        let radius = if points.len() > 1 { LINE_MARKER } else { MARKER };
        chart.draw_series(LineSeries::new(points.clone(), colour(style).stroke_width(STROKE)))?;
        chart.draw_series(points.into_iter().map(|at| Marker { at, style, radius }))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_without_delay_or_use_have_a_place_too() {
        let at = |utilisation, queueing_ms| UseAndDelay { utilisation, queueing_ms };
        let schemes =
            vec![("idle".into(), vec![at(0.0, 0.0)]), ("a<b".into(), vec![at(0.9, 1e4), at(0.8, 10.0)])];
        for frontier in [vec![], vec![at(0.9, 0.0), at(0.99, 80.0)]] {
            let figure = FrontierFigure { title: "x".into(), frontier, schemes: schemes.clone() };
            let svg = frontier_figure(&figure);
            assert!(svg.contains("a&lt;b") && crate::png(&svg).is_ok());
        }
    }
}

//! One figure of the lower bound: utilisation against delay, with the schemes in it.

use crate::figure::{Axis, Figure, Key, Mark, Panel, Shape, Style};
use crate::figures::HEIGHT_INCHES;

/// Utilisation of a link and its delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UseAndDelay {
    /// The used part of the link's capacity.
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

impl From<&FrontierFigure> for Figure {
    /// Right and up is better.
    fn from(figure: &FrontierFigure) -> Self {
        let place = |point: &UseAndDelay| (point.queueing_ms.max(LEAST_DELAY_MS), point.utilisation);
        let uses = figure.schemes.iter().flat_map(|(_, points)| points).map(|point| point.utilisation);
        let lowest = uses.fold(LEAST_USE, f64::min);
        let frontier = figure.frontier.iter().map(place).filter(|at| at.1 >= lowest).collect();
        let scheme = |(index, (_, points)): (usize, &(String, Vec<UseAndDelay>))| {
            let shape = if points.len() > 1 { Shape::Path } else { Shape::Points };
            Mark::new(index + 1, shape, points.iter().map(place).collect())
        };
        let bound = Mark::new(0, Shape::Dashed, frontier);
        let marks: Vec<Mark> =
            std::iter::once(bound).chain(figure.schemes.iter().enumerate().map(scheme)).collect();
        let names = figure.schemes.iter().enumerate();
        let keys = names.map(|(index, (name, _))| Key::new(name, Style::nth(index), index + 1));
        let delays = marks.iter().flat_map(|mark| &mark.points).map(|point| point.0);
        let x = Axis::delay("Mean queueing delay, ms", delays).leftwards();
        let y = Axis::linear("Utilisation", lowest - 0.02, 1.01);
        Self {
            title: figure.title.clone(),
            keys: std::iter::once(Key::new("no sender is beyond", Style::reference(), 0))
                .chain(keys)
                .collect(),
            panels: vec![Panel::new(x, y, marks, HEIGHT_INCHES)],
            ..Self::default()
        }
    }
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
            let svg = Figure::from(&figure).svg();
            assert!(svg.contains("a&lt;b") && crate::png(&svg).is_ok());
        }
    }
}

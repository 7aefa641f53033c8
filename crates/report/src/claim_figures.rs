//! The papers' figures as the report draws them.

use crate::claims::ClaimFigure;
use crate::figure::{self, Axis, Key, Mark, Shape, Style};
use cellcc_claims::{DrawnFigure, Figure, Panel, Points, PointsOf, paper_title};

/// Height of a panel.
const INCHES: f64 = 2.4;
/// Panels that stand side by side.
const COLUMNS: usize = 2;

impl<'a> From<&DrawnFigure<'a>> for ClaimFigure<'a> {
    fn from(drawn: &DrawnFigure<'a>) -> Self {
        let figure = drawn.figure;
        Self {
            id: &figure.id,
            group: paper_title(&figure.group),
            source: &figure.source,
            claims: drawn.claims.clone(),
            figure: one(figure, &drawn.panels),
        }
    }
}

fn one(figure: &Figure, panels: &[Vec<Points>]) -> figure::Figure {
    // First the lines, then the paper's values of each, then single elements.
    let labels = if figure.lines.is_empty() {
        vec!["here"]
    } else {
        figure.lines.iter().map(|line| line.name.as_str()).collect()
    };
    let count = labels.len();
    let keys = labels.into_iter().enumerate().map(|(at, label)| Key::new(label, Style::nth(at), at));
    let mut keys: Vec<Key> =
        keys.chain((0..count).map(|at| Key::new("", Style::nth(at).starred(), at))).collect();
    let panels = figure.panels.iter().zip(panels).map(|(panel, points)| {
        let points = &turned(panel, points);
        let [x, y] = axes(panel, points);
        let marks = points.iter().flat_map(|points| {
            let mark = |key, shape| Mark {
                intervals: points.intervals.clone(),
                ..Mark::new(key, shape, points.points.clone())
            };
            match &points.of {
                PointsOf::Capacity => vec![mark(key(&mut keys, "capacity"), Shape::Area)],
                PointsOf::Time(line) => vec![mark(*line, Shape::Line)],
                PointsOf::Path(line) => vec![mark(*line, Shape::Path)],
                PointsOf::Each(line) => vec![mark(*line, Shape::Points)],
                PointsOf::Paper(_, says) if points.points.iter().any(|(x, y)| x.is_nan() || y.is_nan()) => {
                    let key = key(&mut keys, says);
                    let ends = |(at_x, at_y): &(f64, f64)| {
                        if at_x.is_nan() {
                            vec![(x.from, *at_y), (x.to, *at_y)]
                        } else {
                            vec![(*at_x, y.from), (*at_x, y.to)]
                        }
                    };
                    points.points.iter().map(|at| Mark::new(key, Shape::Dashed, ends(at))).collect()
                }
                PointsOf::Paper(line, says) => {
                    // The star is explained once, in the colour of the text.
                    let explained = key(&mut keys, if says.is_empty() { "the paper" } else { says });
                    let of = line.map_or(explained, |line| count + line);
                    vec![Mark::new(explained, Shape::Points, Vec::new()), mark(of, Shape::Points)]
                }
            }
        });
        let marks = marks.collect();
        figure::Panel { title: panel.title.clone(), ..figure::Panel::new(x, y, marks, INCHES) }
    });
    let panels: Vec<_> = panels.collect();
    figure::Figure {
        name: figure.id.to_lowercase(),
        title: figure.says.clone(),
        keys,
        columns: panels.len().min(COLUMNS),
        panels,
        notes: vec![figure.note.clone()],
        ..figure::Figure::default()
    }
}

/// The place of the key with this label; a new one where no key has it.
fn key(keys: &mut Vec<Key>, label: &str) -> usize {
    keys.iter().position(|key| key.label == label).unwrap_or_else(|| {
        keys.push(Key::new(label, Style::reference(), keys.len()));
        keys.len() - 1
    })
}

/// Names stand on the left, where there is room for them, the first at the top.
fn turned(panel: &Panel, points: &[Points]) -> Vec<Points> {
    let mut points = points.to_vec();
    if let Some(last) = panel.names.len().checked_sub(1) {
        let all = points.iter_mut().flat_map(|points| &mut points.points);
        all.for_each(|point| *point = (point.1, last as f64 - point.0));
    }
    points
}

fn axes(panel: &Panel, points: &[Points]) -> [Axis; 2] {
    let all = || points.iter().flat_map(|points| &points.points);
    let axis = |title: &String, is_log: bool, values: Vec<f64>| {
        let values = values.into_iter().filter(|value| value.is_finite());
        if is_log { Axis::logarithmic(title, values) } else { Axis::from_zero(title, values) }
    };
    let (x, y): (Vec<f64>, Vec<f64>) = all().copied().unzip();
    let [x_title, y_title] = &panel.axes;
    let is_over_time = points.iter().any(|points| matches!(points.of, PointsOf::Time(_)));
    if !panel.names.is_empty() {
        let names: Vec<&String> = panel.names.iter().rev().collect();
        return [axis(y_title, panel.log[1], x), Axis::names(x_title, &names)];
    }
    let x = if is_over_time {
        let end = |choose: fn(f64, f64) -> f64| {
            x.iter().copied().filter(|at| at.is_finite()).reduce(choose).unwrap_or(0.0)
        };
        Axis { title: x_title.clone(), ..Axis::time(end(f64::min), end(f64::max)) }
    } else {
        axis(x_title, panel.log[0], x)
    };
    [x, axis(y_title, panel.log[1], y)]
}

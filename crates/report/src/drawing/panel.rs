//! A panel of a figure: axes, grid and marks.

use crate::figure::{Axis, Figure, Mark, Panel, Scale, Shape, Style, is_number, shortened_titles};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;
use std::ops::Range;

/// Text of 7.44 points, about that of captions.
pub(super) const TEXT: u32 = 31;
/// Thickness of lines: 0.8 points.
pub(super) const STROKE: u32 = 3;
/// A marker by itself, one on a line, and a measured point.
pub(super) const MARKER: f64 = 15.0;
const LINE_MARKER: f64 = 9.0;
const DOT: u32 = 4;
/// Markers on a line, so that it is known without its colour.
const MARKERS: usize = 6;
/// On and off of a dashed line.
pub(super) const DASH: u32 = 14;
pub(super) const GAP: u32 = 10;
const INK: RGBColor = RGBColor(0x1c, 0x1f, 0x23);
/// A link's capacity, as an area.
pub(super) const CAPACITY: RGBColor = RGBColor(0xd2, 0xd6, 0xda);
const GRID: RGBColor = RGBColor(0xdd, 0xe0, 0xe3);
/// The share of white in bars, so that their marks and intervals are seen.
const PALE: f64 = 0.6;
/// From the lightest cell to the darkest one: white to the first of the colours.
const DARKEST: (u8, u8, u8) = (0x00, 0x72, 0xb2);
/// Height of a panel's title, and of the numbers and the title below it.
const TITLE: i32 = 44;
pub(super) const BELOW: u32 = 88;
/// The room below a panel whose horizontal axis has neither: schemes side by side, which the legend names.
const BELOW_BARE: u32 = 20;
/// The least room for the numbers and the title on the left of a panel, that of its title alone, and that without both.
const LEFT: u32 = 124;
const LEFT_TITLE: u32 = 64;
pub(super) const LEFT_BARE: u32 = 12;
/// The mean width of a letter of sans-serif fonts, in ems: no font is at hand to measure with.
const LETTER_EMS: f64 = 0.56;
/// Letters of a name in the legend, and on an axis.
pub(super) const LONGEST_NAME: usize = 36;
const LONGEST_TICK: usize = 24;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn = Result<(), Box<dyn Error>>;
pub(super) type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

pub(super) fn text() -> TextStyle<'static> {
    ("sans-serif", TEXT).into_font().color(&INK)
}

pub(super) fn centred() -> TextStyle<'static> {
    text().pos(Pos::new(HPos::Center, VPos::Center))
}

pub(super) fn letters(text: &str) -> f64 {
    text.chars().count() as f64 * f64::from(TEXT) * LETTER_EMS
}

pub(super) fn shortened(text: &str, longest: usize) -> String {
    match text.chars().count() {
        count if count <= longest => text.to_owned(),
        _ => text.chars().take(longest - 1).chain(['…']).collect(),
    }
}

/// The colour of a scheme; the limit has that of the text.
pub(super) fn colour(style: Style) -> RGBColor {
    style.colour().map_or(INK, |(r, g, b)| RGBColor(r, g, b))
}

fn pale(RGBColor(red, green, blue): RGBColor) -> RGBColor {
    let mix = |part: u8| (f64::from(part) + (255.0 - f64::from(part)) * PALE).round() as u8;
    RGBColor(mix(red), mix(green), mix(blue))
}

/// The corners of a scheme's marker round its point; none: a circle.
pub(super) fn corners(style: Style, radius: f64) -> Vec<(i32, i32)> {
    let scaled = |length: f64| (length * radius).round() as i32;
    style.corners().iter().map(|(across, down)| (scaled(*across), scaled(*down))).collect()
}

/// The title of an axis in the form that has room; at the end it is cut.
fn fitted(title: &str, room: u32) -> String {
    let [whole, short, shortest] = shortened_titles(title);
    let fits = [whole, short].into_iter().find(|title| letters(title) <= f64::from(room));
    shortened(&fits.unwrap_or(shortest), (f64::from(room) / letters("x")).max(2.0) as usize)
}

/// The axis with as many of its texts as stand side by side without touching; a place without a text has no tick.
fn fitting(axis: &Axis, width: u32) -> Axis {
    let ticks = axis.labelled(8);
    let widest = ticks.iter().map(|(_, text)| letters(&shortened(text, LONGEST_TICK))).fold(1.0, f64::max);
    let count = (0.8 * f64::from(width) / (widest + letters("  "))).max(1.0) as usize;
    let step = ticks.len().div_ceil(count).max(1);
    let ticks = ticks.into_iter().step_by(step).filter(|(_, text)| !text.is_empty());
    Axis { ticks: ticks.collect(), ..axis.clone() }
}

/// The room for the numbers and the title of a vertical axis.
pub(super) fn left_of(axis: &Axis) -> u32 {
    let texts = axis.labelled(5).into_iter().map(|(_, text)| letters(&shortened(&text, LONGEST_TICK)));
    LEFT.max(LEFT_TITLE + texts.fold(0.0, f64::max) as u32)
}

/// Axes, grid and marks; `left` of the panel is the room for its vertical axis, which stays empty where a neighbour has it.
pub(super) fn draw_panel<'a>(
    area: &Area<'a>,
    panel: &Panel,
    figure: &Figure,
    left: u32,
) -> Result<Chart<'a>, Box<dyn Error>> {
    let area = match panel.title.as_str() {
        "" => area.clone(),
        title => {
            let (above, below) = area.split_vertically(TITLE);
            let middle = (area.dim_in_pixel().0 as i32 / 2, TITLE / 2);
            above.draw(&Text::new(fitted(title, area.dim_in_pixel().0), middle, centred()))?;
            below
        }
    };
    let (width, height) = area.dim_in_pixel();
    let (x, y) = (fitting(&panel.x, width), Axis { ticks: panel.y.labelled(5), ..panel.y.clone() });
    let below = if x.ticks.is_empty() { BELOW_BARE } else { BELOW };
    let (has_axis, across) = (left > LEFT_BARE, width.saturating_sub(left));
    let y_title = if has_axis { fitted(&panel.y.title, height.saturating_sub(below)) } else { String::new() };
    let ticks = y.clone();
    let mut chart = ChartBuilder::on(&area)
        .margin_top(14)
        .margin_left(14)
        .margin_right(48)
        .margin_bottom(6)
        .set_label_area_size(LabelAreaPosition::Left, left)
        .set_label_area_size(LabelAreaPosition::Bottom, below)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc(fitted(&panel.x.title, across))
        .y_desc(y_title)
        .y_label_formatter(&|value| if has_axis { ticks.text(*value) } else { String::new() })
        .x_labels(8)
        .y_labels(5)
        .label_style(text())
        .axis_desc_style(text())
        .axis_style(INK.stroke_width(2))
        .bold_line_style(GRID.stroke_width(2))
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (index, mark) in panel.marks.iter().enumerate() {
        let style = figure.keys.get(mark.key).map_or(Style::reference(), |key| key.style);
        draw_mark(&mut chart, mark, style, index as f64 / panel.marks.len() as f64)?;
    }
    Ok(chart)
}

/// A mark; the markers on lines are shifted by `phase` (0 to 1) of their distance so that those of two lines do not meet.
fn draw_mark(chart: &mut Chart, mark: &Mark, style: Style, phase: f64) -> Drawn {
    let stroke = colour(style).stroke_width(STROKE);
    let points = || mark.known_points();
    chart.draw_series(mark.interval_lines().map(|ends| PathElement::new(ends, stroke)))?;
    if matches!(mark.shape, Shape::Line | Shape::Path) {
        // A gap in the values is a gap in the line.
        for part in mark.points.split(|point| !is_number(point)) {
            chart.draw_series(LineSeries::new(part.iter().copied(), stroke))?;
        }
    }
    match mark.shape {
        Shape::Points => markers(chart, points(), style, MARKER)?,
        Shape::Path => markers(chart, points(), style, LINE_MARKER)?,
        Shape::Line => {
            let apart = (mark.points.len() / MARKERS).max(1);
            let first = (apart as f64 * (0.1 + 0.8 * phase)) as usize;
            let marked = mark.points.iter().copied().skip(first).step_by(apart).filter(is_number);
            markers(chart, marked, style, LINE_MARKER)?;
        }
        Shape::Dashed => {
            chart.draw_series(DashedLineSeries::new(points(), DASH, GAP, stroke))?;
        }
        Shape::Area => {
            chart.draw_series(AreaSeries::new(points(), 0.0, CAPACITY))?;
        }
        Shape::Dots => {
            chart.draw_series(points().map(|at| Circle::new(at, DOT, colour(style).filled())))?;
        }
        Shape::Cells | Shape::Ranked => draw_cells(chart, mark)?,
        Shape::Bar => {
            let (corners, fill) = (points().collect::<Vec<_>>(), pale(colour(style)).filled());
            chart
                .draw_series(corners.chunks_exact(2).map(|ends| Rectangle::new([ends[0], ends[1]], fill)))?;
        }
    }
    Ok(())
}

fn markers(chart: &mut Chart, points: impl Iterator<Item = (f64, f64)>, style: Style, radius: f64) -> Drawn {
    let (corners, colour) = (corners(style, radius), colour(style).filled());
    if corners.is_empty() {
        chart.draw_series(points.map(|at| Circle::new(at, radius as u32, colour)))?;
    } else {
        chart.draw_series(points.map(|at| EmptyElement::at(at) + Polygon::new(&corners[..], colour)))?;
    }
    Ok(())
}

fn draw_cells(chart: &mut Chart, mark: &Mark) -> Drawn {
    let shade = |shade: f64| {
        let mix = |end: u8| (255.0 + (f64::from(end) - 255.0) * shade.clamp(0.0, 1.0)).round() as u8;
        RGBColor(mix(DARKEST.0), mix(DARKEST.1), mix(DARKEST.2))
    };
    let cells = || mark.points.iter().copied().zip(&mark.cells);
    chart.draw_series(cells().map(|((x, y), (dark, _))| {
        Rectangle::new([(x - 0.5, y + 0.5), (x + 0.5, y - 0.5)], shade(*dark).filled())
    }))?;
    let centre = |dark: f64| {
        let ink = if dark > 0.55 { WHITE } else { INK };
        ("sans-serif", TEXT * 4 / 5).into_font().color(&ink).pos(Pos::new(HPos::Center, VPos::Center))
    };
    chart.draw_series(cells().map(|(at, (dark, words))| Text::new(words.clone(), at, centre(*dark))))?;
    Ok(())
}

impl Axis {
    /// The text at a value that has one.
    fn text(&self, value: f64) -> String {
        let text = self.ticks.iter().find(|(at, _)| *at == value).map(|(_, text)| text.as_str());
        shortened(text.unwrap_or_default(), LONGEST_TICK)
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        // Zero is infinitely far below an axis of logarithms: smaller values stand at its end.
        let value = if self.scale == Scale::Log { value.max(self.from) } else { *value };
        from + (f64::from(to - from) * self.share(value).clamp(-1.0, 2.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(value, _)| *value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.text(*value)
    }
}

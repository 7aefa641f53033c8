//! A figure for a paper: an SVG document.

use crate::drawing::labels;
use crate::drawing::markup::escape;
use crate::figure::{Axis, Figure, Key, Length, Mark, Panel, Paper, Shape, Style, is_number};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;
use std::ops::Range;

/// Units of the drawing per inch, with letters of the usual size. The library draws at whole units: at 300 the steps are too
/// small to be seen.
const PER_INCH: f64 = 300.0;
const POINTS_PER_INCH: f64 = 72.0;
/// The width of a column of a two-column paper, and that of both columns.
const COLUMN_INCHES: f64 = 3.5;
const PAGE_INCHES: f64 = 7.16;
/// Text of 7.44 points, about that of captions.
pub(super) const TEXT: u32 = 31;
/// Thickness of lines: 0.8 points.
const STROKE: u32 = 3;
/// A marker by itself, one on a line, and a measured point.
pub(super) const MARKER: f64 = 15.0;
const LINE_MARKER: f64 = 9.0;
const DOT: u32 = 4;
/// Markers on a line, so that it is known without its colour.
const MARKERS: usize = 6;
/// On and off of a dashed line.
const DASH: u32 = 14;
const GAP: u32 = 10;
const INK: RGBColor = RGBColor(0x1c, 0x1f, 0x23);
/// What a link could carry, as an area.
const CAPACITY: RGBColor = RGBColor(0xd2, 0xd6, 0xda);
const GRID: RGBColor = RGBColor(0xdd, 0xe0, 0xe3);
/// From the lightest cell to the darkest one: white to the first of the colours.
const DARKEST: (u8, u8, u8) = (0x00, 0x72, 0xb2);
const LEGEND_ROW: i32 = 44;
const LEGEND_SAMPLE: i32 = 64;
/// Rows of a legend that the height of a panel has room for.
const FEW_ROWS: i32 = 3;
/// Height of a panel's title, and of the numbers and the title below it.
const TITLE: i32 = 44;
const BELOW: u32 = 88;
/// The least room for the numbers and the title on the left of a panel, and that of its title alone.
const LEFT: u32 = 124;
const LEFT_TITLE: u32 = 64;
/// The mean width of a letter of sans-serif fonts, in ems: no font is at hand to measure with.
const LETTER_EMS: f64 = 0.56;
/// Letters of a name in the legend, and on an axis.
pub(super) const LONGEST_NAME: usize = 36;
const LONGEST_TICK: usize = 24;

/// Room that the axes of a panel need at least, in letters: across and down.
const LEAST_ROOM: [u32; 2] = [12, 7];

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn = Result<(), Box<dyn Error>>;
pub(super) type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// A figure on its paper: how large, in units of the drawing, and where the entries of its legend go.
struct Sheet<'a> {
    per_inch: f64,
    width: u32,
    height: u32,
    /// How many panels stand side by side.
    columns: usize,
    entries: Vec<(&'a Key, Shape)>,
    places: Vec<(String, (i32, i32))>,
    /// What legend and panels need.
    least_height: u32,
}

impl<'a> Sheet<'a> {
    fn new(figure: &'a Figure, paper: &Paper) -> Self {
        let per_inch =
            paper.font_size.map_or(PER_INCH, |size| f64::from(TEXT) * POINTS_PER_INCH / size.points());
        let columns = figure.columns.clamp(1, figure.panels.len().max(1));
        let usual_inches = if columns > 1 { PAGE_INCHES } else { COLUMN_INCHES };
        let width = (paper.width.map_or(usual_inches, Length::inches) * per_inch) as u32;
        let entries = if paper.labels { Vec::new() } else { figure.shown_keys() };
        let places = places(&entries, width as i32);
        let legend_rows = places.last().map_or(0, |(_, (_, y))| *y);
        let panels_inches: f64 = figure.panels.chunks(columns).map(row_inches).sum();
        let rows = figure.panels.len().div_ceil(columns) as u32;
        let least_height = rows * (LEAST_ROOM[1] * TEXT + BELOW) + legend_rows as u32;
        let usual_height = panels_inches * per_inch + f64::from((legend_rows - FEW_ROWS * LEGEND_ROW).max(0));
        let height = match paper.height {
            Some(height) => (height.inches() * per_inch) as u32,
            None => (usual_height as u32).max(least_height),
        };
        Self { per_inch, width, height, columns, entries, places, least_height }
    }
}

fn row_inches(row: &[Panel]) -> f64 {
    row.iter().map(|panel| panel.inches).fold(0.0, f64::max)
}

/// Why the paper has no room for the figure, if it has none.
pub(crate) fn too_small(figure: &Figure, paper: &Paper) -> Option<String> {
    let sheet = Sheet::new(figure, paper);
    let least_width = sheet.columns as u32 * (LEFT + LEAST_ROOM[0] * TEXT);
    let inches = |units: u32| f64::from(units) / sheet.per_inch;
    let (what, has, needs) = if sheet.width < least_width {
        ("wide", sheet.width, least_width)
    } else if sheet.height < sheet.least_height {
        ("high", sheet.height, sheet.least_height)
    } else {
        return None;
    };
    let (has, needs) = (inches(has), inches(needs));
    Some(format!("it is {has:.2} in {what}, and letters of this size need {needs:.2} in"))
}

pub(crate) fn document(figure: &Figure, paper: &Paper) -> String {
    let sheet = Sheet::new(figure, paper);
    let Sheet { per_inch, width, height, columns, entries, places, .. } = &sheet;
    let rows = || figure.panels.chunks(*columns);
    let panels_inches: f64 = rows().map(row_inches).sum();
    let draw = |area: &Area| -> Drawn {
        area.fill(&WHITE)?;
        let mut rest = legend(area, entries, places)?;
        let high = f64::from(rest.dim_in_pixel().1);
        for row in rows() {
            let (upper, lower) = rest.split_vertically((high * row_inches(row) / panels_inches) as i32);
            for (panel, area) in row.iter().zip(upper.split_evenly((1, *columns))) {
                let chart = draw_panel(&area, panel, figure)?;
                if paper.labels {
                    labels::draw(&chart, panel, figure)?;
                }
            }
            rest = lower;
        }
        Ok(area.present()?)
    };
    let mut svg = String::new();
    draw(&SVGBackend::with_string(&mut svg, (*width, *height)).into_drawing_area())
        .expect("drawing into memory cannot fail");
    let units = format!("width=\"{width}\" height=\"{height}\"");
    let [wide, high] = [width, height].map(|units| f64::from(*units) / per_inch);
    let svg = svg.replacen(&units, &format!("width=\"{wide}in\" height=\"{high}in\""), 1);
    match svg.split_once(">\n") {
        Some((head, rest)) => format!("{head}>\n<title>{}</title>\n{rest}", escape(&figure.title)),
        None => svg,
    }
}

fn text() -> TextStyle<'static> {
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
fn colour(style: Style) -> RGBColor {
    style.colour().map_or(INK, |(r, g, b)| RGBColor(r, g, b))
}

/// The corners of a scheme's marker round its point; none: a circle.
fn corners(style: Style, radius: f64) -> Vec<(i32, i32)> {
    let scaled = |length: f64| (length * radius).round() as i32;
    style.corners().iter().map(|(across, down)| (scaled(*across), scaled(*down))).collect()
}

/// Where the entries of a legend go, each with its text as it fits.
fn places(entries: &[(&Key, Shape)], width: i32) -> Vec<(String, (i32, i32))> {
    let (mut x, mut y) = (12, 8 + LEGEND_ROW / 2);
    let mut places = Vec::new();
    for (key, _) in entries {
        let name = shortened(&key.label, LONGEST_NAME);
        let entry = LEGEND_SAMPLE + 12 + letters(&name) as i32;
        if x > 12 && x + entry > width {
            (x, y) = (12, y + LEGEND_ROW);
        }
        places.push((name, (x, y)));
        x += entry + 36;
    }
    places
}

/// Draws what lines and markers mean, in as many rows as it takes; gives the rest of the area.
fn legend<'a>(
    area: &Area<'a>,
    entries: &[(&Key, Shape)],
    places: &[(String, (i32, i32))],
) -> Result<Area<'a>, Box<dyn Error>> {
    let Some((_, (_, bottom))) = places.last() else { return Ok(area.clone()) };
    for ((key, shape), (name, (x, y))) in entries.iter().zip(places) {
        let (x, y, stroke) = (*x, *y, colour(key.style).stroke_width(STROKE));
        let ends = [(x, y), (x + LEGEND_SAMPLE, y)];
        match shape {
            Shape::Points | Shape::Dots | Shape::Cells => {}
            Shape::Line | Shape::Path => area.draw(&PathElement::new(ends, stroke))?,
            Shape::Dashed => area.draw(&DashedPathElement::new(ends, DASH, GAP, stroke))?,
            Shape::Area => {
                let corners = [(x, y - LEGEND_ROW / 4), (x + LEGEND_SAMPLE, y + LEGEND_ROW / 4)];
                area.draw(&Rectangle::new(corners, CAPACITY.filled()))?;
            }
        }
        if matches!(shape, Shape::Points | Shape::Dots | Shape::Line | Shape::Path) {
            let (at, radius, colour) = ((x + LEGEND_SAMPLE / 2, y), MARKER * 0.8, colour(key.style).filled());
            let corners = corners(key.style, radius);
            if corners.is_empty() {
                area.draw(&Circle::new(at, radius as u32, colour))?;
            } else {
                area.draw(&(EmptyElement::at(at) + Polygon::new(corners, colour)))?;
            }
        }
        let left = text().pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(name.clone(), (x + LEGEND_SAMPLE + 12, y), left))?;
    }
    Ok(area.split_vertically(bottom + LEGEND_ROW / 2 + 4).1)
}

/// The axis with as many of its texts as stand side by side without touching.
fn fitting(axis: &Axis, width: u32) -> Axis {
    let ticks = axis.labelled(8);
    let widest = ticks.iter().map(|(_, text)| letters(&shortened(text, LONGEST_TICK))).fold(1.0, f64::max);
    let count = (0.8 * f64::from(width) / (widest + letters("  "))).max(1.0) as usize;
    let step = ticks.len().div_ceil(count).max(1);
    Axis { ticks: ticks.into_iter().step_by(step).collect(), ..axis.clone() }
}

/// Axes, grid and marks.
fn draw_panel<'a>(area: &Area<'a>, panel: &Panel, figure: &Figure) -> Result<Chart<'a>, Box<dyn Error>> {
    let area = match panel.title.as_str() {
        "" => area.clone(),
        title => {
            let (above, below) = area.split_vertically(TITLE);
            let middle = (area.dim_in_pixel().0 as i32 / 2, TITLE / 2);
            above.draw(&Text::new(title.to_owned(), middle, centred()))?;
            below
        }
    };
    let (x, y) =
        (fitting(&panel.x, area.dim_in_pixel().0), Axis { ticks: panel.y.labelled(5), ..panel.y.clone() });
    let widest = y.ticks.iter().map(|(_, text)| letters(&shortened(text, LONGEST_TICK))).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .margin_top(14)
        .margin_left(14)
        .margin_right(48)
        .margin_bottom(6)
        .set_label_area_size(LabelAreaPosition::Left, LEFT.max(LEFT_TITLE + widest as u32))
        .set_label_area_size(LabelAreaPosition::Bottom, BELOW)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc(&panel.x.title)
        .y_desc(&panel.y.title)
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
        Shape::Cells => draw_cells(chart, mark)?,
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

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        // Zero on an axis of logarithms is infinitely far outside.
        from + (f64::from(to - from) * self.share(*value).clamp(-1.0, 2.0)).round() as i32
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
        let text = self.ticks.iter().find(|(at, _)| at == value).map(|(_, text)| text.as_str());
        shortened(text.unwrap_or_default(), LONGEST_TICK)
    }
}

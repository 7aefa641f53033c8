//! The pieces of a figure for a paper: canvas, axes, legend, markers.

use crate::drawing::markup::escape;
use crate::drawing::style::SchemeStyle;
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::element::{DashedPathElement, Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{BackendCoord, DrawingErrorKind};
use std::error::Error;
use std::iter::Once;
use std::ops::Range;

/// Units of the drawing per inch. The library draws at whole units: at 300 the steps are too small to be seen.
const PER_INCH: f64 = 300.0;
/// The width of a column of a two-column paper.
const COLUMN_INCHES: f64 = 3.5;
/// Text of 7.5 points, about that of captions.
const TEXT: u32 = 31;
/// Thickness of lines: 0.8 points.
pub(crate) const STROKE: u32 = 3;
/// A marker in the scatter plot, and one on a line.
pub(crate) const MARKER: f64 = 15.0;
pub(crate) const LINE_MARKER: f64 = 9.0;
/// On and off of a dashed line.
pub(crate) const DASH: u32 = 14;
pub(crate) const GAP: u32 = 10;
const INK: RGBColor = RGBColor(0x1c, 0x1f, 0x23);
/// What a link could carry, as an area.
pub(crate) const CAPACITY: RGBColor = RGBColor(0xd2, 0xd6, 0xda);
const GRID: RGBColor = RGBColor(0xdd, 0xe0, 0xe3);
const LEGEND_ROW: i32 = 44;
const LEGEND_SAMPLE: i32 = 64;
/// The mean width of a letter of sans-serif fonts, in ems: no font is at hand to measure with.
const LETTER_EMS: f64 = 0.56;
/// Letters of a name in the legend.
const LONGEST_NAME: usize = 36;

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Drawn = Result<(), Box<dyn Error>>;

/// An SVG document of a column's width; `title` is for those who cannot see it.
pub(crate) fn document(title: &str, height_inches: f64, draw: impl FnOnce(&Area) -> Drawn) -> String {
    let (width, height) = ((COLUMN_INCHES * PER_INCH) as u32, (height_inches * PER_INCH) as u32);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        let drawn = area.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&area));
        drawn.and_then(|()| Ok(area.present()?)).expect("drawing into memory cannot fail");
    }
    let units = format!("width=\"{width}\" height=\"{height}\"");
    let inches = format!("width=\"{COLUMN_INCHES}in\" height=\"{height_inches}in\"");
    let svg = svg.replacen(&units, &inches, 1);
    match svg.split_once(">\n") {
        Some((head, rest)) => format!("{head}>\n<title>{}</title>\n{rest}", escape(title)),
        None => svg,
    }
}

/// The text of figures.
pub(crate) fn text() -> TextStyle<'static> {
    ("sans-serif", TEXT).into_font().color(&INK)
}

/// The colour of a scheme; the limit has that of the text.
pub(crate) fn colour(style: SchemeStyle) -> RGBColor {
    style.colour.map_or(INK, |(r, g, b)| RGBColor(r, g, b))
}

/// A scheme's marker at a point.
pub(crate) struct Marker<C> {
    pub(crate) at: C,
    pub(crate) style: SchemeStyle,
    pub(crate) radius: f64,
}

impl<'a, C> PointCollection<'a, C> for &'a Marker<C> {
    type Point = &'a C;
    type IntoIter = Once<&'a C>;

    fn point_iter(self) -> Self::IntoIter {
        std::iter::once(&self.at)
    }
}

impl<C, DB: DrawingBackend> Drawable<DB> for Marker<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut points: I,
        backend: &mut DB,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<DB::ErrorType>> {
        let Some((x, y)) = points.next() else { return Ok(()) };
        let colour = colour(self.style);
        if self.style.marker.is_empty() {
            return backend.draw_circle((x, y), self.radius as u32, &colour, true);
        }
        let scaled = |length: f64| (length * self.radius).round() as i32;
        let corners = self.style.marker.iter().map(|(across, down)| (x + scaled(*across), y + scaled(*down)));
        backend.fill_polygon(corners, &colour)
    }
}

/// How something is shown in a figure, for its legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    Marker,
    MarkedLine,
    DashedLine,
    Area,
}

/// Where the entries of a legend go, each with its text as it fits.
fn places<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(String, (i32, i32))> {
    let width = (COLUMN_INCHES * PER_INCH) as i32;
    let (mut x, mut y) = (12, 8 + LEGEND_ROW / 2);
    let mut places = Vec::new();
    for name in names {
        let name: String = if name.chars().count() > LONGEST_NAME {
            name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
        } else {
            name.to_owned()
        };
        let letters = (name.chars().count() as f64 * f64::from(TEXT) * LETTER_EMS) as i32;
        let entry = LEGEND_SAMPLE + 12 + letters;
        if x > 12 && x + entry > width {
            (x, y) = (12, y + LEGEND_ROW);
        }
        places.push((name, (x, y)));
        x += entry + 36;
    }
    places
}

/// What a figure with these names in its legend needs beyond the height of one with few.
pub(crate) fn legend_inches<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    const FEW_ROWS: i32 = 3;
    let last = places(names).last().map_or(0, |(_, (_, y))| *y);
    f64::from((last - FEW_ROWS * LEGEND_ROW).max(0)) / PER_INCH
}

/// Draws what the lines and markers mean, in as many rows as it takes; gives the rest of the area.
pub(crate) fn legend<'a>(
    area: &Area<'a>,
    entries: &[(String, SchemeStyle, Sample)],
) -> Result<Area<'a>, Box<dyn Error>> {
    let places = places(entries.iter().map(|(name, ..)| name.as_str()));
    let bottom = places.last().map_or(8 + LEGEND_ROW / 2, |(_, (_, y))| *y);
    for ((_, style, sample), (name, (x, y))) in entries.iter().zip(places) {
        let stroke = colour(*style).stroke_width(STROKE);
        let ends = [(x, y), (x + LEGEND_SAMPLE, y)];
        match sample {
            Sample::Marker => {}
            Sample::MarkedLine => area.draw(&PathElement::new(ends, stroke))?,
            Sample::DashedLine => area.draw(&DashedPathElement::new(ends, DASH, GAP, stroke))?,
            Sample::Area => {
                let corners = [(x, y - LEGEND_ROW / 4), (x + LEGEND_SAMPLE, y + LEGEND_ROW / 4)];
                area.draw(&Rectangle::new(corners, CAPACITY.filled()))?;
            }
        }
        if matches!(sample, Sample::Marker | Sample::MarkedLine) {
            area.draw(&Marker { at: (x + LEGEND_SAMPLE / 2, y), style: *style, radius: MARKER * 0.8 })?;
        }
        let left = text().pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(name, (x + LEGEND_SAMPLE + 12, y), left))?;
    }
    Ok(area.split_vertically(bottom + LEGEND_ROW / 2 + 4).1)
}

/// A chart whose axes are `X` and `Y`.
pub(crate) type Chart<'a, X, Y = RangedCoordf64> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>;

/// Axes and grid on all of `area`: the axis, its title, and for the horizontal one what its ticks say.
pub(crate) fn chart<'a, X, Y>(
    area: &Area<'a>,
    (x, x_title, x_tick): (X, &str, &dyn Fn(f64) -> String),
    (y, y_title): (Y, &str),
) -> Result<Chart<'a, X, Y>, Box<dyn Error>>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin_top(14)
        .margin_left(14)
        .margin_right(48)
        .margin_bottom(6)
        .set_label_area_size(LabelAreaPosition::Left, 124)
        .set_label_area_size(LabelAreaPosition::Bottom, 88)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc(x_title)
        .y_desc(y_title)
        .x_labels(8)
        .y_labels(5)
        .x_label_formatter(&|value| x_tick(*value))
        .y_label_formatter(&|value| short(*value))
        .label_style(text())
        .axis_desc_style(text())
        .axis_style(INK.stroke_width(2))
        .bold_line_style(GRID.stroke_width(2))
        .light_line_style(TRANSPARENT)
        .draw()?;
    Ok(chart)
}

/// A linear axis.
pub(crate) fn linear(from: f64, to: f64) -> RangedCoordf64 {
    (from..to).into()
}

/// A tick's number without digits that say nothing.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// An axis of names in a given order, the first at zero, the next at one.
#[derive(Debug, Clone)]
pub(crate) struct Categories {
    names: Vec<String>,
}

/// Letters of a name on an axis.
const LONGEST_TICK: usize = 14;

impl Categories {
    pub(crate) fn new(names: &[&str]) -> Self {
        let shortened = |name: &&str| match name.chars().count() {
            0..=LONGEST_TICK => (*name).to_owned(),
            _ => name.chars().take(LONGEST_TICK - 1).chain(['…']).collect(),
        };
        Self { names: names.iter().map(shortened).collect() }
    }

    /// The name at a place.
    pub(crate) fn name(&self, value: f64) -> String {
        self.names.get(value.round() as usize).cloned().unwrap_or_default()
    }
}

impl Ranged for Categories {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (value + 0.5) / self.names.len().max(1) as f64;
        from + (f64::from(to - from) * share).round() as i32
    }

    /// As many names as stand beside each other without touching, over the width of a column.
    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        let longest = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let name_width = (longest + 2) as f64 * f64::from(TEXT) * LETTER_EMS;
        let fitting = (0.8 * COLUMN_INCHES * PER_INCH / name_width).max(1.0) as usize;
        (0..self.names.len()).step_by(self.names.len().div_ceil(fitting).max(1)).map(|at| at as f64).collect()
    }

    fn range(&self) -> Range<f64> {
        -0.5..self.names.len() as f64 - 0.5
    }
}

impl ValueFormatter<f64> for Categories {
    fn format_ext(&self, value: &f64) -> String {
        self.name(*value)
    }
}

/// A logarithmic axis from power of two to power of two.
#[derive(Debug, Clone)]
pub(crate) struct Octaves {
    low: i32,
    high: i32,
    leftwards: bool,
}

impl Octaves {
    /// Around `values` (above zero), with room of `margin` octaves; `leftwards`: larger values to the left.
    pub(crate) fn around(values: &[f64], margin: f64, leftwards: bool) -> Self {
        let logs = || values.iter().map(|value| libm::log2(*value)).filter(|log| log.is_finite());
        let low = logs().reduce(f64::min).map_or(0, |low| (low - margin).floor() as i32);
        let high = logs().reduce(f64::max).map_or(1, |high| (high + margin).ceil() as i32);
        Self { low, high: high.max(low + 1), leftwards }
    }
}

impl Ranged for Octaves {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (libm::log2(*value) - f64::from(self.low)) / f64::from(self.high - self.low);
        let share = if self.leftwards { 1.0 - share } else { share };
        from + (f64::from(to - from) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let most = hint.max_num_points().max(2) as i32;
        let step = ((self.high - self.low) / most + 1) as usize;
        (self.low..=self.high).step_by(step).map(|power| libm::exp2(f64::from(power))).collect()
    }

    fn range(&self) -> Range<f64> {
        libm::exp2(f64::from(self.low))..libm::exp2(f64::from(self.high))
    }
}

impl ValueFormatter<f64> for Octaves {
    fn format_ext(&self, value: &f64) -> String {
        short(*value)
    }
}

//! A figure for a paper: an SVG document.

use crate::drawing::labels;
use crate::drawing::markup::escape;
use crate::drawing::panel::{
    Area, BELOW, CAPACITY, DASH, Drawn, GAP, LEFT_BARE, LONGEST_NAME, MARKER, STROKE, TEXT, colour, corners,
    draw_panel, left_of, letters, shortened, text,
};
use crate::figure::{Figure, Key, Length, Panel, Paper, Shape};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

/// Units of the drawing per inch, with letters of the usual size. The library draws at whole units: at 300 the steps are too
/// small to be seen.
const PER_INCH: f64 = 300.0;
const POINTS_PER_INCH: f64 = 72.0;
/// The width of a column of a two-column paper, and that of both columns.
const COLUMN_INCHES: f64 = 3.5;
const PAGE_INCHES: f64 = 7.16;
const LEGEND_ROW: i32 = 44;
const LEGEND_SAMPLE: i32 = 64;
/// Rows of a legend that the height of a panel has room for.
const FEW_ROWS: i32 = 3;

/// Room that the axes of a panel need at least, in letters: across and down.
const LEAST_ROOM: [u32; 2] = [12, 7];

/// A figure on its paper: how large, in units of the drawing, and where the entries of its legend go.
struct Sheet<'a> {
    per_inch: f64,
    width: u32,
    height: u32,
    /// For each of the panels that stand side by side, the room for its vertical axis.
    lefts: Vec<u32>,
    entries: Vec<(&'a Key, Shape)>,
    places: Vec<(String, (i32, i32))>,
    /// The height that legend and panels need.
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
        Self { per_inch, width, height, lefts: lefts(figure, columns), entries, places, least_height }
    }
}

/// The room on the left of each panel of a row for its vertical axis, where it has not that of the panel before it. All rows have
/// the same, so that equal values stand above each other.
fn lefts(figure: &Figure, columns: usize) -> Vec<u32> {
    let mut lefts = vec![LEFT_BARE; columns];
    for row in figure.panels.chunks(columns) {
        let before = std::iter::once(None).chain(row.iter().map(|panel| Some(&panel.y)));
        for ((panel, before), left) in row.iter().zip(before).zip(&mut lefts) {
            if before != Some(&panel.y) {
                *left = left_of(&panel.y).max(*left);
            }
        }
    }
    lefts
}

fn row_inches(row: &[Panel]) -> f64 {
    row.iter().map(|panel| panel.inches).fold(0.0, f64::max)
}

/// Why the paper has no room for the figure, if it has none.
pub(crate) fn too_small(figure: &Figure, paper: &Paper) -> Option<String> {
    let sheet = Sheet::new(figure, paper);
    let least_width = sheet.lefts.iter().sum::<u32>() + sheet.lefts.len() as u32 * LEAST_ROOM[0] * TEXT;
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

impl Figure {
    /// An SVG document as wide as a column of a paper, or as a page where panels stand side by side. Equal figures give equal
    /// bytes.
    pub fn svg(&self) -> String {
        self.svg_on(&Paper::default())
    }

    /// Draws it for a paper with a given size and font size.
    pub fn svg_on(&self, paper: &Paper) -> String {
        document(self, paper)
    }
}

fn document(figure: &Figure, paper: &Paper) -> String {
    let sheet = Sheet::new(figure, paper);
    let Sheet { per_inch, width, height, lefts, entries, places, .. } = &sheet;
    let rows = || figure.panels.chunks(lefts.len());
    // All plots are equally wide, whatever stands on their left.
    let plot = width.saturating_sub(lefts.iter().sum()) / lefts.len() as u32;
    let panels_inches: f64 = rows().map(row_inches).sum();
    let draw = |area: &Area| -> Drawn {
        area.fill(&WHITE)?;
        let mut rest = legend(area, entries, places)?;
        let high = f64::from(rest.dim_in_pixel().1);
        for row in rows() {
            let (upper, lower) = rest.split_vertically((high * row_inches(row) / panels_inches) as i32);
            let mut beside = upper;
            for (panel, &left) in row.iter().zip(lefts) {
                let (area, right) = beside.split_horizontally(left + plot);
                beside = right;
                let chart = draw_panel(&area, panel, figure, left)?;
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

/// Where the entries of a legend go, each with its text as it fits.
fn places(entries: &[(&Key, Shape)], width: i32) -> Vec<(String, (i32, i32))> {
    let (mut x, mut y) = (12, 8 + LEGEND_ROW / 2);
    let mut places = Vec::new();
    let mut has_colours = false;
    for (key, shape) in entries {
        let name = shortened(&key.label, LONGEST_NAME);
        let entry = LEGEND_SAMPLE + 12 + letters(&name) as i32;
        // The marks of conditions are a legend of their own.
        let is_mark = key.group == usize::MAX && *shape == Shape::Points;
        if x > 12 && (x + entry > width || is_mark && has_colours) {
            (x, y) = (12, y + LEGEND_ROW);
        }
        has_colours = !is_mark;
        places.push((name, (x, y)));
        x += entry + 36;
    }
    places
}

/// An area of a colour.
fn swatch(x: i32, y: i32, colour: RGBColor) -> Rectangle<(i32, i32)> {
    let corners = [(x, y - LEGEND_ROW / 4), (x + LEGEND_SAMPLE, y + LEGEND_ROW / 4)];
    Rectangle::new(corners, colour.filled())
}

/// Draws the legend of lines and markers, in as many rows as it takes; gives the rest of the area.
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
            Shape::Points | Shape::Dots | Shape::Ranked | Shape::Bar => {}
            Shape::Cells => area.draw(&swatch(x, y, colour(key.style)))?,
            Shape::Line | Shape::Path => area.draw(&PathElement::new(ends, stroke))?,
            Shape::Dashed => area.draw(&DashedPathElement::new(ends, DASH, GAP, stroke))?,
            Shape::Area => area.draw(&swatch(x, y, CAPACITY))?,
        }
        if matches!(shape, Shape::Points | Shape::Dots | Shape::Line | Shape::Path | Shape::Bar) {
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

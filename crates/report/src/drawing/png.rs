//! A figure's SVG, read again to draw it as pixels, for where neither SVG nor PDF is taken, and as PDF: the same on every
//! machine, as the font comes with it.

use crate::ReportError;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// SVG's unit is 1/96 inch; 3 pixels each are 288 per inch, the least that journals accept.
const PIXELS_PER_UNIT: f32 = 3.0;
/// The letters of Latin, Greek and Cyrillic: the same picture on every machine, whatever fonts it has.
const FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
const FONT_FAMILY: &str = "DejaVu Sans";

pub(crate) fn png(svg: &str, font: Option<&[u8]>) -> Result<Vec<u8>, ReportError> {
    let failed = |problem: &str| ReportError::Drawing(problem.into());
    let tree = tree(svg, font)?;
    let size = tree.size().to_int_size().scale_by(PIXELS_PER_UNIT).ok_or_else(|| failed("it has no size"))?;
    let pixels = Pixmap::new(size.width(), size.height());
    let mut pixels = pixels.ok_or_else(|| failed("it is too large"))?;
    let scale = Transform::from_scale(PIXELS_PER_UNIT, PIXELS_PER_UNIT);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(&error.to_string()))
}

/// The drawing, with its letters in `font`, the content of a file of TrueType or OpenType; letters that it lacks, and all
/// letters without a font, are those of DejaVu Sans.
///
/// # Errors
/// [`ReportError::Drawing`] where `svg` is not an SVG document, and [`ReportError::Font`] where `font` is not a font.
pub(crate) fn tree(svg: &str, font: Option<&[u8]>) -> Result<Tree, ReportError> {
    let mut options = Options { font_family: FONT_FAMILY.into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(FONT.to_vec());
    let family = font.map(family).transpose()?;
    fonts.load_font_data(font.unwrap_or_default().to_vec());
    fonts.set_sans_serif_family(family.as_deref().unwrap_or(FONT_FAMILY));
    Tree::from_str(svg, &options).map_err(|error| ReportError::Drawing(error.to_string()))
}

/// The name of a font.
///
/// # Errors
/// [`ReportError::Font`] where the content is not a font.
pub(crate) fn family(font: &[u8]) -> Result<String, ReportError> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(font.to_vec());
    let family = fonts.faces().next().and_then(|face| Some(face.families.first()?.0.clone()));
    family.ok_or(ReportError::Font)
}

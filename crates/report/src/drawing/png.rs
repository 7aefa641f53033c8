//! Figures as pixels.

use crate::ReportError;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// The letters of Latin, Greek and Cyrillic: the same picture on every machine, whatever fonts it has.
const FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
const FONT_FAMILY: &str = "DejaVu Sans";

/// SVG's unit is 1/96 inch; 3 pixels each are 288 per inch, what journals ask for at least.
const PIXELS_PER_UNIT: f32 = 3.0;

pub(crate) fn png(svg: &str) -> Result<Vec<u8>, ReportError> {
    let failed = |problem: String| ReportError::Png(problem);
    let mut options = Options { font_family: FONT_FAMILY.into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FONT_FAMILY);
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(error.to_string()))?;
    let size =
        tree.size().to_int_size().scale_by(PIXELS_PER_UNIT).ok_or_else(|| failed("it has no size".into()))?;
    let mut pixels =
        Pixmap::new(size.width(), size.height()).ok_or_else(|| failed("it is too large".into()))?;
    let scale = Transform::from_scale(PIXELS_PER_UNIT, PIXELS_PER_UNIT);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(error.to_string()))
}

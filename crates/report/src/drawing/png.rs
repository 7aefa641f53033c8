//! A figure as pixels, for where neither SVG nor PDF is taken.

use crate::ReportError;
use crate::drawing::tree::tree;
use resvg::tiny_skia::{Pixmap, Transform};

/// SVG's unit is 1/96 inch; 3 pixels each are 288 per inch, what journals ask for at least.
const PIXELS_PER_UNIT: f32 = 3.0;

pub(crate) fn png(svg: &str, font: Option<&[u8]>) -> Result<Vec<u8>, ReportError> {
    let failed = |problem: String| ReportError::Drawing(problem);
    let tree = tree(svg, font)?;
    let size =
        tree.size().to_int_size().scale_by(PIXELS_PER_UNIT).ok_or_else(|| failed("it has no size".into()))?;
    let mut pixels =
        Pixmap::new(size.width(), size.height()).ok_or_else(|| failed("it is too large".into()))?;
    let scale = Transform::from_scale(PIXELS_PER_UNIT, PIXELS_PER_UNIT);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(error.to_string()))
}

//! What files are drawn with.

pub(crate) mod labels;
pub(crate) mod markup;
#[cfg(feature = "png")]
pub(crate) mod png;
pub(crate) mod svg;

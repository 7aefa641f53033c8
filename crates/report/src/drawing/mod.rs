//! The drawing of files.

mod labels;
pub(crate) mod markup;
mod panel;
#[cfg(feature = "pdf")]
pub(crate) mod pdf;
#[cfg(feature = "png")]
pub(crate) mod png;
pub(crate) mod svg;

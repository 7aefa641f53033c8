//! What all figures are drawn with.

pub(crate) mod markup;
pub(crate) mod plot;
#[cfg(feature = "png")]
pub(crate) mod png;
pub(crate) mod style;
pub(crate) mod thin;

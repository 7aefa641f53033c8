//! stub
use cellcc_units::{Rate, Span};
/// stub
pub const DEFAULT_LENGTH: Span = Span::from_secs(180);
/// stub
pub fn generate(_name: &str, _seed: u64, _length: Span) -> Option<Vec<(Span, Rate)>> { None }

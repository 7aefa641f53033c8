//! x
pub mod synthetic;

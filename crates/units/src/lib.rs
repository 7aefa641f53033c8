//! The quantities of cellcc as types: [`Time`] and [`Span`] (nanoseconds), [`Rate`] (bytes per second),
//! [`Bytes`] and [`Ratio`], each with one text form (`"20ms"`, `"12Mbit/s"`, `"1500B"`, `"80%"`); and what a [`Queue`]
//! is, which every floor speaks of.
//!
//! Arithmetic saturates at the ends of the range: a window or a deadline that runs away stays at the largest
//! value and never wraps round to a small one.

mod bytes;
mod discipline;
mod queue;
mod rate;
mod ratio;
mod text;
mod time;

pub use bytes::Bytes;
pub use discipline::{CoDel, Pie, Queue};
pub use queue::QueueLimit;
pub use rate::Rate;
pub use ratio::Ratio;
pub use text::{ParseError, split_number, split_outside_parentheses};
pub use time::{Span, Time};

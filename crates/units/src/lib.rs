//! The quantities of cellcc as types, each with one text form: [`Time`] and [`Span`] in nanoseconds (`"20ms"`),
//! [`Rate`] in bytes per second (`"12Mbit/s"`), [`Bytes`] (`"1500B"`) and [`Ratio`] (`"80%"`).
//!
//! Arithmetic saturates at the ends of the range: a window or a deadline that grows without bound stays at the
//! largest value and never wraps to a small one.

mod bytes;
mod ecn;
mod first_window;
#[doc(hidden)]
pub mod input;
#[doc(hidden)]
pub mod output;
mod parts;
mod printable;
mod queue;
mod rate;
mod ratio;
mod text;
mod time;

pub use bytes::Bytes;
pub use ecn::Ecn;
pub use first_window::FirstWindow;
pub use queue::QueueLimit;
pub use rate::Rate;
pub use ratio::Ratio;
pub use text::ParseError;
pub use time::{Span, Time};

// Internal, exact version: the one way to read a file that a user names (`input`), to write one (`output`), and to print an
// untrusted name (`printable`); notations and messages.
#[doc(hidden)]
pub use self::{
    parts::{NotZero, Parts, name_and_parts},
    printable::{printable, printable_lines},
    text::{
        DEEPEST, MOST_BYTES, MOST_TERMS, deserialize_text, instead, split_number, split_outside_parentheses,
    },
};

//! How much of the queueing delay is the link's own, and how much each scheme's (docs/how-to/explain.md).
//!
//! ```text
//! Records -> Explanation -> a SchemeDelay for each scheme     its delay, and the least that any sender could have had
//!                        -> an AgainstLine for each scheme    its delay, and that of another scheme at the same use
//!                        -> a FrontierFigure                  use against delay, with the least as a line
//! links   -> a LinkDelay for each                              the least by itself
//! ```

mod against;
mod figure;
mod line;
mod links;
mod schemes;

pub use against::{AgainstLine, DelayAgainst};
pub use figure::{FrontierFigure, UseAndDelay};
pub use line::{AtLine, at_line};
pub use links::{Bound, LinkDelay, LinkPart, least_delays};
pub use schemes::{Explanation, SchemeDelay};

use cellcc_experiment::ResolveError;
use cellcc_link::SpecError;
use cellcc_units::Span;
use thiserror::Error;

/// Reasons why results cannot be explained.
#[derive(Debug, Error)]
pub enum ExplainError {
    /// A part of a link on which no packet can be held against anything.
    #[error(
        "{name}: carries nothing within {duration}, or that is shorter than the RTT of {rtt}: write a longer --duration"
    )]
    Nothing {
        /// The trace.
        name: String,
        /// The requested length of it.
        duration: Span,
        /// The RTT of the requested least delay.
        rtt: Span,
    },
    /// Only runs of the limit, or none.
    #[error("holds no run of a scheme")]
    NoRuns,
    /// A trace that has changed since the runs.
    #[error("{0}: is not the trace of these results; run the comparison again")]
    OtherTrace(String),
    /// Several users share the link.
    #[error("these are results of a cell: its users' shares depend on each other's queues")]
    Cell,
    /// A scheme without a line.
    #[error(
        "--against {scheme}: the results hold {count} of it; a line needs a scheme with several values of a parameter, such as \
         `cellcc compare --schemes 'tide(delay={{2ms,5ms,20ms}}),bbr'`"
    )]
    NoLine {
        /// The scheme that was to be the line.
        scheme: String,
        /// How many settings of it there are.
        count: usize,
    },
    /// Schemes that have no trace in common.
    #[error("there is no trace on which all of the schemes ran")]
    NoCommonTrace,
    /// A trace that cannot be read.
    #[error(transparent)]
    Trace(#[from] SpecError),
    /// Conditions of a Record that have no link.
    #[error(transparent)]
    Scenario(#[from] ResolveError),
}

//! The speed of the packet engine, and the cost of each scheme.
//!
//! | measurement | quantity |
//! |---|---|
//! | `packets` | packets per second of one core, at a small and at a large window |
//! | `acks` | time for an acknowledgement, scheme by scheme, next to a window that never changes |
//! | `instructions` | the same in instructions, counted by callgrind: the same in every run |
//! | `packet-instructions` | instructions for a data packet of one flow; fails above a bound, with a table by stage |
//! | `packet-stages` | that table for several schemes |
//! | `packet-misses` | cache misses for a data packet where few and many flows share a link; fails above a bound |
//! | `many-flows` | these and the time, for several schemes |
//! | `many-flows-figure` | the figure of that table, drawn from the page that has it |
//! | `part tell SCHEME TIMES`, `part run SCHEME MS`, `part packets-of SCHEME MS`, `part flows-of SCHEME FLOWS MS` | a part of
//! these, to be counted or profiled |
//!
//! Times depend on this machine at this moment: compare them within one run only.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, reason = "a benchmark")]

pub(crate) mod acks;
#[cfg(feature = "network")]
pub(crate) mod figure;
pub(crate) mod misses;
pub(crate) mod packets;
pub(crate) mod stages;

use crate::{Arguments, Outcome, usage};
use std::process::ExitCode;
use std::time::Duration;

/// One run of those that the others consist of.
pub(crate) fn part(arguments: Arguments) -> Outcome<ExitCode> {
    match arguments {
        ["tell", scheme, times] => acks::tell(scheme, times.parse()?)?,
        ["run", scheme, ms] => acks::run(scheme, Duration::from_millis(ms.parse()?))?,
        ["packets-of", scheme, ms] => stages::run(scheme, ms.parse()?)?,
        ["flows-of", scheme, flows, ms] => misses::run(scheme, flows.parse()?, ms.parse()?)?,
        _ => return usage("part"),
    }
    Ok(ExitCode::SUCCESS)
}

//! The needs of NetAssist for ten million users, and how a region comes back after an outage: `cellcc-measure netassist-tree`.
//!
//! Regions are trees of their own: a hub that servers connect to, sites with a leaf of it and a daemon each. No message leaves its
//! region, so that two of them stand for all.
//!
//! | | how |
//! |---|---|
//! | a region that loses power and has it again, and one that does not | simulated: each user, server, request, answer,
//! subscription |
//! | records, of these two regions | computed, to the record, from when paths and subscriptions begin and end |
//! | the other regions | the one that loses nothing, so many times |
//! | memory and processors | users and records, times the measurements of `cellcc-measure netassist` for each |

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

mod needs;
mod region;
mod table;

use crate::{Arguments, Outcome};
use std::process::ExitCode;
use table::Tree;

pub(crate) fn run(_: Arguments) -> Outcome<ExitCode> {
    print!("{}", Tree::of_ten_million_users());
    Ok(ExitCode::SUCCESS)
}

//! The part of the Python package `cellcc` that is written in Rust. Python's half, in `cellcc/`, is the users' interface.
//!
//! | to find | look in |
//! |---|---|
//! | keyword arguments become the request | `options.rs` |
//! | a plan; how it is run, in a folder or in memory | `compare.rs`; `execution.rs` |
//! | claims of papers, judged | `reproduce.rs` |
//! | the least delay of links | `explain.rs` |
//! | cases and their verdicts; scores | `check.rs`; `score.rs` |
//! | threads, progress, Ctrl-C | `watched.rs` |
//! | a plan whose shares run in other processes | `cluster.rs` |
//! | Records, their tables and their report | `runs.rs` |
//! | Arrow tables | `table.rs` |
//! | agents in environments: observations, actions, and rewards | `env/` |
//! | learned policies, asked from Python | `policy.rs` |
//! | traces and their statistics | `trace.rs` |
//! | the registry, and schemes written in Python | `schemes.rs`, `scheme.rs` |

mod check;
mod cluster;
mod compare;
mod env;
mod error;
mod execution;
mod explain;
mod options;
mod policy;
mod reproduce;
mod runs;
mod scheme;
mod schemes;
mod score;
mod table;
mod trace;
mod watched;

use pyo3::prelude::*;

#[pymodule]
mod _cellcc {
    #[pymodule_export]
    use crate::check::check;
    #[pymodule_export]
    use crate::cluster::{Plan, merge, read_kept, write_file};
    #[pymodule_export]
    use crate::compare::compare;
    #[pymodule_export]
    use crate::env::Episodes;
    #[pymodule_export]
    use crate::error::{InputError, RunError};
    #[pymodule_export]
    use crate::explain::explain_links;
    #[pymodule_export]
    use crate::options::conditions;
    #[pymodule_export]
    use crate::policy::Policy;
    #[pymodule_export]
    use crate::reproduce::reproduce;
    #[pymodule_export]
    use crate::runs::{Runs, read};
    #[pymodule_export]
    use crate::scheme::{Ack, Loss};
    #[pymodule_export]
    use crate::schemes::{register, schemes};
    #[pymodule_export]
    use crate::score::score;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::trace::{Trace, expand, seconds};
    #[pymodule_export]
    const VERSION: &str = cellcc_version::VERSION;
}

//! How fast the packet engine is, and what each scheme costs: part of `make bench` and `make bench-instructions`.
//!
//! | argument | what is measured |
//! |---|---|
//! | `packets` | packets per second of one core, and whether a packet costs more in a large window |
//! | `acks` | time for an acknowledgement, scheme by scheme, next to a window that never changes |
//! | `instructions` | the same in instructions, counted by callgrind: the same in every run |
//! | `packet-instructions` | instructions for a data packet of one flow; fails above a bound, with a table by stage |
//! | `packet-stages` | that table for several schemes |
//! | `tell SCHEME TIMES`, `run SCHEME MS`, `packets-of SCHEME MS` | a part of these, to be counted or profiled |
//!
//! Times are of this machine at this moment: compare them within one run only.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, reason = "a benchmark")]

mod acks;
mod packets;
mod stages;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["packets"] => {
            packets::print();
            Ok(())
        }
        ["acks"] => acks::print_times(),
        ["instructions"] => acks::print_instructions(),
        ["packet-instructions"] => stages::check(),
        ["packet-stages"] => stages::print_table(),
        ["tell", scheme, times] => match times.parse() {
            Ok(times) => acks::tell(scheme, times),
            Err(_) => return usage(),
        },
        ["run", scheme, ms] => match ms.parse() {
            Ok(ms) => acks::run(scheme, Duration::from_millis(ms)),
            Err(_) => return usage(),
        },
        ["packets-of", scheme, ms] => match ms.parse() {
            Ok(ms) => stages::run(scheme, ms),
            Err(_) => return usage(),
        },
        _ => return usage(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "arguments: packets | acks | instructions | packet-instructions | packet-stages | tell SCHEME TIMES | run SCHEME MS | packets-of SCHEME MS"
    );
    ExitCode::from(2)
}

//! How fast the packet engine is, and what each scheme costs: part of `make bench` and `make bench-instructions`.
//!
//! | argument | what is measured |
//! |---|---|
//! | `packets` | packets per second of one core, and whether a packet costs more in a large window |
//! | `acks` | time for an acknowledgement, scheme by scheme, beside a window that never changes |
//! | `instructions` | the same in instructions, counted by callgrind: the same in every run |
//! | `tell SCHEME TIMES`, `run SCHEME MS` | a part of that, to be counted or profiled |
//!
//! Times are of this machine at this moment: compare them within one run only.

#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, reason = "a benchmark")]

mod acks;
mod packets;

use std::process::ExitCode;
use std::time::Duration;

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
        ["tell", scheme, times] => match times.parse() {
            Ok(times) => acks::tell(scheme, times),
            Err(_) => return usage(),
        },
        ["run", scheme, ms] => match ms.parse() {
            Ok(ms) => acks::run(scheme, Duration::from_millis(ms)),
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
    eprintln!("arguments: packets | acks | instructions | tell SCHEME TIMES | run SCHEME MS");
    ExitCode::from(2)
}

//! The command `cellcc`. The library of this package has it, also for programs with schemes of their own.

use std::process::ExitCode;

fn main() -> ExitCode {
    cellcc::main()
}

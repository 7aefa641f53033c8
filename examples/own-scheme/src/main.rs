//! The command `cellcc` with the scheme `own`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut registry = cellcc::registry();
    registry.register(own_scheme::scheme());
    cellcc::main_with(registry)
}

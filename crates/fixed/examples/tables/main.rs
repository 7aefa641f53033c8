//! Prints `src/tables.rs`.

#![expect(clippy::print_stdout, reason = "an example may print")]

mod generate;

fn main() {
    print!("{}", generate::tables());
}

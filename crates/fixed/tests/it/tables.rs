//! The committed tables are those that the program makes.

#[path = "../../examples/tables/generate.rs"]
mod generate;

#[test]
fn the_tables_are_those_that_the_program_makes() {
    assert!(
        include_str!("../../src/tables.rs") == generate::tables(),
        "make src/tables.rs anew: cargo run -p cellcc-fixed --example tables > crates/fixed/src/tables.rs"
    );
}

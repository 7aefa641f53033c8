use super::*;

#[test]
fn every_case_that_comes_with_cellcc_can_be_read() {
    let suites = suites().unwrap_or_else(|error| panic!("{error}"));
    assert!(suites.iter().map(|suite| suite.cases.len()).sum::<usize>() > 40);
}

//! The cost of wrong network assistance: never much more than having none.

mod table;

use cellcc_experiment::ReportSource;
use std::fmt::Write;
use table::{FAULTS, Fault, Row, row};

/// Links that nothing was developed on.
const LINKS: [&str; 3] = ["lte-drive", "lte-static", "3g"];

#[test]
fn wrong_reports_cost_no_more_than_a_part_of_what_the_base_scheme_has_alone() {
    let links = LINKS.map(String::from);
    let mut text = String::from("fault                       throughput (least), RTT / CUBIC's; guard off\n");
    for fault in &FAULTS {
        let row = row(fault, ReportSource::Causal, &links);
        writeln!(text, "{:<28}{row}", fault.name).expect("a string takes everything");
        if fault.name.starts_with("right") {
            assert_costs_nothing(&row, fault);
        } else {
            assert!(row.throughput >= 0.7 && row.rtt <= 1.25, "{text}");
        }
    }
    insta::assert_snapshot!(text);
}

/// Within 1 % of the same flow without a guard.
fn assert_costs_nothing(row: &Row, fault: &Fault) {
    let (throughput, rtt) = (row.throughput / row.unguarded_throughput, row.rtt / row.unguarded_rtt);
    assert!((throughput - 1.0).abs() <= 0.01, "{}: throughput {throughput:.3}", fault.name);
    assert!((rtt - 1.0).abs() <= 0.01, "{}: RTT {rtt:.3}", fault.name);
}

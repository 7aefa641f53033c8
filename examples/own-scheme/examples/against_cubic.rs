//! Runs `own` and CUBIC on one link in the simulator, and prints the results.
#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use cellcc_experiment::{Driver, Plan, PlanFile};
use cellcc_sim::SimDriver;
use cellcc_units::Span;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut registry = cellcc_schemes::registry();
    registry.register(own_scheme::scheme());
    let driver = SimDriver::new(registry);
    let plan = PlanFile {
        // Each alone, then `own` next to CUBIC on one link.
        schemes: ["own", "own(gain=4)", "cubic", "own+cubic"].map(String::from).into(),
        traces: vec!["step=60Mbit/s@10s,20Mbit/s@10s,60Mbit/s@10s".into()],
        duration: Span::from_secs(30),
        ..PlanFile::default()
    };
    // Names the code that results come from: cellcc's, and that of the scheme.
    let version = format!("{}, own {}", cellcc_version::VERSION, env!("CARGO_PKG_VERSION"));
    println!("{:<12} {:>12} {:>22} {:>6}", "scheme", "utilisation", "queueing delay p95, ms", "Jain");
    for run in Plan::new(&plan, &driver, &version)?.runs {
        let record = driver.run(&run.scenario)?;
        let delay = record.total.queueing_delay_p95_ms.unwrap_or(f64::NAN);
        let jain = record.jain_index.map_or(String::new(), |index| format!("{index:.2}"));
        println!(
            "{:<12} {:>12.3} {:>22.1} {:>6}",
            run.scenario.scheme, record.total.utilisation, delay, jain
        );
    }
    Ok(())
}

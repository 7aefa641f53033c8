//! A run with the controller under test. A fault of the controller ends the run, and not the test.

use crate::Factory;
use cellcc_experiment::{Record, Resolved, RunError};
use cellcc_quic_drivers::VirtualDriver;
use cellcc_units::{Span, Time};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The name of the controller under test in Scenarios.
pub(crate) const SUBJECT: &str = "subject";

/// The version in Records of this code.
pub(crate) const VERSION: &str = concat!("cellcc-check ", env!("CARGO_PKG_VERSION"));

/// How often a run is looked at.
const STEP: Span = Span::from_millis(100);

/// noq in virtual time, with the controllers of `factory`.
pub(crate) fn driver(factory: Factory) -> VirtualDriver {
    VirtualDriver::new(cellcc_schemes::registry()).with_controller(SUBJECT, factory)
}

/// Runs a resolved Scenario.
///
/// # Errors
/// Why there is nothing to judge: a panic of the controller, a connection that ended, more losses than the links carry packets in
/// the whole run, whose rest might take hours.
pub(crate) fn run(driver: &VirtualDriver, scenario: &Resolved) -> Result<Record, String> {
    // Nothing of the run is used after a panic.
    catch_unwind(AssertUnwindSafe(|| step_through(driver, scenario)))
        .map_err(|panic| format!("it panicked: {}", words(&*panic)))?
        .map_err(|error| error.to_string())
}

fn step_through(driver: &VirtualDriver, scenario: &Resolved) -> Result<Record, RunError> {
    let mut run = driver.begin(scenario)?;
    let end = Time::ZERO + scenario.duration;
    let carried = run.capacity(0).bytes_between(Time::ZERO, end).get() / scenario.endpoint.packet().get();
    while run.now() < end && !run.is_over() {
        run.step_until((run.now() + STEP).min(end))?;
        let lost: u64 = (0..scenario.flows.len()).map(|flow| run.ends(flow).lost_packets()).sum();
        if lost > carried {
            let (duration, now) = (scenario.duration, run.now());
            return Err(RunError(format!(
                "{lost} packets were lost by {now}, more than the {carried} that the link carries in all of the {duration}"
            )));
        }
    }
    run.finish()
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}

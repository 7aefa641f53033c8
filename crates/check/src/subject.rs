//! A run with the controller under test. What it does wrong ends the run, and not the test.

use crate::{Factory, Outcome};
use cellcc_experiment::{Plan, PlanFile, Record, RunError, Scenario};
use cellcc_quic_drivers::VirtualDriver;
use cellcc_units::{Span, Time};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The name of the controller under test in the Scenarios of cases.
pub(crate) const SUBJECT: &str = "subject";

/// What Records say of the code that they come from.
const VERSION: &str = concat!("cellcc-check ", env!("CARGO_PKG_VERSION"));

/// How often a run is looked at.
const STEP: Span = Span::from_millis(100);

/// Runs the one Scenario of `file` in virtual time.
///
/// # Errors
/// Why there is nothing to judge: a file that says something else, a panic of the controller, a connection that ended. Where
/// the controller loses more packets than the links carry in the whole run: a failure, without the rest of the run, which
/// might take hours.
pub(crate) fn run(file: &PlanFile, factory: Factory) -> Result<Record, Outcome> {
    let driver = VirtualDriver::new(cellcc_schemes::registry()).with_controller(SUBJECT, factory);
    let plan = Plan::new(file, &driver, VERSION);
    let plan = plan.map_err(|error| Outcome::Error(error.to_string()))?;
    let run = plan.runs.iter().find(|run| !run.scenario.flows.is_empty());
    let scenario = &run.ok_or_else(|| Outcome::Error("it has no flow".into()))?.scenario;
    // Nothing of the run is used after a panic.
    catch_unwind(AssertUnwindSafe(|| step_through(&driver, scenario)))
        .unwrap_or_else(|panic| Err(Outcome::Error(format!("it panicked: {}", words(&*panic)))))
}

fn step_through(driver: &VirtualDriver, scenario: &Scenario) -> Result<Record, Outcome> {
    let failed = |error: RunError| Outcome::Error(error.to_string());
    let mut run = driver.begin(scenario).map_err(failed)?;
    let end = Time::ZERO + scenario.duration;
    let carried = run.capacity(0).bytes_between(Time::ZERO, end).get() / scenario.endpoint.packet().get();
    while run.now() < end && !run.is_over() {
        run.step_until((run.now() + STEP).min(end)).map_err(failed)?;
        let lost: u64 = (0..scenario.flows.len()).map(|flow| run.ends(flow).lost_packets()).sum();
        if lost > carried {
            let (duration, now) = (scenario.duration, run.now());
            return Err(Outcome::Fail(format!(
                "{lost} packets were lost by {now}, more than the {carried} that the link carries in all of the {duration}"
            )));
        }
    }
    run.finish().map_err(failed)
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}

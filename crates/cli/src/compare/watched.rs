//! The drivers of a plan while somebody looks on: the progress bar, and the interrupt.

use super::bar::Bar;
use super::drivers::Drivers;
use cellcc_experiment::{Driver, Record, ResolveError, RunError, Scenario, Watch};
use cellcc_units::Time;
use std::sync::atomic::{AtomicBool, Ordering};

/// Drivers whose runs move the bar, and end once `stop` is true.
pub(super) struct Watched<'a> {
    pub(super) drivers: &'a Drivers,
    pub(super) bar: &'a Bar,
    pub(super) stop: &'a AtomicBool,
}

/// Looks on at one run.
struct Looking<'a> {
    bar: &'a Bar,
    stop: &'a AtomicBool,
    label: String,
    duration_s: f64,
}

impl Watch for Looking<'_> {
    fn goes_on(&self, now: Time) -> bool {
        self.bar.advanced(&self.label, now.as_secs_f64() / self.duration_s);
        !self.stop.load(Ordering::Relaxed)
    }
}

impl Driver for Watched<'_> {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.drivers.resolve(scenario)
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        let (label, duration_s) = (scenario.label(), scenario.duration.as_secs_f64());
        self.drivers.run_watched(scenario, &Looking { bar: self.bar, stop: self.stop, label, duration_s })
    }

    fn is_real_time(&self, scenario: &Scenario) -> bool {
        self.drivers.is_real_time(scenario)
    }
}

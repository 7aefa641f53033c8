//! The kernel as a [`Driver`].

use super::notes::notes;
use super::schemes::Available;
use super::workload::Connections;
use crate::error::EmuError;
use crate::realtime::Paths;
use cellcc_experiment::{Driver, MeasuredFlow, Record, ResolveError, RunError, Scenario};

/// Runs Scenarios in real time: the TCP of this machine's kernel through the emulator.
#[derive(Debug)]
pub struct KernelDriver {
    paths: Paths,
    available: Available,
}

impl KernelDriver {
    /// Its name in Scenarios and Records.
    pub const NAME: &'static str = "kernel";

    /// The driver, which first shows that this machine can emulate a path. Call it before the process has a second
    /// thread: an ordinary user gets a user namespace.
    ///
    /// # Errors
    /// What the machine does not allow, and what to do about it.
    pub fn new() -> Result<Self, EmuError> {
        Ok(Self { paths: Paths::new(Self::NAME)?, available: Available::now() })
    }

    fn kernel_names(&self, scenario: &Scenario) -> Result<Vec<&str>, ResolveError> {
        let names = scenario.flows.iter().map(|flow| self.available.kernel_name(&flow.scheme));
        names.collect::<Result<_, _>>().map_err(ResolveError)
    }
}

impl Driver for KernelDriver {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.kernel_names(scenario)?;
        self.paths.resolve(scenario)
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        let kernel_names = self.kernel_names(scenario).map_err(|error| RunError(error.to_string()))?;
        let mut run = self.paths.run(scenario, &Connections { scenario, kernel_names })?;
        for (conversation, samples) in run.flows.iter_mut().zip(&run.outcome.samples) {
            samples.iter().for_each(|(bin, info)| info.record_bin(*bin, conversation.meter_mut()));
        }
        let flows = run.flows.iter().zip(&scenario.flows).map(|(conversation, setup)| MeasuredFlow {
            scheme: &setup.scheme,
            user: setup.user,
            active: conversation.active(),
            meter: conversation.meter(),
            completed_at: conversation.completed_at(),
            frames: conversation.frames(),
            delay_target_ms: None,
        });
        let notes = notes(scenario, &run.outcome.sent, &run.report);
        Ok(run.record(scenario, Self::NAME, &flows.collect::<Vec<_>>(), notes))
    }

    fn is_real_time(&self, _: &Scenario) -> bool {
        true
    }
}

//! The kernel as a [`Driver`].

use super::first_windows::first_windows;
use super::notes::notes;
use super::schemes::Available;
use super::workload::Connections;
use crate::error::EmuError;
use crate::realtime::Paths;
use cellcc_experiment::{
    Driver, MeasuredFlow, Record, ResolveError, Resolved, RunError, Scenario, Support, TcpBackend,
};

/// The driver's name in Scenarios and Records.
const NAME: &str = Support::KERNEL.driver;

/// Runs Scenarios in real time: the TCP of this machine's kernel through the emulator, with the kernel's own schemes and those
/// that a backend adds.
#[derive(Debug)]
pub struct KernelDriver<B> {
    paths: Paths,
    available: Available,
    backend: B,
}

impl<B: TcpBackend> KernelDriver<B> {
    /// The driver with the schemes of `backend`; `()` adds none. It first shows that this machine can emulate a path. Call it
    /// before the process has a second thread: an ordinary user gets a user namespace.
    ///
    /// # Errors A missing right or feature of the machine, and the remedy.
    pub fn new(backend: B) -> Result<Self, EmuError> {
        Ok(Self { paths: Paths::new(NAME)?, available: Available::now(), backend })
    }

    fn kernel_names(&self, scenario: &Scenario) -> Result<Vec<&str>, ResolveError> {
        let name = |scheme| match self.backend.kernel_name(scheme) {
            Some(name) => Ok(name),
            None => self.available.kernel_name(scheme),
        };
        scenario.flows.iter().map(|flow| name(&flow.scheme)).collect::<Result<_, _>>().map_err(ResolveError)
    }
}

impl<B: TcpBackend> Driver for KernelDriver<B> {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        Support::KERNEL.check(scenario)?;
        self.paths.resolve(scenario)?;
        first_windows(scenario)?;
        self.backend.resolve(scenario)?;
        self.kernel_names(scenario).map(drop)
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        let failed = |error: ResolveError| RunError(error.to_string());
        let kernel_names = self.kernel_names(scenario).map_err(failed)?;
        let first_windows = first_windows(scenario).map_err(failed)?;
        self.backend.prepare(scenario)?;
        let connections = Connections { scenario, kernel_names, first_windows, backend: &self.backend };
        let mut run = self.paths.run(scenario, &connections)?;
        run.outcome.assistance.clone()?;
        for (conversation, samples) in run.flows.iter_mut().zip(&run.outcome.samples) {
            samples.iter().for_each(|(bin, info)| info.record_bin(*bin, conversation.meter_mut()));
        }
        let flows = run.flows.iter().zip(&scenario.flows).map(|(conversation, setup)| MeasuredFlow {
            completed_at: conversation.completed_at(),
            frames: conversation.frames(),
            queue: run.queue(setup.user),
            ..MeasuredFlow::new(
                &setup.scheme,
                setup.user,
                conversation.active(),
                conversation.meter().clone(),
            )
        });
        let notes = notes(scenario, &run.outcome.sent, &run.report);
        Ok(run.record(scenario, NAME, flows.collect(), notes))
    }

    fn is_real_time(&self, _: &Scenario) -> bool {
        true
    }
}

//! The drivers of a plan, as one: each run goes to the one that its Scenario names.

use crate::exit::Exit;
use cellcc_control::Registry;
#[cfg(target_os = "linux")]
use cellcc_emu::kernel::KernelDriver;
use cellcc_experiment::{Driver, Plan, Record, ResolveError, RunError, Scenario, USUAL_DRIVER};
use cellcc_quic::VirtualDriver;
use cellcc_sim::SimDriver;
use cellcc_units::Span;

pub(super) struct Drivers {
    sim: SimDriver,
    quic_virtual: VirtualDriver,
    #[cfg(target_os = "linux")]
    kernel: Option<KernelDriver>,
}

impl Drivers {
    /// The drivers of these names. Only those are prepared: the simulator needs no rights.
    ///
    /// Must be called before the process has a second thread, see [`KernelDriver::new`].
    pub(super) fn new(names: &[String]) -> Result<Self, Exit> {
        let known = [USUAL_DRIVER, QUIC_VIRTUAL, KERNEL];
        if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(Exit::input(format!(
                "--driver {unknown}: there are {USUAL_DRIVER}, {QUIC_VIRTUAL} and {KERNEL}"
            )));
        }
        let wanted = names.iter().any(|name| name == KERNEL);
        #[cfg(not(target_os = "linux"))]
        if wanted {
            return Err(Exit::input(format!(
                "--driver {KERNEL}: only Linux has what it needs; use --driver sim"
            )));
        }
        Ok(Self {
            sim: SimDriver::new(Registry::default()),
            quic_virtual: VirtualDriver::new(Registry::default()),
            #[cfg(target_os = "linux")]
            kernel: wanted
                .then(KernelDriver::new)
                .transpose()
                .map_err(|error| Exit::input(format!("--driver {KERNEL}: {error}")))?,
        })
    }

    fn of(&self, scenario: &Scenario) -> &dyn Driver {
        #[cfg(target_os = "linux")]
        if let (KERNEL, Some(kernel)) = (scenario.driver.as_str(), &self.kernel) {
            return kernel;
        }
        if scenario.driver == QUIC_VIRTUAL {
            return &self.quic_virtual;
        }
        &self.sim
    }

    /// How long the runs of a plan that take real time will take; none where there are none.
    pub(super) fn real_time(&self, plan: &Plan) -> Option<(usize, Span)> {
        let runs = plan.runs.iter().filter(|run| self.is_real_time(&run.scenario));
        let (count, length) =
            runs.fold((0, Span::ZERO), |(count, sum), run| (count + 1, sum + run.scenario.duration));
        (count > 0).then_some((count, length))
    }
}

/// The name of the driver for real QUIC in virtual time.
const QUIC_VIRTUAL: &str = VirtualDriver::NAME;

/// The name of the driver for the kernel's TCP.
const KERNEL: &str = "kernel";

impl Driver for Drivers {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.of(scenario).resolve(scenario)
    }

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        self.of(scenario).run(scenario)
    }

    fn is_real_time(&self, scenario: &Scenario) -> bool {
        self.of(scenario).is_real_time(scenario)
    }
}

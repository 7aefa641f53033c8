//! The list of drivers, and those of a plan as one: each run goes to the one that its Scenario names.

use crate::RequestError;
use cellcc_control::Registry;
#[cfg(feature = "network")]
use cellcc_experiment::Support;
use cellcc_experiment::{
    DEFAULT_DRIVER, Driver, Plan, Record, Recordings, ResolveError, Resolved, RunError, Scenario, Watch,
};
use cellcc_sim::SimDriver;
use cellcc_units::Span;

/// Makes a driver that knows the schemes of a registry, or says what this machine lacks.
type Make = fn(&Registry, &Recordings) -> Result<Box<dyn Driver + Send>, String>;

/// The drivers besides the simulator, and how they are made.
#[cfg(feature = "network")]
const OTHERS: [(&str, Make); 3] = [
    (Support::QUIC_VIRTUAL.driver, quic_virtual),
    (Support::QUIC.driver, quic),
    (Support::KERNEL.driver, kernel),
];
#[cfg(not(feature = "network"))]
const OTHERS: [(&str, Make); 0] = [];

/// Message for a driver that this build leaves out.
const LEFT_OUT: &str = if cfg!(feature = "network") {
    ""
} else {
    "; this build has the simulator alone: build it with the feature `network`"
};

/// The drivers of a plan, by their names in Scenarios.
pub struct Drivers {
    default: SimDriver,
    others: Vec<(&'static str, Box<dyn Driver + Send>)>,
}

impl Drivers {
    /// The drivers of these names, for the schemes that come with cellcc. Only those are prepared: the simulator needs no rights.
    ///
    /// Must be called before the process has a second thread: some get a user namespace.
    ///
    /// # Errors
    /// A driver that does not exist, or that this machine does not allow, with the missing part.
    pub fn new(names: &[String], recordings: &Recordings) -> Result<Self, RequestError> {
        Self::with_registry(&cellcc_experiment::registry(), names, recordings)
    }

    /// The drivers of these names, for the schemes of `registry`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_registry(
        registry: &Registry,
        names: &[String],
        recordings: &Recordings,
    ) -> Result<Self, RequestError> {
        let known = || std::iter::once(DEFAULT_DRIVER).chain(OTHERS.map(|(name, _)| name));
        if let Some(unknown) = names.iter().find(|name| known().all(|known| known != *name)) {
            let known: Vec<_> = known().collect();
            let known = known.join(", ");
            return Err(RequestError::new(format!("--driver {unknown}: there are {known}{LEFT_OUT}")));
        }
        let wanted = OTHERS.into_iter().filter(|(name, _)| names.iter().any(|wanted| wanted == name));
        let others = wanted.map(|(name, make)| {
            let made = make(registry, recordings);
            let missing = |problem| RequestError::new(format!("--driver {name}: {problem}"));
            Ok((name, made.map_err(missing)?))
        });
        Ok(Self {
            default: SimDriver::new(registry.clone()).with_recordings(recordings.clone()),
            others: others.collect::<Result<_, RequestError>>()?,
        })
    }

    fn of(&self, scenario: &Scenario) -> &dyn Driver {
        let other = self.others.iter().find(|(name, _)| *name == scenario.driver);
        other.map_or(&self.default, |(_, driver)| driver.as_ref())
    }

    /// Number of a plan's runs in real time, and the sum of their durations; none where there are none.
    pub fn real_time(&self, plan: &Plan) -> Option<(usize, Span)> {
        let runs = plan.runs.iter().filter(|run| self.is_real_time(&run.scenario));
        let (count, length) =
            runs.fold((0, Span::ZERO), |(count, sum), run| (count + 1, sum + run.scenario.duration));
        (count > 0).then_some((count, length))
    }
}

impl Driver for Drivers {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.of(scenario).resolve(scenario)
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        self.of(scenario).run(scenario)
    }

    fn run_watched(&self, scenario: &Resolved, watch: &dyn Watch) -> Result<Record, RunError> {
        self.of(scenario).run_watched(scenario, watch)
    }

    fn is_real_time(&self, scenario: &Scenario) -> bool {
        self.of(scenario).is_real_time(scenario)
    }

    fn expected_time(&self, scenario: &Scenario) -> Span {
        self.of(scenario).expected_time(scenario)
    }
}

#[cfg(feature = "network")]
fn quic_virtual(registry: &Registry, recordings: &Recordings) -> Result<Box<dyn Driver + Send>, String> {
    let driver = cellcc_quic_drivers::VirtualDriver::new(registry.clone());
    Ok(Box::new(driver.with_recordings(recordings.clone())))
}

#[cfg(all(feature = "network", target_os = "linux"))]
fn quic(registry: &Registry, recordings: &Recordings) -> Result<Box<dyn Driver + Send>, String> {
    let backend = cellcc_quic_drivers::sockets::QuicBackend::new(registry.clone());
    let backend = backend.with_recordings(recordings.clone());
    let driver = cellcc_emu::udp::UdpDriver::new(Support::QUIC.driver, backend);
    Ok(Box::new(driver.map_err(|error| error.to_string())?))
}

#[cfg(all(feature = "network", target_os = "linux"))]
fn kernel(_: &Registry, _: &Recordings) -> Result<Box<dyn Driver + Send>, String> {
    #[cfg(feature = "kernel")]
    let schemes = cellcc_kernel::KernelSchemes::new();
    #[cfg(not(feature = "kernel"))]
    let schemes = ();
    let driver = cellcc_emu::kernel::KernelDriver::new(schemes);
    Ok(Box::new(driver.map_err(|error| error.to_string())?))
}

#[cfg(all(feature = "network", not(target_os = "linux")))]
fn only_linux(_: &Registry, _: &Recordings) -> Result<Box<dyn Driver + Send>, String> {
    Err(format!("it needs Linux; use --driver {DEFAULT_DRIVER}"))
}

#[cfg(all(feature = "network", not(target_os = "linux")))]
use only_linux as kernel;
#[cfg(all(feature = "network", not(target_os = "linux")))]
use only_linux as quic;

//! The drivers of a plan, as one: each run goes to the one that its Scenario names.

use crate::exit::Exit;
use crate::network::{DRIVERS, more};
use cellcc_experiment::{
    DEFAULT_DRIVER, Driver, Plan, Record, Recordings, ResolveError, RunError, Scenario, Watch,
};
use cellcc_sim::SimDriver;
use cellcc_units::Span;

/// The drivers, by their names in Scenarios.
pub(crate) struct Drivers {
    default: SimDriver,
    others: Vec<(&'static str, Box<dyn Driver>)>,
}

/// Makes the driver of this name.
pub(crate) type Prepare = fn(&'static str, &Recordings) -> Result<Box<dyn Driver>, Exit>;

impl Drivers {
    /// The drivers of these names. Only those are prepared: the simulator needs no rights.
    ///
    /// Must be called before the process has a second thread: some get a user namespace.
    pub(crate) fn new(names: &[String], recordings: &Recordings) -> Result<Self, Exit> {
        let is_known = |name: &str| name == DEFAULT_DRIVER || DRIVERS.iter().any(|(other, _)| *other == name);
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            let known: Vec<_> =
                std::iter::once(DEFAULT_DRIVER).chain(DRIVERS.map(|(name, _)| name)).collect();
            let known = known.join(", ");
            return Err(Exit::input(format!("--driver {unknown}: there are {known}{}", more())));
        }
        let wanted = DRIVERS.into_iter().filter(|(name, _)| names.iter().any(|wanted| wanted == name));
        let others = wanted.map(|(name, prepare)| Ok((name, prepare(name, recordings)?)));
        Ok(Self {
            default: SimDriver::new(cellcc_experiment::registry()).with_recordings(recordings.clone()),
            others: others.collect::<Result<_, Exit>>()?,
        })
    }

    fn of(&self, scenario: &Scenario) -> &dyn Driver {
        let other = self.others.iter().find(|(name, _)| *name == scenario.driver);
        other.map_or(&self.default, |(_, driver)| driver.as_ref())
    }

    /// How long the runs of a plan that take real time will take; none where there are none.
    pub(super) fn real_time(&self, plan: &Plan) -> Option<(usize, Span)> {
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

    fn run(&self, scenario: &Scenario) -> Result<Record, RunError> {
        self.of(scenario).run(scenario)
    }

    fn run_watched(&self, scenario: &Scenario, watch: &dyn Watch) -> Result<Record, RunError> {
        self.of(scenario).run_watched(scenario, watch)
    }

    fn is_real_time(&self, scenario: &Scenario) -> bool {
        self.of(scenario).is_real_time(scenario)
    }

    fn expected_time(&self, scenario: &Scenario) -> Span {
        self.of(scenario).expected_time(scenario)
    }
}

//! The cases, and a run of them.

use crate::Factory;
use crate::report::Report;
use crate::subject::{self, SUBJECT, VERSION};
use cellcc_claims::cases::{self, Case, Finding, Outcomes, Ruling, Subject};
use cellcc_experiment::Plan;
use cellcc_quic_drivers::VirtualDriver;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The suites whose cases are not about one controller alone.
const NETWORK: [&str; 2] = ["bbr", "rfc9743"];

/// Cases for a controller.
#[derive(Debug, Clone)]
pub struct Suite {
    cases: Vec<Case>,
    /// What is wrong with it, in the report.
    errors: Vec<Finding>,
}

impl Suite {
    /// All cases that need only the network's view of a controller: those of draft-ietf-ccwg-bbr's appendix and of RFC 9743
    /// that judge sent packets, their arrivals, and the window and pacing rate given to noq. The cases are those of `cellcc
    /// check`.
    pub fn network() -> Self {
        match cases::suites() {
            Ok(suites) => {
                let suites = suites.into_iter().filter(|suite| NETWORK.contains(&suite.name.as_str()));
                let cases = suites.flat_map(|suite| suite.cases).filter(Case::is_for_any);
                Self { cases: cases.collect(), errors: Vec::new() }
            }
            Err(error) => Self { cases: Vec::new(), errors: vec![wrong("cases", &error.to_string())] },
        }
    }

    /// A subset for every build, which takes a third of the time.
    pub fn quick() -> Self {
        let mut suite = Self::network();
        suite.cases.retain(|case| case.quick);
        suite
    }

    /// Removes a case, such as `bbr/17`, or those of a pattern, `bbr/*`. A name that no case has is an error in the
    /// report.
    #[must_use]
    pub fn without(self, case: &str) -> Self {
        self.keeping(case, false)
    }

    /// One case alone, or those of a pattern. A name that no case has is an error in the report.
    #[must_use]
    pub fn only(self, case: &str) -> Self {
        self.keeping(case, true)
    }

    fn keeping(mut self, name: &str, is_called: bool) -> Self {
        if !self.cases.iter().any(|case| case.is_called(name)) {
            self.errors.push(wrong(name, "there is no such case"));
        }
        self.cases.retain(|case| case.is_called(name) == is_called);
        self
    }

    /// Runs the cases with the controllers of `factory`, on all processors. `name` stands in the report.
    pub fn run(&self, name: &str, factory: Factory) -> Report {
        let driver = subject::driver(factory);
        let (cases, drivers): (Vec<&Case>, _) = (self.cases.iter().collect(), [VirtualDriver::NAME.into()]);
        let run = |plan: Plan| Ok::<_, Infallible>(run_all(&plan, &driver));
        let Ok(mut findings) =
            cases::check(&cases, &Subject::opaque(SUBJECT), &drivers, &driver, VERSION, run);
        findings.extend(self.errors.iter().cloned());
        Report { name: name.into(), findings }
    }
}

/// Runs a plan on all processors.
fn run_all(plan: &Plan, driver: &VirtualDriver) -> Outcomes {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Outcomes::new());
    let work = || {
        while let Some(run) = plan.runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = subject::run(driver, &run.scenario);
            outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(run.id, outcome);
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(plan.runs.len());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    outcomes.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// An error that is not of a run.
fn wrong(case: &str, why: &str) -> Finding {
    Finding::of_case(case, "the suite has this case", VirtualDriver::NAME, Ruling::Error, why)
}

//! The cases, and a run of them.

use crate::Factory;
use crate::case::Case;
use crate::report::{Outcome, Report, Verdict};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What a network can see of any controller.
const NETWORK: [(&str, &str); 14] = [
    ("bbr/10", include_str!("../cases/bbr/10.toml")),
    ("bbr/14", include_str!("../cases/bbr/14.toml")),
    ("bbr/15", include_str!("../cases/bbr/15.toml")),
    ("bbr/16", include_str!("../cases/bbr/16.toml")),
    ("bbr/17", include_str!("../cases/bbr/17.toml")),
    ("bbr/18", include_str!("../cases/bbr/18.toml")),
    ("rfc9743/collapse", include_str!("../cases/rfc9743/collapse.toml")),
    ("rfc9743/high-loss", include_str!("../cases/rfc9743/high-loss.toml")),
    ("rfc9743/own-kind", include_str!("../cases/rfc9743/own-kind.toml")),
    ("rfc9743/standard", include_str!("../cases/rfc9743/standard.toml")),
    ("rfc9743/short-flow", include_str!("../cases/rfc9743/short-flow.toml")),
    ("rfc9743/outage", include_str!("../cases/rfc9743/outage.toml")),
    ("rfc9743/longer-path", include_str!("../cases/rfc9743/longer-path.toml")),
    ("rfc9743/satellite", include_str!("../cases/rfc9743/satellite.toml")),
];

/// Cases for a controller.
#[derive(Debug, Clone)]
pub struct Suite {
    cases: Vec<(&'static str, &'static str)>,
    /// Names that are no cases.
    unknown: Vec<String>,
}

impl Suite {
    /// All that a network can see of any controller: cases of draft-ietf-ccwg-bbr's appendix, and of RFC 9743.
    pub fn network() -> Self {
        Self { cases: NETWORK.to_vec(), unknown: Vec::new() }
    }

    /// The same without a case, such as `bbr/17`. A name that is no case is an error in the report.
    #[must_use]
    pub fn without(self, case: &str) -> Self {
        self.keeping(case, |name| name != case)
    }

    /// One case alone. A name that is no case is an error in the report.
    #[must_use]
    pub fn only(self, case: &str) -> Self {
        self.keeping(case, |name| name == case)
    }

    fn keeping(mut self, case: &str, keeps: impl Fn(&str) -> bool) -> Self {
        if !self.cases.iter().any(|(name, _)| *name == case) {
            self.unknown.push(case.into());
        }
        self.cases.retain(|(name, _)| keeps(name));
        self
    }

    /// Runs the cases with the controllers of `factory`, on all processors. `name` stands in the report.
    pub fn run(&self, name: &str, factory: Factory) -> Report {
        let next = AtomicUsize::new(0);
        let judged = Mutex::new(Vec::new());
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some((case, text)) = self.cases.get(index) else { return };
                let verdict = verdict(case, text, Factory::clone(&factory));
                judged.lock().unwrap_or_else(PoisonError::into_inner).push((index, verdict));
            }
        };
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(self.cases.len());
        thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        let mut judged = judged.into_inner().unwrap_or_else(PoisonError::into_inner);
        judged.sort_by_key(|(index, _)| *index);
        let unknown = self.unknown.iter().map(|case| Verdict {
            case: case.clone(),
            title: "no case has this name".into(),
            outcome: Outcome::Error("there is no such case".into()),
        });
        Report {
            name: name.into(),
            verdicts: judged.into_iter().map(|(_, verdict)| verdict).chain(unknown).collect(),
        }
    }
}

fn verdict(name: &str, text: &str, factory: Factory) -> Verdict {
    let case = match Case::read(text) {
        Ok(case) => case,
        Err(error) => {
            return Verdict { case: name.into(), title: String::new(), outcome: Outcome::Error(error) };
        }
    };
    Verdict { case: name.into(), outcome: case.judge(factory), title: case.title }
}

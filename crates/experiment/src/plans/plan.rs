//! The grid of runs: schemes x traces x seeds, under each of the varied conditions.

use super::harm::{self, HEAD_START};
use super::limit::limit_of;
use crate::{
    BraceError, DEFAULT_DRIVER, Driver, FlowSetup, Mix, MixError, PlanFile, ResolveError, Resolved, RunId,
    Scenario, Shared, Variation, VaryError, expand_braces,
};
use cellcc_units::Span;
use thiserror::Error;

/// The runs, in the order of tables: by trace, then variation, then scheme, then driver, then seed; `limit` first for
/// each trace and variation.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Heading of the report.
    pub title: String,
    /// The scheme that the others are held against; empty: none.
    pub baseline: String,
    /// The code that is to run it, part of every run's id.
    pub version: String,
    /// The runs.
    pub runs: Vec<PlannedRun>,
}

/// A run with its content hash.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRun {
    /// Hash of the resolved Scenario and the version of the code: the same id, the same Record.
    pub id: RunId,
    /// The run.
    pub scenario: Resolved,
}

/// Reason why a plan cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// A malformed mix of flows.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// A malformed list of alternatives.
    #[error(transparent)]
    Braces(#[from] BraceError),
    /// Conditions that cannot be varied like this.
    #[error(transparent)]
    Vary(#[from] VaryError),
    /// A baseline that is not among the schemes.
    #[error("the baseline `{baseline}` is not among the schemes; there are {schemes}")]
    Baseline {
        /// The baseline as given.
        baseline: String,
        /// The schemes of the plan.
        schemes: String,
    },
    /// Flows between which there is no harm.
    #[error("{0}")]
    Harm(String),
    /// The plan has nothing to compare.
    #[error("there is nothing to run: {0}")]
    Empty(&'static str),
    /// The driver refuses a Scenario.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

impl Plan {
    /// Makes the grid and has `driver` resolve every run. `version` names the code, part of every id: `cellcc_version`'s,
    /// and a word for schemes that the program has registered itself.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn new(file: &PlanFile, driver: &dyn Driver, version: &str) -> Result<Self, PlanError> {
        let variations = file.variations()?;
        let texts = file.schemes.iter().map(|text| expand_braces(text)).collect::<Result<Vec<_>, _>>()?;
        let mut texts = texts.concat();
        if !file.harm.is_empty() {
            texts = harm::rows(&texts, &file.harm).map_err(PlanError::Harm)?;
        }
        let mixes = texts.iter().map(|text| Mix::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if mixes.is_empty() {
            return Err(PlanError::Empty("name at least one scheme"));
        }
        if file.traces.is_empty() {
            return Err(PlanError::Empty("name at least one trace"));
        }
        if file.drivers.is_empty() {
            return Err(PlanError::Empty("name at least one driver"));
        }
        let baseline = baseline(&file.baseline, &mixes)?;
        let mut runs = Vec::new();
        for trace in &file.traces {
            for variation in &variations {
                runs.extend(grid(trace, variation, &mixes)?);
            }
        }
        let mut planned: Vec<PlannedRun> = Vec::with_capacity(runs.len());
        for scenario in runs {
            let mut scenario = Resolved::by(driver, scenario)?;
            if let Some(last) = planned.last() {
                scenario.0.share(&last.scenario);
            }
            planned.push(PlannedRun { id: RunId::of(&scenario, version), scenario });
        }
        Ok(Self { title: file.title.clone(), baseline, version: version.into(), runs: planned })
    }
}

/// The baseline as the plan's runs have it.
fn baseline(given: &str, mixes: &[Mix]) -> Result<String, PlanError> {
    if given.is_empty() {
        return Ok(String::new());
    }
    let found = mixes.iter().find(|mix| same_scheme(&mix.text, given));
    found.map(|mix| mix.text.clone()).ok_or_else(|| PlanError::Baseline {
        baseline: given.chars().take(80).collect(),
        schemes: mixes.iter().map(|mix| mix.text.as_str()).collect::<Vec<_>>().join(", "),
    })
}

/// True where two texts of schemes differ in nothing but spaces.
pub fn same_scheme(one: &str, other: &str) -> bool {
    let signs = |text: &'_ str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    signs(one) == signs(other)
}

/// The runs on one trace under one variation.
fn grid(trace: &str, Variation { text, file }: &Variation, mixes: &[Mix]) -> Result<Vec<Scenario>, MixError> {
    let background =
        if file.background.is_empty() { Vec::new() } else { Mix::parse(&file.background)?.flows };
    let (path, endpoint) = (Shared::from(file.path.clone()), Shared::from(file.endpoint.clone()));
    let netassist = Shared::from(file.netassist.clone());
    let scenario = |scheme: &str, driver: &str, seed, flows| Scenario {
        scheme: scheme.into(),
        variation: text.clone(),
        driver: driver.into(),
        trace: trace.into(),
        trace_sha256: String::new(),
        seed,
        offset: file.offset,
        trace_offset: Span::ZERO,
        duration: file.duration,
        // Harm covers only the seconds in which both flows run.
        warm_up: if file.harm.is_empty() { file.warm_up } else { file.warm_up.max(HEAD_START) },
        path: path.clone(),
        endpoint: endpoint.clone(),
        netassist: netassist.clone(),
        cell: file.cell.clone(),
        flows,
    };
    let flows = |mix: &Mix| -> Vec<FlowSetup> { mix.flows.iter().chain(&background).cloned().collect() };
    let mut limits: Vec<String> = Vec::new();
    for mix in mixes {
        let limit = limit_of(&scenario(&mix.text, DEFAULT_DRIVER, 0, flows(mix)));
        if !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    // The limit needs no packets: whatever runs the schemes, it is computed. The seed changes it only with the offset.
    let seeds = if file.offset.is_fixed() { &file.seeds.as_slice()[..1] } else { file.seeds.as_slice() };
    let of_limit = |limit| seeds.iter().map(move |&seed| scenario(limit, DEFAULT_DRIVER, seed, Vec::new()));
    let mut runs: Vec<Scenario> = limits.iter().flat_map(|limit| of_limit(limit)).collect();
    for mix in mixes {
        for driver in &file.drivers {
            for &seed in file.seeds.as_slice() {
                let mut run = scenario(&mix.text, driver, seed, flows(mix));
                run.draw_starts();
                if file.like_linux && driver == DEFAULT_DRIVER {
                    run.take_linux_settings();
                }
                runs.push(run);
            }
        }
    }
    Ok(runs)
}

impl PlannedRun {
    /// See [`Scenario::label`].
    pub fn label(&self) -> String {
        self.scenario.label()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Offset, Record, RunError};
    use cellcc_units::Time;

    /// A driver that accepts everything and runs nothing.
    struct Accepting;

    impl Driver for Accepting {
        fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
            scenario.trace_sha256 = format!("hash of {}", scenario.trace);
            Ok(())
        }
        fn run(&self, _: &Resolved) -> Result<Record, RunError> {
            unreachable!("plans are only made here")
        }
    }

    fn plan(change: impl FnOnce(&mut PlanFile)) -> Plan {
        let mut file = PlanFile {
            schemes: vec!["cubic".into(), "reminis".into()],
            traces: vec!["3g".into(), "lte".into()],
            seeds: "1..3".parse().unwrap(),
            ..PlanFile::default()
        };
        change(&mut file);
        Plan::new(&file, &Accepting, "0").unwrap()
    }

    #[test]
    fn the_grid_is_every_scheme_on_every_trace_with_every_seed_and_a_limit_for_each_trace() {
        let plan = plan(|_| ());
        assert_eq!(plan.runs.len(), 2 * (1 + 2 * 3));
        assert_eq!(plan.runs[0].label(), "limit on 3g, seed 1");
        assert_eq!(plan.runs[6].label(), "reminis on 3g, seed 3");
        let is_shared = |run: &PlannedRun| std::ptr::eq(&*run.scenario.path, &*plan.runs[0].scenario.path);
        assert!(plan.runs.iter().all(is_shared), "one path in memory");
    }

    #[test]
    fn with_random_offsets_a_seed_draws_each_flows_start_within_an_rtt_and_has_a_limit_of_its_own() {
        let random = plan(|file| {
            file.schemes = vec!["2*cubic@5s".into()];
            file.offset = Offset::Random;
        });
        assert_eq!(random.runs.len(), 2 * (3 + 3));
        let starts = |run: usize| random.runs[run].scenario.flows.iter().map(|flow| flow.start);
        let (first, last) = (Time::ZERO + Span::from_secs(5), Time::ZERO + Span::from_millis(5_020));
        let mut all: Vec<Time> = (3..6).flat_map(starts).collect();
        assert!(all.iter().all(|start| (first..last).contains(start)), "{all:?}");
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6, "no two are the same");
    }

    #[test]
    fn varied_conditions_repeat_the_grid_on_every_trace() {
        let vary = "'path.queue' = ['33pkt', '65pkt']";
        let plan = plan(|file| file.vary = toml::from_str(vary).unwrap());
        assert_eq!(plan.runs.len(), 2 * 2 * (1 + 2 * 3));
        let run = &plan.runs[13];
        assert_eq!(run.label(), "reminis, path.queue=65pkt on 3g, seed 3");
        assert_eq!(run.scenario.path.queue.to_string(), "65pkt");
        assert_eq!(plan.runs[14].label(), "limit, path.queue=33pkt on lte, seed 1");
    }

    #[test]
    fn alternatives_in_braces_are_schemes_of_their_own() {
        let plan = plan(|file| file.schemes = vec!["reminis(dtt={1x,2x})+cubic".into()]);
        assert_eq!(plan.runs[1].scenario.scheme, "reminis(dtt=1x)+cubic");
        assert_eq!(plan.runs[4].scenario.scheme, "reminis(dtt=2x)+cubic");
    }

    #[test]
    fn every_driver_runs_every_scheme_and_the_simulators_runs_keep_their_ids() {
        let before = plan(|_| ());
        let both = plan(|file| file.drivers = vec!["sim".into(), "kernel".into()]);
        assert_eq!(both.runs.len(), 2 * (1 + 2 * 2 * 3));
        assert_eq!(both.runs[4].label(), "cubic [kernel] on 3g, seed 1");
        let simulated: Vec<_> = both.runs.iter().filter(|run| run.scenario.driver == "sim").collect();
        assert_eq!(simulated, before.runs.iter().collect::<Vec<_>>());
        let mut ids: Vec<_> = both.runs.iter().map(|run| &run.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), both.runs.len());
    }

    #[test]
    fn a_baseline_is_one_of_the_schemes() {
        let with = |baseline: &str| {
            let file = PlanFile {
                schemes: vec!["reminis(dtt={1x,2x},ps=1)".into()],
                traces: vec!["3g".into()],
                baseline: baseline.into(),
                ..PlanFile::default()
            };
            Plan::new(&file, &Accepting, "0").map(|plan| plan.baseline).map_err(|error| error.to_string())
        };
        assert_eq!(with("reminis(dtt=2x, ps=1)").unwrap(), "reminis(dtt=2x,ps=1)");
        let error = with("cubic").unwrap_err();
        assert!(error.contains("`cubic`") && error.contains("reminis(dtt=1x,ps=1), reminis"), "{error}");
    }

    #[test]
    fn a_run_is_the_same_only_if_all_its_conditions_are() {
        let before = plan(|_| ());
        assert_eq!(before, plan(|_| ()));
        assert_ne!(before.runs[0].id, plan(|file| file.path.rtt = Span::from_millis(30)).runs[0].id);
        assert_ne!(before.runs[0].id, before.runs[1].id);
    }
}

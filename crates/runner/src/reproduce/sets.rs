//! The runs of claims and tables: one Plan for all.

use super::{Library, Wanted};
use crate::{Drivers, Request, RequestError, Results, RunnerError};
use cellcc_claims::{Claim, DataRuns, Figure, Needs, Outcome, Run, Scale};
use cellcc_experiment::{
    Driver, Plan, PlannedRun, Record, Recordings, ResolveError, Resolved, RunError, RunId, Scenario, Watch,
};
use cellcc_link::TraceCache;
use cellcc_units::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::Path;
use std::sync::Arc;

/// The variable that names the folder of the recordings.
pub(super) const TRACES: &str = "CELLCC_TRACES";

/// The variable that names the folder of published weights, below which a data set's schemes name their files.
const MODELS: &str = "CELLCC_MODELS";
/// The text before the file of weights in that of a scheme.
const MODEL: &str = "(model=";

/// Placeholder scheme for data sets that use only the `limit` row.
const ANY_SCHEME: &str = "cubic";

/// The data sets that are needed, and the union of their runs.
pub(super) struct Sets {
    /// The runs of each data set, in the order of its plan.
    runs: BTreeMap<String, Vec<(RunId, Run)>>,
    /// Data sets whose recordings are not there, and why.
    left_out: BTreeMap<String, String>,
    pub(super) plan: Plan,
    pub(super) driver: NeededSeries,
}

/// The requests of a data set; or why it is left out.
pub(super) type Found = Result<Result<Vec<Request>, String>, RequestError>;

/// Outcomes by run.
#[derive(Debug, Default)]
pub struct Outcomes(BTreeMap<RunId, Arc<Outcome>>);

impl Outcomes {
    /// The outcomes in an output folder.
    ///
    /// # Errors
    /// A folder whose results are not whole.
    pub fn read(folder: &Path) -> Result<Self, RunnerError> {
        let mut outcomes = Self::default();
        Results::each(folder, |record| outcomes.add(record))?;
        Ok(outcomes)
    }

    /// Adds the outcome of a run.
    pub fn add(&mut self, record: Record) {
        if let Ok(id) = record.id.parse() {
            self.0.insert(id, Arc::new(Outcome::from(record)));
        }
    }
}

impl Sets {
    /// The data sets that are needed; `of_page` has those that a page's command makes.
    pub(super) fn new(
        library: &Library,
        of_page: &dyn Fn(&str) -> Option<Found>,
        needs: &Needs,
        wanted: &Wanted,
    ) -> Result<Self, RequestError> {
        let (mut requests, mut left_out) = (Vec::new(), BTreeMap::new());
        let mut hashes = Hashes::default();
        for name in needs.data() {
            let found =
                of_page(name).unwrap_or_else(|| of_data_set(library, needs, name, wanted.scale, &mut hashes));
            match found? {
                Ok(found) => requests.push((name.to_owned(), found)),
                Err(why) => drop(left_out.insert(name.to_owned(), why)),
            }
        }
        let names =
            requests.iter().flat_map(|(_, requests)| requests).flat_map(|request| &request.file.drivers);
        let names: Vec<String> = names.cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let driver = Drivers::with_registry(wanted.registry, &names, &Recordings::default())?;

        let mut plan = Plan {
            title: "reproduce".into(),
            baseline: String::new(),
            version: wanted.version.into(),
            runs: Vec::new(),
        };
        let (mut runs, mut planned, mut with_series) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        for (name, requests) in requests {
            let of_set: &mut Vec<(RunId, Run)> = runs.entry(name.clone()).or_default();
            for request in requests {
                request.check()?;
                let own = request
                    .plan(&driver, wanted.version)
                    .map_err(|error| RequestError::new(format!("{name}: {error}")))?;
                for PlannedRun { id, scenario } in own.runs {
                    let mut run = Run::new(&scenario, None);
                    if let Some(folder) = folder_of(MODELS) {
                        run.scheme = run.scheme.replace(&format!("{MODEL}{folder}/"), MODEL);
                    }
                    let needed = needs.of(&name, &run);
                    // Runs that are not executed are also kept: error messages list them.
                    of_set.push((id, run));
                    if needed == Some(true) {
                        with_series.insert(id);
                    }
                    if needed.is_some() && planned.insert(id) {
                        plan.runs.push(PlannedRun { id, scenario });
                    }
                }
            }
        }
        let driver = NeededSeries { driver, with_series, version: wanted.version.into() };
        Ok(Self { runs, left_out, plan, driver })
    }

    /// Checks that every claim and figure whose data sets are there finds its runs, before anything is run.
    pub(super) fn check(&self, claims: &[&Claim], figures: &[&Figure]) -> Result<(), RequestError> {
        let data = self.data(&Outcomes::default());
        let mut here = claims.iter().filter(|claim| self.left_out(&claim.data()).is_none());
        here.try_for_each(|claim| claim.check(&data)).map_err(RequestError::new)?;
        let mut here = figures.iter().filter(|figure| self.left_out(&figure.data()).is_none());
        here.try_for_each(|figure| figure.drawn(&data).map(drop)).map_err(RequestError::new)
    }

    /// The runs with their outcomes.
    pub(super) fn data(&self, outcomes: &Outcomes) -> DataRuns {
        let with = |(id, run): &(RunId, Run)| Run { outcome: outcomes.0.get(id).cloned(), ..run.clone() };
        self.runs.iter().map(|(name, runs)| (name.clone(), runs.iter().map(with).collect())).collect()
    }

    /// Reason why one of these data sets is not there; none: all are.
    pub(super) fn left_out(&self, data: &[&str]) -> Option<&str> {
        data.iter().find_map(|name| self.left_out.get(*name)).map(String::as_str)
    }

    /// The data sets that are not there, by the reason.
    pub(super) fn by_reason(&self) -> BTreeMap<String, Vec<String>> {
        let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, why) in &self.left_out {
            by_reason.entry(why.clone()).or_default().push(name.clone());
        }
        by_reason
    }
}

/// The Scenarios of a data set with the links below the folder of the traces; or why they are not there.
fn of_data_set(library: &Library, needs: &Needs, name: &str, scale: Scale, hashes: &mut Hashes) -> Found {
    let claims = &library.claims;
    let wrong = |problem: String| RequestError::new(format!("data set `{name}`: {problem}"));
    let data = claims.data.get(name).ok_or_else(|| wrong("is not there".into()))?;
    let Request { file, name: file_name } = Request::read(&library.root.join(&data.scenario))?;
    let mut schemes = needs.schemes(name);
    if schemes.is_empty() {
        schemes.push(ANY_SCHEME.into());
    }
    if let Err(why) = schemes.iter_mut().try_for_each(with_weights) {
        return Ok(Err(why));
    }
    let mut file = data.plan_file(file, schemes, &claims.recordings, scale).map_err(wrong)?;
    let recordings: BTreeSet<String> =
        file.traces.iter().flat_map(|link| claims.recordings.within(link)).map(str::to_owned).collect();
    if !recordings.is_empty() {
        let Some(folder) = folder_of(TRACES) else {
            return Ok(Err(format!(
                "{TRACES} does not name the folder of the recordings (docs/README.md says where to get them)"
            )));
        };
        for recording in &recordings {
            let path = format!("{folder}/{recording}");
            match hashes.of(&path)? {
                None => return Ok(Err(format!("{path} is not there"))),
                Some(hash) if Some(hash) != claims.recordings.sha256(recording) => {
                    return Ok(Err(format!(
                        "{path} is not the recording that claims/recordings.toml means: its SHA-256 is another"
                    )));
                }
                Some(_) => {}
            }
        }
        file.traces = file.traces.iter().map(|link| claims.recordings.below(&folder, link)).collect();
    }
    if !data.whole {
        let request = Request { file, name: file_name };
        return Ok(Ok(vec![request.with(&toml::Table::new())?]));
    }
    let whole = file.traces.iter().map(|link| {
        let period = hashes.cache.open(link).map_err(RequestError::new)?.capacity.period();
        let mut own = file.clone();
        own.traces = vec![link.clone()];
        own.duration = period.unwrap_or(own.duration);
        Ok(Request { file: own, name: file_name.clone() })
    });
    Ok(Ok(whole.collect::<Result<_, RequestError>>()?))
}

/// The folder that a variable of the environment names.
fn folder_of(variable: &str) -> Option<String> {
    let folder = env::var(variable).ok()?;
    let folder = folder.trim_end_matches('/');
    (!folder.is_empty()).then(|| folder.to_owned())
}

/// Names a scheme's file of weights below the folder of the models; or says why it is not there.
fn with_weights(scheme: &mut String) -> Result<(), String> {
    const HOW: &str = "docs/algorithms/learned.md says how to get the weights";
    let Some((name, rest)) = scheme.split_once(MODEL) else { return Ok(()) };
    let folder = folder_of(MODELS)
        .ok_or_else(|| format!("{MODELS} does not name the folder of published weights ({HOW})"))?;
    let path = format!("{folder}/{rest}");
    let file = path.split(['@', ',', ')']).next().unwrap_or(&path);
    if !Path::new(file).is_file() {
        return Err(format!("{file} is not there ({HOW})"));
    }
    *scheme = format!("{name}{MODEL}{path}");
    Ok(())
}

/// The hashes of recordings, each read once.
#[derive(Default)]
struct Hashes {
    cache: TraceCache,
    known: BTreeMap<String, String>,
}

impl Hashes {
    /// The hash of the recording at this path; none where there is no file.
    fn of(&mut self, path: &str) -> Result<Option<&str>, RequestError> {
        if !self.known.contains_key(path) {
            if !Path::new(path).is_file() {
                return Ok(None);
            }
            let hash = self.cache.open(path).map_err(RequestError::new)?.hash;
            self.known.insert(path.to_owned(), hash);
        }
        Ok(self.known.get(path).map(String::as_str))
    }
}

/// Keeps time series and curves of only those runs that need them: they are most of a Record.
pub(super) struct NeededSeries {
    driver: Drivers,
    with_series: BTreeSet<RunId>,
    version: String,
}

impl Driver for NeededSeries {
    fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
        self.driver.resolve(scenario)
    }

    fn run(&self, scenario: &Resolved) -> Result<Record, RunError> {
        self.run_watched(scenario, &())
    }

    fn run_watched(&self, scenario: &Resolved, watch: &dyn Watch) -> Result<Record, RunError> {
        let mut record = self.driver.run_watched(scenario, watch)?;
        if !self.with_series.contains(&RunId::of(scenario, &self.version)) {
            record.series.columns.clear();
            record.curves.clear();
        }
        Ok(record)
    }

    fn is_real_time(&self, scenario: &Scenario) -> bool {
        self.driver.is_real_time(scenario)
    }

    fn expected_time(&self, scenario: &Scenario) -> Span {
        self.driver.expected_time(scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_sim::SimDriver;
    use std::path::PathBuf;

    /// Resolves everything but recordings and published weights, which this test does not require.
    struct WithoutFiles<'a>(SimDriver, &'a cellcc_claims::Recordings);

    impl Driver for WithoutFiles<'_> {
        fn resolve(&self, scenario: &mut Scenario) -> Result<(), ResolveError> {
            if scenario.scheme.contains(MODEL) {
                return Ok(());
            }
            let trace = scenario.trace.clone();
            if self.1.within(&trace).next().is_some() {
                scenario.trace = "3g".into();
            }
            self.0.resolve(scenario)?;
            scenario.trace = trace;
            Ok(())
        }

        fn run(&self, _: &Resolved) -> Result<Record, RunError> {
            unreachable!("plans are only made here")
        }
    }

    #[test]
    fn every_claim_and_figure_names_what_there_is() {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let library = Library::read(&root).unwrap();
        let claims = &library.claims;
        assert!(claims.claims.len() >= 226);
        let needs = claims.needs(&claims.claims, &claims.figures).unwrap();
        let driver = WithoutFiles(SimDriver::new(cellcc_experiment::registry()), &claims.recordings);
        let mut data = DataRuns::new();
        for (name, set) in &claims.data {
            let mut request = Request::read(&root.join(&set.scenario)).unwrap();
            let mut schemes = needs.schemes(name);
            if schemes.is_empty() {
                schemes.push(ANY_SCHEME.into());
            }
            for scale in [Scale::Smaller, Scale::Paper] {
                let file = set.plan_file(request.file.clone(), schemes.clone(), &claims.recordings, scale);
                request.file = file.unwrap_or_else(|problem| panic!("{name}: {problem}"));
            }
            let links = request.file.traces.iter();
            request.file.traces = links.map(|link| crate::traces::normal(link)).collect();
            request.check().unwrap();
            let plan = request.plan(&driver, "test").unwrap_or_else(|error| panic!("{name}: {error}"));
            data.insert(name.clone(), plan.runs.iter().map(|run| Run::new(&run.scenario, None)).collect());
        }
        for claim in &claims.claims {
            claim.check(&data).unwrap_or_else(|error| panic!("{error}"));
        }
        assert!(claims.figures.len() >= 30);
        for figure in &claims.figures {
            figure.drawn(&data).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

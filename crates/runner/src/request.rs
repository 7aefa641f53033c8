//! Requests for runs, and how they become Plans: one form for the command line and for Python.

use crate::files::folder::Folder;
use crate::{RunnerError, check_plan, ranges, traces};
use cellcc_experiment::{Driver, Offset, Plan, PlanError, PlanFile, Seeds, conditions};
use cellcc_link::{Delay, ShareOverTime};
use cellcc_units::{Bytes, input};
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml::{Table, Value};

/// The Scenario of a command that names none.
const QUICK_START: &str = include_str!("../assets/quick-start.toml");
const QUICK_START_NAME: &str = "scenarios/quick-start.toml";

/// The largest Scenario file: room for the names of 100,000 traces.
const MOST_BYTES: Bytes = Bytes::new(16_000_000);

/// A request for runs, before it is checked against a driver.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The conditions.
    pub file: PlanFile,
    /// The file they come from, for messages.
    pub name: String,
}

/// A request that cannot be fulfilled. The message has the problem, its place and the remedy: exit status 2.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RequestError(String);

impl RequestError {
    /// An error with this message.
    pub fn new(message: impl ToString) -> Self {
        Self(message.to_string())
    }
}

impl Request {
    /// The Scenario file at `path`.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no Scenario, with the line.
    pub fn read(path: &Path) -> Result<Self, RequestError> {
        let name = path.display().to_string();
        let text = input::read_text(path, MOST_BYTES).map_err(|error| {
            RequestError(match moved(path) {
                Some(now) => format!("the Scenario {name} moved to {}", now.display()),
                None => format!("the Scenario {name}: {error}"),
            })
        })?;
        Self::parse(&name, &text)
    }

    /// The Scenario that `compare` keeps in its output folder, to go on with it. A folder without one is no output folder, or
    /// that of a command that was killed before it had begun.
    ///
    /// # Errors
    /// A folder without a Scenario, and a file that is no Scenario.
    pub fn kept(folder: &Path) -> Result<Self, RequestError> {
        let path = Folder::new(folder).scenario();
        let name = path.display().to_string();
        let text = input::read_kept_text(&path, MOST_BYTES).map_err(|error| {
            RequestError(format!(
                "nothing says what to finish: the Scenario {name}: {error}; repeat the interrupted command with its schemes, \
                 traces and conditions, and with --resume, or name its folder"
            ))
        })?;
        Self::parse(&name, &text)
    }

    /// The quick start, which runs [`with`](Self::with) `given` where no Scenario is named. Its title is that of its own schemes
    /// and traces; others have none. With several seeds a seed also draws where in its trace a run begins: several seeds are to
    /// give several results, and most schemes draw no random number. A Scenario's figures hold for its own offset.
    ///
    /// # Errors
    /// None that a test would not have found.
    pub fn quick_start(given: &Table) -> Result<Self, RequestError> {
        let mut request = Self::parse(QUICK_START_NAME, QUICK_START)?;
        if given.contains_key("schemes") || given.contains_key("traces") {
            request.file.title.clear();
        }
        let seeds = given.get("seeds").and_then(Value::as_str).and_then(|text| text.parse::<Seeds>().ok());
        if seeds.is_some_and(|seeds| seeds.as_slice().len() > 1) {
            request.file.offset = Offset::Random;
        }
        Ok(request)
    }

    /// The Scenario `text`, called `name` in messages.
    ///
    /// # Errors
    /// A text that is no Scenario, with the line.
    pub fn parse(name: &str, text: &str) -> Result<Self, RequestError> {
        let file = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            RequestError(format!("{name}:{line}: {}", error.message().replace('\n', ", ")))
        })?;
        Ok(Self { file, name: name.into() })
    }

    /// Sets the values of flags or keyword arguments, by their keys in a Scenario file. Replaces folders and patterns by the
    /// traces that they mean, and files of delays and losses by their content. Each file is read once: a pipe gives its content
    /// to the first reader only, and the plan as it is kept must not need the files.
    ///
    /// # Errors
    /// A value that its key does not take, a folder without traces, a file that cannot be read.
    pub fn with(self, given: &Table) -> Result<Self, RequestError> {
        let mut file = self.file.with(given).map_err(RequestError)?;
        file.traces = traces::expand(&file.traces)?;
        file.cell.iter_mut().flat_map(|cell| &mut cell.users).for_each(|user| *user = traces::normal(user));
        let path = &mut file.path;
        path.reverse.trace = traces::normal(&path.reverse.trace);
        let refused = |what: &'static str| move |error| RequestError(format!("{what}: {error}"));
        for extra in [&mut path.extra_delay, &mut path.reverse.extra_delay] {
            Delay::spell_out(extra).map_err(refused("extra delay"))?;
        }
        ShareOverTime::spell_out(&mut path.extra_loss).map_err(refused("extra loss"))?;
        Ok(Self { file, ..self })
    }

    /// Checks every value that has a range, including varied ones.
    ///
    /// # Errors
    /// The value, its flag and its key, and the values that are allowed.
    pub fn check(&self) -> Result<(), RequestError> {
        ranges::check(&self.file, &self.name)
    }

    /// The plan: every run resolved by `driver`, and checked. `version` names the code.
    ///
    /// # Errors
    /// The first thing that is wrong, with the flag that it belongs to.
    pub fn plan(&self, driver: &dyn Driver, version: &str) -> Result<Plan, RequestError> {
        let plan = Plan::new(&self.file, driver, version).map_err(|error| match error {
            PlanError::Mix(_) => RequestError(format!("--schemes or --background: {error}")),
            PlanError::Harm(_) => RequestError(format!("--harm: {error}")),
            PlanError::Braces(_) => RequestError(format!("--schemes: {error}")),
            PlanError::Baseline { .. } => {
                RequestError(format!("--baseline: {error}; `--baseline ''` leaves the baseline out"))
            }
            PlanError::Empty(_) | PlanError::Vary(_) | PlanError::Resolve(_) => RequestError::new(error),
        })?;
        ranges::check_starts(&plan)?;
        ranges::check_extra_delays(&plan)?;
        check_plan(&plan).map_err(|error: RunnerError| RequestError::new(error))?;
        Ok(plan)
    }

    /// The content of `scenario.toml`: the request as a person would write it.
    ///
    /// # Errors
    /// A value of it that has no form in TOML.
    pub fn scenario_toml(&self) -> Result<String, RequestError> {
        as_toml(&self.file).map_err(RequestError::new)
    }
}

/// The place of a Scenario that is missing and lies in a folder next to its old place: the repository's `scenarios/tide-lte.toml` became
/// `scenarios/tide/lte.toml`, and some kept their names. Until 1.0.
fn moved(path: &Path) -> Option<PathBuf> {
    let name = path.file_name().filter(|_| !path.exists())?.to_str()?;
    let subjects: Vec<PathBuf> =
        std::fs::read_dir(path.parent()?).ok()?.flatten().map(|entry| entry.path()).collect();
    let without_subject = subjects.iter().filter_map(|subject| {
        let prefix = format!("{}-", subject.file_name()?.to_str()?);
        Some(subject.join(name.strip_prefix(&prefix)?))
    });
    let with_its_name = subjects.iter().map(|subject| subject.join(name));
    without_subject.chain(with_its_name).find(|place| place.is_file())
}

/// A plan as a person would write it. A Record keeps the texts that its id was made with: `0x` where this says `0%`.
///
/// # Errors
/// A value of the plan that has no form in TOML.
fn as_toml(file: &PlanFile) -> Result<String, toml::ser::Error> {
    let mut table = Table::try_from(file)?;
    for row in conditions::rows() {
        let Some(Value::String(text)) = conditions::get_mut(&mut table, row.key) else { continue };
        if let Some(natural) = row.takes.natural(text) {
            *text = natural;
        }
    }
    toml::to_string(&table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellcc_units::Ratio;

    #[test]
    fn a_scenario_that_moved_is_refused_with_its_new_place() {
        let folder = tempfile::tempdir().unwrap();
        for place in ["tide/lte.toml", "kernel/tide-lte.toml", "links/fault-jitter.toml"] {
            let place = folder.path().join(place);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, "").unwrap();
        }
        let refusal = |name: &str| Request::read(&folder.path().join(name)).unwrap_err().to_string();
        assert!(refusal("tide-lte.toml").ends_with("tide/lte.toml"));
        assert!(refusal("fault-jitter.toml").ends_with("links/fault-jitter.toml"));
        assert!(!refusal("tide-5g.toml").contains("moved"));
    }

    #[test]
    fn the_quick_start_is_a_scenario() {
        let Request { file, .. } = Request::quick_start(&Table::new()).unwrap();
        assert_eq!((file.schemes.len(), file.traces.len()), (7, 5));
        assert!(!file.title.is_empty() && file.offset == Offset::Fixed);
    }

    #[test]
    fn of_several_seeds_each_draws_its_place_in_the_trace() {
        let Request { file, .. } =
            Request::quick_start(&toml::from_str("traces = ['3g']\nseeds = '1..3'").unwrap()).unwrap();
        assert!(file.title.is_empty() && file.offset == Offset::Random);
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        let error = Request::parse("x.toml", "schemes = ['cubic']\n[path]\nqueu = '10pkt'\n").unwrap_err();
        assert!(error.to_string().starts_with("x.toml:3: ") && error.to_string().contains("queu"), "{error}");
    }

    #[test]
    fn values_are_written_as_a_person_would_and_read_back() {
        let mut file = PlanFile::default();
        let usual = as_toml(&file).unwrap();
        for line in ["loss = \"0%\"", "mss = \"1448B\"", "header = \"52B\""] {
            assert!(usual.contains(line), "{line}: {usual}");
        }
        file.path.loss = Ratio::new(0.015);
        // No number of percent in few digits is this share.
        file.path.reverse.loss = Ratio::new(1.0 / 3.0);
        let written = as_toml(&file).unwrap();
        assert!(written.contains("loss = \"1.5%\""), "{written}");
        assert_eq!(toml::from_str::<PlanFile>(&written).unwrap(), file);
    }
}

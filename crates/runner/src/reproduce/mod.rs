//! Judges the claims of papers: claims, figures and tables of pages name the runs that they need, the runs are one Plan, and their
//! Records are judged. `cellcc reproduce` and Python's `reproduce` run it.

mod library;
mod pages;
mod sets;

pub use library::Library;
pub use pages::CheckedPages;
pub use sets::Outcomes;

use crate::{Request, RequestError};
use cellcc_claims::{Claim, DrawnFigure, Figure, Judged, PointsOf, Scale, Verdict};
use cellcc_control::Registry;
use cellcc_experiment::{Driver, Plan};
use cellcc_units::output;
use pages::Pages;
use serde::Serialize;
use sets::Sets;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The content of `scenario.toml` in the folder of these runs.
pub const SCENARIO: &str =
    "# The runs of `cellcc reproduce` are those of several Scenarios: run-info.json has the command.\n";

/// Reads the words of a `cellcc compare` in a page's comment; or says what is wrong with them.
pub type ReadCommand<'a> = &'a dyn Fn(&[String]) -> Result<Request, String>;

/// The claims and pages that are to be judged, and how.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Claims by their ids, papers or places in one; none: all, or with pages that are named none.
    pub claims: &'a [String],
    /// Pages whose tables are also checked; none: no page; an empty list: README and all of docs.
    pub pages: Option<&'a [PathBuf]>,
    /// Scale of the runs.
    pub scale: Scale,
    /// Names the code.
    pub version: &'a str,
    /// The schemes that the runs can name.
    pub registry: &'a Registry,
    /// Reads the commands of pages.
    pub read_command: ReadCommand<'a>,
}

/// Claims, figures and pages, with the Plan of the runs that they need.
pub struct Reproduction<'a> {
    library: &'a Library,
    scale: Scale,
    claims: Vec<&'a Claim>,
    figures: Vec<&'a Figure>,
    /// Claims whose numbers stand in the running text of the pages.
    mentioned: Vec<&'a Claim>,
    pages: Pages,
    sets: Sets,
}

/// A claim with its verdict and that of before, as `scorecard.json` has it.
#[derive(Debug, Clone, Serialize)]
pub struct Judgement {
    /// The claim and its verdict.
    #[serde(flatten)]
    pub judged: Judged,
    /// The verdict of before; none where it was not judged at this scale.
    pub before: Option<Verdict>,
    /// Its recordings or weights are not there.
    #[serde(skip)]
    pub is_left_out: bool,
}

/// The outcome of a reproduction.
#[derive(Debug)]
pub struct Reproduced<'a> {
    /// The claims, in the order of their files.
    pub judgements: Vec<Judgement>,
    /// The figures whose runs are there.
    pub figures: Vec<DrawnFigure<'a>>,
    /// The pages, compared with the runs.
    pub pages: CheckedPages,
    /// Data sets that are not there, by the reason.
    pub left_out: BTreeMap<String, Vec<String>>,
    scale: Scale,
}

impl<'a> Reproduction<'a> {
    /// Finds the wanted claims, figures and pages, and the runs that they need. Must be called before the process has a second
    /// thread: see [`Drivers::new`](crate::Drivers::new).
    ///
    /// # Errors
    /// A name that nothing has, and a claim, figure or page that asks for runs that its Scenario does not make, with its place.
    pub fn new(library: &'a Library, wanted: &Wanted) -> Result<Self, RequestError> {
        let only_pages = wanted.claims.is_empty() && wanted.pages.is_some_and(|pages| !pages.is_empty());
        let (claims, figures) =
            if only_pages { Default::default() } else { library.chosen(wanted.claims)? };
        let pages = Pages::read(&library.root, wanted.pages)?;
        let mentioned = pages.claims(&library.claims)?;
        let all: Vec<&Claim> = claims.iter().copied().chain(mentioned.iter().copied()).collect();
        let needs = library.claims.needs(all.iter().copied(), figures.iter().copied());
        let mut needs = needs.map_err(RequestError::new)?;
        pages.add_needs(&mut needs);
        let request = |command: &str| pages.request(command, wanted.read_command);
        let sets = Sets::new(library, &request, &needs, wanted)?;
        sets.check(&all, &figures)?;
        Ok(Self { library, scale: wanted.scale, claims, figures, mentioned, pages, sets })
    }

    /// The runs.
    pub fn plan(&self) -> &Plan {
        &self.sets.plan
    }

    /// The driver of the runs.
    pub fn driver(&self) -> &dyn Driver {
        &self.sets.driver
    }

    /// Judges the outcomes.
    ///
    /// # Errors
    /// A quantity without a value where a claim, figure or page needs one, with its place.
    pub fn judge(self, outcomes: &Outcomes) -> Result<Reproduced<'a>, RequestError> {
        let data = self.sets.data(outcomes);
        let judge = |claim: &&Claim| {
            let (judged, is_left_out) = match self.sets.left_out(&claim.data()) {
                Some(why) => (claim.unjudged(why), true),
                None => (claim.judge(&data).map_err(RequestError::new)?, false),
            };
            let judged = Judged { note: self.library.claims.remark(claim), ..judged };
            let before = self.library.state.verdict(&claim.id, self.scale);
            Ok(Judgement { judged, before, is_left_out })
        };
        let judgements: Vec<Judgement> =
            self.claims.iter().map(judge).collect::<Result<_, RequestError>>()?;
        let mentioned: Vec<Judged> = self
            .mentioned
            .iter()
            .map(|claim| Ok(judge(claim)?.judged))
            .collect::<Result<_, RequestError>>()?;
        let mut figures = Vec::new();
        for figure in self.figures.iter().filter(|figure| self.sets.left_out(&figure.data()).is_none()) {
            let panels = figure.drawn(&data).map_err(RequestError::new)?;
            if panels.iter().flatten().all(|points| matches!(points.of, PointsOf::Paper(..))) {
                continue;
            }
            let of_figure = figure.data();
            let is_about = |claim: &&&Claim| claim.data().iter().any(|name| of_figure.contains(name));
            let claims = self.claims.iter().filter(is_about).map(|claim| claim.id.as_str()).collect();
            figures.push(DrawnFigure { figure, panels, claims });
        }
        let pages =
            self.pages.compare(&data, |command| self.sets.left_out(&[command]).is_some(), &mentioned)?;
        Ok(Reproduced { judgements, figures, pages, left_out: self.sets.by_reason(), scale: self.scale })
    }
}

impl Judgement {
    /// True where the verdict is another one than before.
    pub fn differs(&self) -> bool {
        !self.is_left_out && self.before != Some(self.judged.verdict)
    }
}

impl Reproduced<'_> {
    /// Number of claims with a verdict.
    pub fn judged_claims(&self) -> usize {
        self.judgements.iter().filter(|one| one.judged.verdict != Verdict::Untested).count()
    }

    /// True where something was left out and nothing was judged: a gate that says nothing is not green.
    pub fn is_idle(&self) -> bool {
        !self.left_out.is_empty() && self.judged_claims() + self.pages.numbers + self.figures.len() == 0
    }

    /// True where a verdict or a number of a page is another one than before.
    pub fn differs(&self) -> bool {
        self.judgements.iter().any(Judgement::differs) || self.pages.drifted + self.pages.bare_tables > 0
    }

    /// The content of `scorecard.json`.
    pub fn scorecard(&self, version: &str) -> String {
        #[derive(Serialize)]
        struct Scorecard<'a> {
            version: &'a str,
            scale: &'a str,
            claims: &'a [Judgement],
        }
        let card = Scorecard { version, scale: self.scale.name(), claims: &self.judgements };
        serde_json::to_string_pretty(&card).unwrap_or_default()
    }
}

/// Reasons why verdicts cannot be written down.
#[derive(Debug, Error)]
pub enum WriteError {
    /// A file cannot be read.
    #[error(transparent)]
    Unread(#[from] RequestError),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// README has no place for the scorecard.
    #[error("{0}")]
    NoPlace(String),
}

fn write(path: &Path, content: &str) -> Result<(), WriteError> {
    output::write(path, content).map_err(|source| WriteError::Unwritten { path: path.into(), source })
}

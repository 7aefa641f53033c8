//! The pages whose tables are checked.

use super::library::text;
use super::sets::{Found, TRACES};
use super::{ReadCommand, WriteError, write};
use crate::RequestError;
use cellcc_claims::page::cell::CellValue;
use cellcc_claims::page::{Cell, Page, words};
use cellcc_claims::{Claim, Claims, DataRuns, Judged, Needs, Quantity, Units};
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Every table of these folders needs a comment; elsewhere most tables are no results.
const OF_RESULTS: [&str; 2] = ["docs/fidelity/", "docs/evidence/"];
/// Written by the command itself.
const WRITTEN: [&str; 1] = ["docs/fidelity/claims.md"];

/// The pages with the cells that are checked, each with the command that gives its runs.
pub(super) struct Pages(Vec<(Page, Vec<(String, Cell)>)>);

/// Pages that have been compared with the runs.
#[derive(Debug, Default)]
pub struct CheckedPages {
    /// Count of numbers that were checked.
    pub numbers: usize,
    /// Count of those that have drifted.
    pub drifted: usize,
    /// Count of tables of results without a comment.
    pub bare_tables: usize,
    /// Each number that has drifted and each table without a comment, with its place.
    pub problems: Vec<String>,
    /// Tables that are not checked, with their place and the reason.
    pub unchecked: Vec<String>,
    /// The files with the drifted numbers replaced.
    texts: Vec<(PathBuf, String)>,
}

impl Pages {
    /// Pages of the repository at `root`; an empty list: all of them.
    pub(super) fn read(root: &Path, names: Option<&[PathBuf]>) -> Result<Self, RequestError> {
        let names = match names {
            None => Vec::new(),
            Some([]) => all_pages(root)?,
            Some(names) => names.iter().map(|name| root.join(name)).collect(),
        };
        let mut pages = Vec::new();
        for name in names {
            let page = Page::read(&name.display().to_string(), &text(&name)?).map_err(RequestError::new)?;
            let mut cells = Vec::new();
            for check in &page.checks {
                let of_check = page.cells(check, &check.command).map_err(RequestError::new)?;
                cells.extend(of_check.into_iter().map(|cell| (check.command.clone(), cell)));
            }
            pages.push((page, cells));
        }
        Ok(Self(pages))
    }

    /// The claims whose numbers stand in running text.
    pub(super) fn claims<'a>(&self, claims: &'a Claims) -> Result<Vec<&'a Claim>, RequestError> {
        let mut found: Vec<&Claim> = Vec::new();
        for (page, _) in &self.0 {
            for mention in &page.mentions {
                let claim =
                    claims.claims.iter().find(|claim| claim.id == mention.claim).ok_or_else(|| {
                        let (name, line, id) = (&page.name, mention.line, &mention.claim);
                        RequestError::new(format!(
                            "{name}:{line}: there is no claim {id}; claims/*.toml have all of them"
                        ))
                    })?;
                if !found.iter().any(|other| other.id == claim.id) {
                    found.push(claim);
                }
            }
        }
        Ok(found)
    }

    pub(super) fn add_needs(&self, needs: &mut Needs) {
        for (_, cell) in self.0.iter().flat_map(|(_, cells)| cells) {
            for value in &cell.values {
                if let CellValue::Value(expression) | CellValue::Interval(expression) = value {
                    needs.add(expression, None);
                }
            }
        }
    }

    /// The request of a comment's command; or the reason why it is left out. None for the name of a data set.
    pub(super) fn request(&self, command: &str, read: ReadCommand) -> Option<Found> {
        if !command.contains(' ') {
            return None;
        }
        if command.contains(&format!("${TRACES}")) && env::var_os(TRACES).is_none() {
            return Some(Ok(Err(format!("{TRACES} does not name the folder of the recordings"))));
        }
        let checks = |(page, _): &(Page, Vec<(String, Cell)>)| -> Vec<String> {
            let of = page.checks.iter().filter(|check| check.command == command);
            of.map(|check| format!("{}:{}", page.name, check.line)).collect()
        };
        let place = || self.0.iter().flat_map(checks).next();
        let wrong = |problem: &str| RequestError::new(format!("{}: {problem}", place().unwrap_or_default()));
        let request = words(command, |name| env::var(name).ok()).map_err(|problem| wrong(&problem)).and_then(|words| {
            match words.as_slice() {
                [program, compare, rest @ ..] if program == "cellcc" && compare == "compare" => {
                    read(rest).map_err(|problem| wrong(&problem))
                }
                _ => Err(wrong("only `cellcc compare ...` or the name of a data set can be checked; or write `<!-- unchecked: WHY -->`")),
            }
        });
        Some(request.map(|request| Ok(vec![request])))
    }

    /// Compares every cell whose runs are not left out with them, and every number in running text with its claim.
    pub(super) fn compare(
        self,
        data: &DataRuns,
        is_left_out: impl Fn(&str) -> bool,
        judged: &[Judged],
    ) -> Result<CheckedPages, RequestError> {
        let mut checked = CheckedPages::default();
        for (mut page, cells) in self.0 {
            let mut drifts = Vec::new();
            for (_, cell) in cells.iter().filter(|(command, _)| !is_left_out(command)) {
                let values = values(cell, data).map_err(|problem| {
                    RequestError::new(format!("{}:{}: {}: {problem}", page.name, cell.line, cell.what))
                })?;
                checked.numbers += values.len();
                drifts.extend(page.compare(cell, &values));
            }
            for mention in page.mentions.clone() {
                let found = judged.iter().find(|one| one.id == mention.claim);
                if let Some([value]) = found.map(|one| one.values.as_slice()) {
                    checked.numbers += 1;
                    drifts.extend(page.compare_mention(&mention, *value));
                }
            }
            checked.drifted += drifts.len();
            checked.problems.extend(drifts.iter().map(ToString::to_string));
            if OF_RESULTS.iter().any(|folder| page.name.contains(folder)) {
                let bare = page.bare.iter();
                checked.problems.extend(
                    bare.map(|line| format!("no comment says how to check it: {}:{line}", page.name)),
                );
                checked.bare_tables += page.bare.len();
            }
            let unchecked = page.unchecked.iter();
            checked.unchecked.extend(unchecked.map(|(line, why)| format!("{}:{line}: {why}", page.name)));
            checked.texts.push((PathBuf::from(&page.name), page.text()));
        }
        Ok(checked)
    }
}

impl CheckedPages {
    /// True where no page was to be checked.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Writes the pages with the drifted numbers replaced.
    ///
    /// # Errors
    /// A page that cannot be written.
    pub fn write(&self) -> Result<(), WriteError> {
        self.texts.iter().try_for_each(|(path, text)| write(path, text))
    }
}

/// The numbers of a cell now; NaN where there is none.
fn values(cell: &Cell, data: &DataRuns) -> Result<Vec<Option<f64>>, String> {
    let mut values = Vec::new();
    for value in &cell.values {
        let quantity = |expression| {
            Quantity::new(expression, None, data, Units::Runs).map_err(|error| error.to_string())
        };
        match value {
            CellValue::Unchecked => values.push(None),
            CellValue::Value(expression) => values.push(Some(quantity(expression)?.number())),
            CellValue::Interval(expression) => {
                let (low, high) = quantity(expression)?.interval().unwrap_or((f64::NAN, f64::NAN));
                values.extend([Some(low), Some(high)]);
            }
        }
    }
    Ok(values)
}

/// README and every page of docs, by name.
fn all_pages(root: &Path) -> Result<Vec<PathBuf>, RequestError> {
    let mut pages = BTreeSet::new();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        let unreadable = |error| {
            RequestError::new(format!(
                "{}: {error}; run `cellcc reproduce` in a clone of the repository",
                folder.display()
            ))
        };
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "md")
                && !WRITTEN.iter().any(|name| path.ends_with(name))
            {
                pages.insert(path);
            }
        }
    }
    Ok(std::iter::once(root.join("README.md")).chain(pages).collect())
}

//! The pages whose tables are checked.

use super::Args;
use super::files::text;
use super::runs::{FOLDER, Sets};
use crate::compare;
use crate::exit::{Exit, print, tell, write_file};
use cellcc_claims::page::cell::CellValue;
use cellcc_claims::page::{Cell, Page, words};
use cellcc_claims::{Claim, Claims, DataRuns, Judged, Needs, Quantity, Units};
use cellcc_runner::Request;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Every table of these folders needs a comment; elsewhere most tables are no results.
const OF_RESULTS: [&str; 2] = ["docs/fidelity/", "docs/evidence/"];
/// Written by the command itself.
const WRITTEN: [&str; 1] = ["docs/fidelity/claims.md"];

pub(super) struct Pages {
    pages: Vec<(Page, Vec<(String, Cell)>)>,
    is_quiet: bool,
}

impl Pages {
    pub(super) fn read(args: &Args) -> Result<Self, Exit> {
        let names = match &args.docs {
            None => Vec::new(),
            Some(names) if names.is_empty() => all_pages()?,
            Some(names) => names.clone(),
        };
        let mut pages = Vec::new();
        for name in names {
            let page = Page::read(&name.display().to_string(), &text(&name)?).map_err(Exit::input)?;
            let mut cells = Vec::new();
            for check in &page.checks {
                let of_check = page.cells(check, &check.command).map_err(Exit::input)?;
                cells.extend(of_check.into_iter().map(|cell| (check.command.clone(), cell)));
            }
            pages.push((page, cells));
        }
        Ok(Self { pages, is_quiet: args.quiet })
    }

    /// The claims whose numbers stand in running text.
    pub(super) fn claims<'a>(&self, claims: &'a Claims) -> Result<Vec<&'a Claim>, Exit> {
        let mut found: Vec<&Claim> = Vec::new();
        for (page, _) in &self.pages {
            for mention in &page.mentions {
                let claim =
                    claims.claims.iter().find(|claim| claim.id == mention.claim).ok_or_else(|| {
                        let (name, line, id) = (&page.name, mention.line, &mention.claim);
                        Exit::input(format!(
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
        for (_, cell) in self.pages.iter().flat_map(|(_, cells)| cells) {
            for value in &cell.values {
                if let CellValue::Value(expression) | CellValue::Interval(expression) = value {
                    needs.add(expression, None);
                }
            }
        }
    }

    /// What the command of a comment asks for; or why that is not there. None for the name of a data set.
    pub(super) fn request(&self, command: &str) -> Option<Result<Result<Request, String>, Exit>> {
        if !command.contains(' ') {
            return None;
        }
        if command.contains(&format!("${FOLDER}")) && env::var_os(FOLDER).is_none() {
            return Some(Ok(Err(format!("{FOLDER} does not name the folder of the recordings"))));
        }
        let checks = |(page, _): &(Page, Vec<(String, Cell)>)| -> Vec<String> {
            let of = page.checks.iter().filter(|check| check.command == command);
            of.map(|check| format!("{}:{}", page.name, check.line)).collect()
        };
        let place = || self.pages.iter().flat_map(checks).next();
        let wrong = |problem: &str| Exit::input(format!("{}: {problem}", place().unwrap_or_default()));
        let request = words(command, |name| env::var(name).ok()).map_err(|problem| wrong(&problem)).and_then(|words| {
            match words.as_slice() {
                [program, compare, rest @ ..] if program == "cellcc" && compare == "compare" => {
                    compare::of_words(rest).map_err(|error| wrong(&error.text()))
                }
                _ => Err(wrong("only `cellcc compare ...` or the name of a data set can be checked; or write `<!-- unchecked: WHY -->`")),
            }
        });
        Some(request.map(Ok))
    }

    /// Holds every cell against the runs, and every number in running text against its claim; names what drifted. How many numbers
    /// there were, and whether one drifted or a table has no comment.
    pub(super) fn compare(
        &mut self,
        data: &DataRuns,
        sets: &Sets,
        judged: &[Judged],
    ) -> Result<(usize, bool), Exit> {
        let (mut drifted, mut checked, mut bare_tables) = (0, 0, 0);
        if self.pages.is_empty() {
            return Ok((0, false));
        }
        for (page, cells) in &mut self.pages {
            let mut drifts = Vec::new();
            for (command, cell) in cells.iter() {
                if sets.left_out(&[command]).is_some() {
                    continue;
                }
                let values = values(cell, data).map_err(|problem| {
                    Exit::input(format!("{}:{}: {}: {problem}", page.name, cell.line, cell.what))
                })?;
                checked += values.len();
                drifts.extend(page.compare(cell, &values));
            }
            for mention in page.mentions.clone() {
                let found = judged.iter().find(|one| one.id == mention.claim);
                if let Some([value]) = found.map(|one| one.values.as_slice()) {
                    checked += 1;
                    drifts.extend(page.compare_mention(&mention, *value));
                }
            }
            for drift in &drifts {
                print(&drift.to_string())?;
            }
            drifted += drifts.len();
            if OF_RESULTS.iter().any(|folder| page.name.contains(folder)) {
                for line in &page.bare {
                    print(&format!("no comment says how to check it: {}:{line}", page.name))?;
                }
                bare_tables += page.bare.len();
            }
            if !self.is_quiet {
                page.unchecked
                    .iter()
                    .for_each(|(line, why)| tell(&format!("unchecked: {}:{line}: {why}", page.name)));
            }
        }
        print(&format!(
            "{checked} numbers of pages checked: {drifted} drifted; {bare_tables} tables have no comment"
        ))?;
        Ok((checked, drifted + bare_tables > 0))
    }

    /// Writes the pages with what drifted replaced.
    pub(super) fn write(&self) -> Result<(), Exit> {
        self.pages.iter().try_for_each(|(page, _)| write_file(Path::new(&page.name), page.text()))
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
                let (low, high) = quantity(expression)?.interval_of_page().unwrap_or((f64::NAN, f64::NAN));
                values.extend([Some(low), Some(high)]);
            }
        }
    }
    Ok(values)
}

/// README and every page of docs, by name.
fn all_pages() -> Result<Vec<PathBuf>, Exit> {
    let mut pages = BTreeSet::new();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        let unreadable = |error| {
            Exit::input(format!(
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
    Ok(std::iter::once(PathBuf::from("README.md")).chain(pages).collect())
}

//! Checks that a finished folder holds the runs of its plan, unchanged since it was written.

use crate::files::folder::Folder;
use crate::files::journal::{self, Place};
use crate::files::seal::Head;
use crate::{RunInfo, RunnerError};
use cellcc_experiment::{RunId, SCHEMA_VERSION};
use std::collections::{BTreeMap, BTreeSet};

/// Most problems, and most missing runs, that are listed; the others are counted.
const MOST_LISTED: usize = 5;

/// `runs.jsonl`, line by line against the plan.
#[derive(Debug)]
pub(crate) struct Inspection {
    /// The lines of the plan, each run once.
    pub(crate) runs: Vec<(RunId, Place)>,
    /// The lines that are not as they were written.
    pub(crate) damaged: Vec<String>,
    /// Lines that are doubled, foreign, missing or in the wrong order.
    pub(crate) against_plan: Vec<String>,
}

/// Inspects a folder whose plan was run to its end.
pub(crate) fn inspect(folder: &Folder, info: &RunInfo) -> Result<Inspection, RunnerError> {
    let failed: BTreeSet<RunId> = info.failures.iter().map(|failure| failure.id).collect();
    let expected: Vec<RunId> = info.plan.iter().copied().filter(|id| !failed.contains(id)).collect();
    let known: BTreeSet<RunId> = expected.iter().copied().collect();
    let mut seen: BTreeMap<RunId, usize> = BTreeMap::new();
    let (mut runs, mut damaged, mut against_plan) = (Vec::new(), Vec::new(), Vec::new());
    journal::each_line(&folder.runs(), |line| {
        let number = line.number;
        match line.head {
            Err(damage) => damaged.push(format!("line {number} {damage}")),
            Ok(head) => {
                if let Some(problem) = unfitting(&head, info, &known) {
                    against_plan.push(format!("line {number} {problem}"));
                } else if let Some(first) = seen.get(&head.id) {
                    against_plan.push(format!("line {number} repeats the run of line {first}"));
                } else {
                    seen.insert(head.id, number);
                    runs.push((head.id, line.place));
                }
            }
        }
        Ok(())
    })?;
    let missing: Vec<RunId> = expected.iter().copied().filter(|id| !seen.contains_key(id)).collect();
    if !missing.is_empty() {
        let ids: Vec<String> = missing.iter().take(MOST_LISTED).map(RunId::to_string).collect();
        let more = if missing.len() > MOST_LISTED { ", ..." } else { "" };
        let (count, of) = (missing.len(), expected.len());
        against_plan.push(format!("missing: {count} of {of} runs ({}{more})", ids.join(", ")));
    }
    let is_whole = damaged.is_empty() && against_plan.is_empty();
    if is_whole && !runs.iter().map(|(id, _)| id).eq(&expected) {
        against_plan.push("its lines are not in the order of the plan".into());
    }
    Ok(Inspection { runs, damaged, against_plan })
}

/// Reason why the plan has no such line, if it has none.
fn unfitting(head: &Head, info: &RunInfo, known: &BTreeSet<RunId>) -> Option<String> {
    if head.schema != SCHEMA_VERSION {
        return Some(format!(
            "has schema {}, and this version of cellcc reads {SCHEMA_VERSION}",
            head.schema
        ));
    }
    if head.version != info.version {
        return Some(format!("has version {}, and the plan has {}", head.version, info.version));
    }
    (!known.contains(&head.id)).then(|| format!("belongs to the run {}, which is not in the plan", head.id))
}

impl Inspection {
    /// The runs, if nothing is wrong.
    pub(crate) fn whole(self, folder: &Folder, info: &RunInfo) -> Result<Vec<(RunId, Place)>, RunnerError> {
        let problems = [self.damaged, self.against_plan].concat();
        if problems.is_empty() {
            return Ok(self.runs);
        }
        Err(RunnerError::damaged(folder.runs(), reported(&problems), folder, info.shard))
    }
}

/// The first of the problems, and how many more there are.
pub(crate) fn reported(problems: &[String]) -> String {
    let first = problems.iter().take(MOST_LISTED).map(String::as_str).collect::<Vec<_>>().join("; ");
    match problems.len().saturating_sub(MOST_LISTED) {
        0 => first,
        more => format!("{first}; and {more} problems more"),
    }
}

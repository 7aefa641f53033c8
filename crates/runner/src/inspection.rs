//! Whether a finished folder holds what its plan says, unchanged since it was written.

use crate::folder::Folder;
use crate::journal::{self, Line, Place};
use crate::seal::Head;
use crate::{RunInfo, RunnerError};
use cellcc_experiment::{RunId, SCHEMA_VERSION};
use std::collections::{BTreeMap, BTreeSet};

/// So many problems, and so many missing runs, are told; the others are counted.
const MOST_TOLD: usize = 5;

/// `runs.jsonl`, line by line against the plan.
#[derive(Debug)]
pub(crate) struct Inspection {
    /// The lines of the plan, each run once.
    pub(crate) runs: Vec<(Head, Place)>,
    /// What is wrong with the others, and what is missing.
    pub(crate) problems: Vec<String>,
}

/// Inspects a folder whose plan was run to its end.
pub(crate) fn inspect(folder: &Folder, info: &RunInfo) -> Result<Inspection, RunnerError> {
    let failed: BTreeSet<RunId> = info.failures.iter().map(|failure| failure.id).collect();
    let expected: Vec<RunId> = info.ids().into_iter().filter(|id| !failed.contains(id)).collect();
    let known: BTreeSet<RunId> = expected.iter().copied().collect();
    let mut seen: BTreeMap<RunId, usize> = BTreeMap::new();
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    for Line { number, place, head } in journal::lines(&folder.runs())? {
        match head.map_err(|damage| damage.to_string()).and_then(|head| fitting(head, info, &known)) {
            Err(problem) => problems.push(format!("line {number} {problem}")),
            Ok(head) => match seen.get(&head.id) {
                Some(first) => problems.push(format!("line {number} repeats the run of line {first}")),
                None => {
                    seen.insert(head.id, number);
                    runs.push((head, place));
                }
            },
        }
    }
    let missing: Vec<RunId> = expected.iter().copied().filter(|id| !seen.contains_key(id)).collect();
    if !missing.is_empty() {
        let told: Vec<String> = missing.iter().take(MOST_TOLD).map(RunId::to_string).collect();
        let more = if missing.len() > MOST_TOLD { ", ..." } else { "" };
        let (count, of) = (missing.len(), expected.len());
        problems.push(format!("missing: {count} of {of} runs ({}{more})", told.join(", ")));
    }
    if problems.is_empty() && !runs.iter().map(|(head, _)| &head.id).eq(&expected) {
        problems.push("its lines are not in the order of the plan".into());
    }
    Ok(Inspection { runs, problems })
}

/// A line's head, if the plan has it.
fn fitting(head: Head, info: &RunInfo, known: &BTreeSet<RunId>) -> Result<Head, String> {
    if head.schema != SCHEMA_VERSION {
        return Err(format!("has schema {}, and this version of cellcc reads {SCHEMA_VERSION}", head.schema));
    }
    if head.version != info.version {
        return Err(format!("is of version {}, and the plan of {}", head.version, info.version));
    }
    if !known.contains(&head.id) {
        return Err(format!("is of the run {}, which the plan has not", head.id));
    }
    Ok(head)
}

impl Inspection {
    /// The runs, if nothing is wrong.
    pub(crate) fn whole(self, folder: &Folder, info: &RunInfo) -> Result<Vec<(Head, Place)>, RunnerError> {
        if self.problems.is_empty() {
            return Ok(self.runs);
        }
        let more = self.problems.len().saturating_sub(MOST_TOLD);
        let mut problem = self.problems[..self.problems.len() - more].join("; ");
        if more > 0 {
            problem.push_str(&format!("; and {more} problems more"));
        }
        Err(RunnerError::damaged(folder.runs(), problem, folder, info.shard))
    }
}

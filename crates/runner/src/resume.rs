//! Runs that an earlier part of the same plan has finished.

use crate::error::bounded;
use crate::files::folder::Folder;
use crate::files::info::{RunInfo, State};
use crate::files::inspection::{inspect, reported};
use crate::files::journal::{self, Line, Place};
use crate::files::seal::{Damage, Files};
use crate::{Progress, RunnerError};
use cellcc_experiment::{PlannedRun, RunId, SCHEMA_VERSION};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Finds the file and the place of the line of every run of this plan that the folder has, unchanged. Records of another build
/// or of another plan are refused; `progress` receives the changed or missing results, whose runs are repeated.
pub(crate) fn gather(
    folder: &Folder,
    runs: &[PlannedRun],
    version: &str,
    progress: &dyn Progress,
) -> Result<BTreeMap<RunId, (PathBuf, Place)>, RunnerError> {
    let planned: BTreeSet<RunId> = runs.iter().map(|run| run.id).collect();
    let (mut kept, mut foreign, mut problems) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    for source in [folder.finished(), folder.runs()] {
        journal::each_line(&source, |Line { number, place, head }| {
            let head = match head {
                Ok(head) if head.schema == SCHEMA_VERSION && head.version == version => head,
                Ok(head) => return Err(other_build(folder, &head.version, version)),
                Err(Damage::NoHash(theirs)) if theirs != version => {
                    return Err(other_build(folder, &theirs, version));
                }
                Err(damage) => {
                    problems.push(at(&source, &format!("line {number} {damage}")));
                    return Ok(());
                }
            };
            if !planned.contains(&head.id) {
                foreign.insert(head.id);
            } else if let Entry::Vacant(free) = kept.entry(head.id) {
                match Files::read(folder, &head) {
                    Ok(_) => drop(free.insert((source.clone(), place))),
                    Err(file) => problems.push(at(&file.path, &format!("it {}", file.damage))),
                }
            }
            Ok(())
        })?;
    }
    if !foreign.is_empty() {
        return Err(RunnerError::OtherPlan { folder: folder.path().into(), count: foreign.len() });
    }
    problems.extend(of_finished_plan(folder)?);
    if !problems.is_empty() {
        progress.repeats(&reported(&problems));
    }
    Ok(kept)
}

/// Problems of `runs.jsonl` besides its damaged lines. They are known only for a plan that was run to its end.
fn of_finished_plan(folder: &Folder) -> Result<Vec<String>, RunnerError> {
    match RunInfo::read(folder) {
        Ok(info) if info.state == State::Complete => {
            let inspection = inspect(folder, &info)?;
            Ok(inspection.against_plan.iter().map(|problem| at(&folder.runs(), problem)).collect())
        }
        _ => Ok(Vec::new()),
    }
}

fn at(path: &Path, problem: &str) -> String {
    format!("{}: {}", path.display(), bounded(problem))
}

fn other_build(folder: &Folder, theirs: &str, ours: &str) -> RunnerError {
    let (theirs, ours) = (bounded(theirs), ours.into());
    RunnerError::OtherBuild { folder: folder.path().into(), theirs, ours }
}

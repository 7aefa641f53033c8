//! What an earlier part of the same plan has finished.

use crate::error::printable;
use crate::folder::Folder;
use crate::info::{RunInfo, State};
use crate::inspection::inspect;
use crate::journal::{self, Line, Place};
use crate::seal::Files;
use crate::{Progress, RunnerError};
use cellcc_experiment::{PlannedRun, RunId, SCHEMA_VERSION};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Where the lines are, in which file, of every run of this plan that the folder has, unchanged. Records of another build
/// or of another plan are refused; `progress` is told what was changed or is missing, and is run again.
pub(crate) fn gather(
    folder: &Folder,
    runs: &[PlannedRun],
    version: &str,
    progress: &dyn Progress,
) -> Result<BTreeMap<RunId, (PathBuf, Place)>, RunnerError> {
    let planned: BTreeSet<RunId> = runs.iter().map(|run| run.id).collect();
    let (mut kept, mut foreign, mut others) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
    tell_problems(folder, progress)?;
    for source in [folder.finished(), folder.runs()] {
        for Line { place, head, .. } in journal::lines(&source)? {
            let Ok(head) = head else { continue };
            if head.schema != SCHEMA_VERSION || head.version != version {
                others.insert(head.id, head.version);
            } else if !planned.contains(&head.id) {
                foreign.insert(head.id);
            } else if !kept.contains_key(&head.id) {
                match Files::read(folder, &head) {
                    Ok(_) => drop(kept.insert(head.id, (source.clone(), place))),
                    Err(file) => progress.repeats(&format!("{} {}", file.path.display(), file.damage)),
                }
            }
        }
    }
    let folder = folder.path();
    if let Some(theirs) = others.values().next() {
        let (theirs, ours) = (printable(theirs), version.to_owned());
        return Err(RunnerError::OtherBuild { folder: folder.into(), count: others.len(), theirs, ours });
    }
    if !foreign.is_empty() {
        return Err(RunnerError::OtherPlan { folder: folder.into(), count: foreign.len() });
    }
    Ok(kept)
}

/// Tells what is wrong with the lines that are there.
fn tell_problems(folder: &Folder, progress: &dyn Progress) -> Result<(), RunnerError> {
    let tell = |path: PathBuf, problem: String| {
        progress.repeats(&format!("{}: {}", path.display(), printable(&problem)));
    };
    for Line { number, head, .. } in journal::lines(&folder.finished())? {
        if let Err(damage) = head {
            tell(folder.finished(), format!("line {number} {damage}"));
        }
    }
    // Only of a plan that was run to its end is it known what must be there.
    if let Ok(info) = RunInfo::read(folder)
        && info.state == State::Complete
    {
        for problem in inspect(folder, &info)?.problems {
            tell(folder.runs(), problem);
        }
    }
    Ok(())
}

//! What an earlier part of the same plan has finished.

use crate::RunnerError;
use crate::folder::Folder;
use crate::journal::{self, Place};
use cellcc_experiment::{PlannedRun, SCHEMA_VERSION};
use std::collections::{BTreeMap, BTreeSet};

/// Gathers in `finished.jsonl` every Record of this plan that the folder has, and tells where each is. Records of
/// another version are left out, so that their runs are run again; Records of another plan are refused.
pub(crate) fn gather(
    folder: &Folder,
    runs: &[PlannedRun],
    version: &str,
) -> Result<BTreeMap<String, Place>, RunnerError> {
    let planned: BTreeSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    let mut kept = BTreeMap::new();
    let mut foreign = BTreeSet::new();
    let sources = [folder.finished(), folder.runs()];
    for source in &sources {
        for (head, place) in journal::heads(source)? {
            if head.schema != SCHEMA_VERSION || head.version != version {
                continue;
            }
            if !planned.contains(head.id.as_str()) {
                foreign.insert(head.id);
            } else if folder.series(&head.id).exists() {
                kept.entry(head.id).or_insert((source.as_path(), place));
            }
        }
    }
    if !foreign.is_empty() {
        return Err(RunnerError::OtherPlan { folder: folder.path().into(), count: foreign.len() });
    }
    journal::copy(&folder.finished(), kept.values().copied())?;
    let places = journal::heads(&folder.finished())?;
    Ok(places.into_iter().map(|(head, place)| (head.id, place)).collect())
}

//! Joins the folders of all shares of a plan into the folder that one run of the whole plan would have left.

use crate::folder::Folder;
use crate::info::{Failure, RunInfo, State};
use crate::journal::{self, Place};
use crate::{Existing, RunnerError};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What was joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// How many runs are in the joined folder.
    pub finished: usize,
    /// The runs that had failed in the shares, in plan order.
    pub failures: Vec<Failure>,
}

/// A share's folder, checked.
struct Share {
    folder: Folder,
    info: RunInfo,
    lines: BTreeMap<String, Place>,
}

/// Joins the folders `shards` into `out`.
///
/// # Errors
/// A folder without finished results, folders of different plans, a share that is missing or there twice, results in
/// `out` that are not to be replaced.
pub fn merge(shards: &[PathBuf], out: &Path, existing: Existing) -> Result<Merged, RunnerError> {
    let shares = shards.iter().map(|path| Share::read(path)).collect::<Result<Vec<_>, _>>()?;
    check_complete(&shares)?;
    let folder = Folder::new(out);
    if let Some(share) = shares.iter().find(|share| same(share.folder.path(), out)) {
        let problem = "a share cannot be the folder to merge into: choose another one with --out".into();
        return Err(RunnerError::Shards { folder: share.folder.path().into(), problem });
    }
    if existing == Existing::Refuse && folder.holds_results() {
        return Err(RunnerError::HoldsResults { folder: out.into() });
    }
    folder.create()?;
    folder.clear()?;

    let first = &shares[0];
    let mut failures: BTreeMap<&str, &Failure> = BTreeMap::new();
    let mut places: BTreeMap<&str, (PathBuf, Place)> = BTreeMap::new();
    for share in &shares {
        failures.extend(share.info.failures.iter().map(|failure| (failure.id.as_str(), failure)));
        for (id, place) in &share.lines {
            copy(&share.folder.series(id), &folder.series(id))?;
            let curves = share.folder.curves(id);
            if curves.exists() {
                let content = fs::read(&curves);
                let content = content.map_err(|source| RunnerError::Read { path: curves, source })?;
                folder.write_curves(id, Some(&content))?;
            }
            places.insert(id, (share.folder.runs(), *place));
        }
    }
    let plan = &first.info.plan;
    let in_order = plan.iter().filter_map(|id| places.get(id.as_str()));
    journal::copy(&folder.runs(), in_order.map(|(path, place)| (path.as_path(), *place)))?;
    copy(&first.folder.scenario(), &folder.scenario())?;
    let failures: Vec<Failure> =
        plan.iter().filter_map(|id| failures.get(id.as_str()).copied().cloned()).collect();
    let info = RunInfo {
        shard: None,
        failures: failures.clone(),
        wall_time_s: shares.iter().map(|share| share.info.wall_time_s).sum(),
        ..first.info.clone()
    };
    info.write(&folder)?;
    Ok(Merged { finished: places.len(), failures })
}

impl Share {
    fn read(path: &Path) -> Result<Self, RunnerError> {
        let folder = Folder::new(path);
        let info = RunInfo::read(&folder)?;
        let wrong = |problem| Err(RunnerError::Shards { folder: path.into(), problem });
        if info.shard.is_none() {
            return wrong("these are results of a whole plan, not of a share made with --shard".into());
        }
        if info.state != State::Complete {
            return Err(RunnerError::Unfinished { folder: path.into() });
        }
        let ids: BTreeSet<&str> = info.ids().into_iter().collect();
        let mut lines: BTreeMap<String, Place> =
            journal::heads(&folder.runs())?.into_iter().map(|(head, place)| (head.id, place)).collect();
        lines.retain(|id, _| ids.contains(id.as_str()));
        let failed: BTreeSet<&str> = info.failures.iter().map(|failure| failure.id.as_str()).collect();
        let missing = ids.iter().filter(|id| !lines.contains_key(**id) && !failed.contains(**id)).count();
        if missing > 0 {
            return wrong(format!(
                "runs.jsonl lacks {missing} runs of its share: run the share again with --resume"
            ));
        }
        Ok(Self { folder, info, lines })
    }

    fn index(&self) -> usize {
        self.info.shard.map_or(0, |shard| shard.index())
    }
}

/// All shares of one plan, each once.
fn check_complete(shares: &[Share]) -> Result<(), RunnerError> {
    let wrong =
        |share: &Share, problem| Err(RunnerError::Shards { folder: share.folder.path().into(), problem });
    let Some(first) = shares.first() else { return Ok(()) };
    let count = first.info.shard.map_or(0, |shard| shard.count());
    let mut seen: BTreeMap<usize, &Share> = BTreeMap::new();
    for share in shares {
        let same_count = share.info.shard.is_some_and(|shard| shard.count() == count);
        if share.info.plan != first.info.plan || !same_count {
            return wrong(
                share,
                format!(
                    "this is a share of another plan than {}; the same command with another --shard makes shares \
                     that fit",
                    first.folder.path().display()
                ),
            );
        }
        if let Some(other) = seen.insert(share.index(), share) {
            return wrong(
                share,
                format!("share {}/{count} again, after {}", share.index(), other.folder.path().display()),
            );
        }
    }
    let missing: Vec<String> = (1..=count)
        .filter(|index| !seen.contains_key(index))
        .take(10)
        .map(|index| format!("{index}/{count}"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    wrong(first, format!("of this plan the shares {} are not among the folders given", missing.join(", ")))
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn copy(from: &Path, to: &Path) -> Result<(), RunnerError> {
    let content = fs::read(from).map_err(|source| RunnerError::Read { path: from.into(), source })?;
    fs::write(to, content).map_err(|source| RunnerError::Write { path: to.into(), source })
}

//! Joins the folders of all shares of a plan into the folder that one run of the whole plan would have left.

use crate::error::bounded;
use crate::files::folder::{self, Folder};
use crate::files::info::{Failure, Part, RunInfo, State, plan_sha256};
use crate::files::inspection::inspect;
use crate::files::journal::{self, Place};
use crate::files::seal::{self, Files};
use crate::{Existing, OutputFolder, RunnerError};
use cellcc_experiment::RunId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The joined shards.
#[derive(Debug)]
pub struct Merged {
    /// The joined folder.
    pub out: OutputFolder,
    /// Number of finished runs in it.
    pub finished: usize,
    /// The runs that had failed in the shares, in plan order.
    pub failures: Vec<Failure>,
}

/// A share's folder, checked.
struct Share {
    folder: Folder,
    info: RunInfo,
    part: Part,
    runs: Vec<(RunId, Place)>,
}

/// Joins the folders `shards` into `out`. The shares may be of another build than this one, but all of the same.
///
/// # Errors
/// A folder without finished results, or with results that were changed; folders of different plans or builds; a share
/// that is missing or there twice; results in `out` that are not to be replaced.
pub fn merge(shards: &[PathBuf], out: &Path, existing: Existing) -> Result<Merged, RunnerError> {
    joined(shards, out, existing).map_err(RunnerError::at_merge)
}

fn joined(shards: &[PathBuf], out: &Path, existing: Existing) -> Result<Merged, RunnerError> {
    let shares = shards.iter().map(|path| Share::read(path)).collect::<Result<Vec<_>, _>>()?;
    check_complete(&shares)?;
    let plan = whole_plan(&shares)?;
    if let Some(share) = shares.iter().find(|share| same(share.folder.path(), out)) {
        let problem = "a share cannot be the folder to merge into: choose another one with --out".into();
        return Err(RunnerError::Shards { folder: share.folder.path().into(), problem });
    }
    let out = OutputFolder::create(out)?;
    if existing == Existing::Refuse && out.holds_results() {
        return Err(RunnerError::HoldsResults { folder: out.path().into() });
    }
    out.clear()?;
    out.prepare()?;

    let first = &shares[0];
    let mut failures: BTreeMap<RunId, &Failure> = BTreeMap::new();
    let mut places: BTreeMap<RunId, (PathBuf, Place)> = BTreeMap::new();
    for share in &shares {
        failures.extend(share.info.failures.iter().map(|failure| (failure.id, failure)));
        share.each_files(|id, files| {
            out.write_files(id, plan.len(), &files.series, files.curves.as_deref())
        })?;
        places.extend(share.runs.iter().map(|(id, place)| (*id, (share.folder.runs(), *place))));
    }
    let in_order = plan.iter().filter_map(|id| places.get(id));
    journal::copy(&out.folder().runs(), in_order.map(|(path, place)| (path.as_path(), *place)))?;
    let scenario = first.folder.scenario();
    let content = folder::read(&scenario).map_err(|source| RunnerError::Read { path: scenario, source })?;
    out.write_result(&out.folder().scenario(), &content)?;
    let failures: Vec<Failure> = plan.iter().filter_map(|id| failures.get(id).copied().cloned()).collect();
    let info = RunInfo {
        shard: None,
        plan,
        part: None,
        failures: failures.clone(),
        wall_time_s: shares.iter().map(|share| share.info.wall_time_s).sum(),
        ..first.info.clone()
    };
    info.write(&out)?;
    Ok(Merged { out, finished: places.len(), failures })
}

impl Share {
    fn read(path: &Path) -> Result<Self, RunnerError> {
        let folder = Folder::new(path);
        let info = RunInfo::read(&folder)?;
        if info.shard.is_none() {
            let problem = "these are results of a whole plan, not of a share made with --shard".into();
            return Err(RunnerError::Shards { folder: path.into(), problem });
        }
        let Some(part) = info.part.clone() else {
            let problem = format!(
                "this share was made by cellcc {}, which shared plans out otherwise: merge its shares with that build",
                bounded(&info.version)
            );
            return Err(RunnerError::Shards { folder: path.into(), problem });
        };
        if info.state != State::Complete {
            return Err(RunnerError::Unfinished { folder: path.into() });
        }
        let runs = inspect(&folder, &info)?.whole(&folder, &info)?;
        Ok(Self { folder, info, part, runs })
    }

    /// Has `take` have the files of each run.
    fn each_files(
        &self,
        mut take: impl FnMut(RunId, Files) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        let (folder, path) = (&self.folder, self.folder.runs());
        let unreadable = |source| RunnerError::Read { path: path.clone(), source };
        let mut lines = folder::open(&path).map_err(unreadable)?;
        for (id, place) in &self.runs {
            let line = journal::read(&mut lines, *place).map_err(unreadable)?;
            let head = seal::check(&line).map_err(|damage| {
                RunnerError::damaged(
                    path.clone(),
                    format!("the line of {id} {damage}"),
                    folder,
                    self.info.shard,
                )
            })?;
            take(*id, Files::read(folder, &head).map_err(|file| file.error(folder, self.info.shard))?)?;
        }
        Ok(())
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
        if share.info.version != first.info.version {
            return wrong(
                share,
                format!(
                    "this share was made by cellcc {}, and {} by {}; results of two builds are not mixed: run one of them \
                     again with the build of the other",
                    bounded(&share.info.version),
                    first.folder.path().display(),
                    bounded(&first.info.version)
                ),
            );
        }
        let same_count = share.info.shard.is_some_and(|shard| shard.count() == count);
        if share.part.plan_sha256 != first.part.plan_sha256 || !same_count {
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

/// The ids of the plan, from its shares.
fn whole_plan(shares: &[Share]) -> Result<Vec<RunId>, RunnerError> {
    let Some(first) = shares.first() else { return Ok(Vec::new()) };
    let own = |share: &Share| share.part.positions.clone().into_iter().zip(share.info.plan.clone());
    let by_position: BTreeMap<usize, RunId> = shares.iter().flat_map(own).collect();
    let plan: Vec<RunId> = by_position.into_values().collect();
    if plan_sha256(&plan) == first.part.plan_sha256 {
        return Ok(plan);
    }
    let problem = "its run-info.json or that of another share was changed: the runs of all shares are not those of their plan";
    Err(RunnerError::Shards { folder: first.folder.path().into(), problem: problem.into() })
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

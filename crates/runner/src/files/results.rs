//! Reading an output folder back.

use crate::files::folder::{self, Folder};
use crate::files::info::State;
use crate::files::inspection::inspect;
use crate::files::journal::{self, Place};
use crate::files::seal::{self, Files, Head};
use crate::{RunInfo, RunnerError};
use cellcc_experiment::{Curve, Record, RunId, Scenario, Series};
use std::collections::BTreeMap;
use std::path::Path;

/// Content of an output folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// `run-info.json`.
    pub info: RunInfo,
    /// `runs.jsonl`, with the series of each run.
    pub records: Vec<Record>,
}

/// Records that come with their series and curves. All files are checked in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesOf {
    /// All.
    EveryRun,
    /// The first seed of each row on each trace: those that a report draws.
    FirstSeeds,
    /// None, for readers of scalars and histograms only.
    NoRun,
}

impl Results {
    /// Reads a folder, and checks that every run of its plan is there, once, in order and unchanged.
    ///
    /// # Errors
    /// A folder without results or with unfinished ones; a file that cellcc did not write or that was changed, by name and line;
    /// runs that are missing.
    pub fn read(folder: &Path) -> Result<Self, RunnerError> {
        Self::read_with(folder, SeriesOf::EveryRun)
    }

    /// Reads a folder as [`read`](Self::read) does, but the series of these runs alone: most of the memory.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_with(folder: &Path, series: SeriesOf) -> Result<Self, RunnerError> {
        let (folder, info) = ended(folder)?;
        let runs = inspect(&folder, &info)?.whole(&folder, &info)?;
        let mut records = Vec::with_capacity(runs.len());
        each_record(&folder, &info, &folder.runs(), (&runs, series), |record| records.push(record))?;
        Ok(Self { info, records })
    }

    /// Reads a folder as [`read`](Self::read) does, and has `see` take one Record after the other: they need not all fit into memory.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn each(folder: &Path, see: impl FnMut(Record)) -> Result<RunInfo, RunnerError> {
        let (folder, info) = ended(folder)?;
        let runs = inspect(&folder, &info)?.whole(&folder, &info)?;
        each_record(&folder, &info, &folder.runs(), (&runs, SeriesOf::EveryRun), see)?;
        Ok(info)
    }

    /// Reads the runs that an interrupted folder has so far, in the order of its plan. Lines that are cut off or were changed are
    /// left out, as resuming repeats their runs.
    ///
    /// # Errors
    /// A folder without results; one that cannot be read.
    pub fn read_unfinished(folder: &Path, series: SeriesOf) -> Result<Self, RunnerError> {
        let folder = Folder::new(folder);
        let info = RunInfo::read(&folder)?;
        let positions: BTreeMap<RunId, usize> =
            info.plan.iter().enumerate().map(|(position, id)| (*id, position)).collect();
        let mut runs = Vec::new();
        journal::each_line(&folder.finished(), |line| {
            let id = line.head.ok().map(|head| head.id).filter(|id| positions.contains_key(id));
            runs.extend(id.map(|id| (id, line.place)));
            Ok(())
        })?;
        runs.sort_by_key(|(id, _)| positions.get(id).copied());
        let mut records = Vec::with_capacity(runs.len());
        each_record(&folder, &info, &folder.finished(), (&runs, series), |record| records.push(record))?;
        Ok(Self { info, records })
    }
}

/// Opens a folder whose plan ended.
fn ended(folder: &Path) -> Result<(Folder, RunInfo), RunnerError> {
    let folder = Folder::new(folder);
    let info = RunInfo::read(&folder)?;
    if info.state != State::Complete {
        return Err(RunnerError::Unfinished { folder: folder.path().into() });
    }
    Ok((folder, info))
}

/// Has `see` take the Records of these lines of the file `path`, some with their series and curves.
fn each_record(
    folder: &Folder,
    info: &RunInfo,
    path: &Path,
    (runs, with_series): (&[(RunId, Place)], SeriesOf),
    mut see: impl FnMut(Record),
) -> Result<(), RunnerError> {
    let unreadable = |source| RunnerError::Read { path: path.into(), source };
    let mut file = folder::open(path).map_err(unreadable)?;
    let mut last: Option<Scenario> = None;
    for (index, (_, place)) in runs.iter().enumerate() {
        let damaged = |damage| {
            let problem = format!("line {} {damage}", index + 1);
            RunnerError::damaged(path.into(), problem, folder, info.shard)
        };
        let line = journal::read(&mut file, *place).map_err(unreadable)?;
        let head = seal::check(&line).map_err(damaged)?;
        let mut record = seal::record(&line, &head).map_err(damaged)?;
        let files = Files::read(folder, &head).map_err(|file| file.error(folder, info.shard))?;
        // A plan has the seeds of a row next to each other.
        let is_first = last.as_ref().is_none_or(|last| !is_same_row(last, &record.scenario));
        if with_series == SeriesOf::EveryRun || with_series == SeriesOf::FirstSeeds && is_first {
            record.series = series(&files, folder, &record, &head)?;
            record.curves = curves(&files, folder, &head)?;
        }
        // The caller may keep the Records of all runs.
        record.flows.shrink_to_fit();
        record.scenario.flows.shrink_to_fit();
        last.iter().for_each(|last| record.scenario.share(last));
        last = Some(record.scenario.clone());
        see(record);
    }
    Ok(())
}

/// True for runs that differ in their seeds.
fn is_same_row(one: &Scenario, other: &Scenario) -> bool {
    (&one.scheme, &one.driver, &one.variation, &one.trace)
        == (&other.scheme, &other.driver, &other.variation, &other.trace)
}

fn series(files: &Files, folder: &Folder, record: &Record, head: &Head) -> Result<Series, RunnerError> {
    let text = String::from_utf8_lossy(&files.series);
    Series::from_csv(&text, record.scenario.endpoint.series_bin).map_err(|line| RunnerError::Malformed {
        path: folder.series(head.id),
        line,
        problem: "not a row of numbers".into(),
    })
}

fn curves(files: &Files, folder: &Folder, head: &Head) -> Result<Vec<Curve>, RunnerError> {
    let Some(content) = &files.curves else { return Ok(Vec::new()) };
    Curve::from_csv(&String::from_utf8_lossy(content)).map_err(|line| RunnerError::Malformed {
        path: folder.curves(head.id),
        line,
        problem: "not a point of a curve".into(),
    })
}

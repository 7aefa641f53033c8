//! Reading an output folder back.

use crate::files::folder::{self, Folder};
use crate::files::info::State;
use crate::files::inspection::inspect;
use crate::files::journal::{self, Place};
use crate::files::seal::{self, Files, Head};
use crate::{RunInfo, RunnerError};
use cellcc_experiment::{Curve, Record, RunId, Series};
use std::collections::BTreeMap;
use std::path::Path;

/// What a finished output folder holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// `run-info.json`.
    pub info: RunInfo,
    /// `runs.jsonl`, with the series of each run.
    pub records: Vec<Record>,
}

impl Results {
    /// Reads a folder, and checks that every run of its plan is there, once, in order and unchanged.
    ///
    /// # Errors
    /// A folder without results or with unfinished ones; a file that is not what cellcc wrote, by name and line; runs that
    /// are missing.
    pub fn read(folder: &Path) -> Result<Self, RunnerError> {
        let mut records = Vec::new();
        let info = Self::each(folder, |record| records.push(record))?;
        Ok(Self { info, records })
    }

    /// Reads a folder as [`read`](Self::read) does, and has `see` take one Record after the other: they need not all fit into memory.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn each(folder: &Path, see: impl FnMut(Record)) -> Result<RunInfo, RunnerError> {
        let folder = Folder::new(folder);
        let info = RunInfo::read(&folder)?;
        if info.state != State::Complete {
            return Err(RunnerError::Unfinished { folder: folder.path().into() });
        }
        let runs = inspect(&folder, &info)?.whole(&folder, &info)?;
        each_record(&folder, &info, &folder.runs(), &runs, see)?;
        Ok(info)
    }

    /// Reads the runs that an interrupted folder has so far, in the order of its plan. What is cut off or was changed is left
    /// out, as resuming repeats it.
    ///
    /// # Errors
    /// A folder without results; one that cannot be read.
    pub fn read_unfinished(folder: &Path) -> Result<Self, RunnerError> {
        let folder = Folder::new(folder);
        let info = RunInfo::read(&folder)?;
        let positions: BTreeMap<RunId, usize> =
            info.plan.iter().enumerate().map(|(position, id)| (*id, position)).collect();
        let lines = journal::lines(&folder.finished())?;
        let whole = lines.into_iter().filter_map(|line| Some((line.head.ok()?, line.place)));
        let mut runs: Vec<(Head, Place)> =
            whole.filter(|(head, _)| positions.contains_key(&head.id)).collect();
        runs.sort_by_key(|(head, _)| positions.get(&head.id).copied());
        let mut records = Vec::new();
        each_record(&folder, &info, &folder.finished(), &runs, |record| records.push(record))?;
        Ok(Self { info, records })
    }
}

/// Has `see` take the Records of these lines of the file `path`, with their series and curves.
fn each_record(
    folder: &Folder,
    info: &RunInfo,
    path: &Path,
    runs: &[(Head, Place)],
    mut see: impl FnMut(Record),
) -> Result<(), RunnerError> {
    let unreadable = |source| RunnerError::Read { path: path.into(), source };
    let mut file = folder::open(path).map_err(unreadable)?;
    for (index, (head, place)) in runs.iter().enumerate() {
        let line = journal::read(&mut file, *place).map_err(unreadable)?;
        let mut record = seal::record(&line, head).map_err(|damage| {
            let problem = format!("line {} {damage}", index + 1);
            RunnerError::damaged(path.into(), problem, folder, info.shard)
        })?;
        let files = Files::read(folder, head).map_err(|file| file.error(folder, info.shard))?;
        record.series = series(&files, folder, &record, head)?;
        record.curves = curves(&files, folder, head)?;
        see(record);
    }
    Ok(())
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

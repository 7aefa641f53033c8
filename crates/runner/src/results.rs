//! Reading an output folder back.

use crate::folder::Folder;
use crate::info::State;
use crate::{RunInfo, RunnerError};
use cellcc_experiment::{Curve, Record, SCHEMA_VERSION, Series};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
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
    /// Reads a folder.
    ///
    /// # Errors
    /// A folder without results or with unfinished ones; a file that is not what cellcc wrote, by name and line.
    pub fn read(folder: &Path) -> Result<Self, RunnerError> {
        let folder = Folder::new(folder);
        let info = RunInfo::read(&folder)?;
        if info.state != State::Complete {
            return Err(RunnerError::Unfinished { folder: folder.path().into() });
        }
        let path = folder.runs();
        let unreadable = |source| RunnerError::Read { path: path.clone(), source };
        let file = fs::File::open(&path).map_err(unreadable)?;
        let mut records = Vec::new();
        for (index, line) in BufReader::new(file).lines().enumerate() {
            let malformed = |problem| RunnerError::Malformed { path: path.clone(), line: index + 1, problem };
            let line = line.map_err(unreadable)?;
            let mut record: Record =
                serde_json::from_str(&line).map_err(|error| malformed(error.to_string()))?;
            if record.schema != SCHEMA_VERSION {
                return Err(malformed(format!("schema {}, not {SCHEMA_VERSION}", record.schema)));
            }
            record.series = read_series(&folder, &record)?;
            record.curves = read_curves(&folder, &record)?;
            records.push(record);
        }
        Ok(Self { info, records })
    }
}

fn read_series(folder: &Folder, record: &Record) -> Result<Series, RunnerError> {
    let path = folder.series(&record.id);
    let text =
        fs::read_to_string(&path).map_err(|source| RunnerError::Read { path: path.clone(), source })?;
    Series::from_csv(&text, record.scenario.endpoint.series_bin).map_err(|line| RunnerError::Malformed {
        path,
        line,
        problem: "not a row of numbers".into(),
    })
}

fn read_curves(folder: &Folder, record: &Record) -> Result<Vec<Curve>, RunnerError> {
    let path = folder.curves(&record.id);
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(RunnerError::Read { path, source }),
        Ok(text) => Curve::from_csv(&text).map_err(|line| RunnerError::Malformed {
            path,
            line,
            problem: "not a point of a curve".into(),
        }),
    }
}

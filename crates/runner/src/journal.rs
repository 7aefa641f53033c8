//! Files of one Record a line: where each line is, so that lines are copied as bytes and never held all at once.

use crate::RunnerError;
use crate::folder::beside;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What identifies a Record; reads every line of which these three are readable, also of other versions.
#[derive(Debug, Deserialize)]
pub(crate) struct Head {
    pub(crate) schema: u32,
    pub(crate) id: String,
    pub(crate) version: String,
}

/// Where a line is, its line break included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    start: u64,
    length: u64,
}

/// Reads the head of every whole line of `path` that is JSON; a torn last line and foreign text are left out. A file
/// that is not there has no lines.
pub(crate) fn heads(path: &Path) -> Result<Vec<(Head, Place)>, RunnerError> {
    let unreadable = |source| RunnerError::Read { path: path.into(), source };
    let mut reader = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => BufReader::new(other.map_err(unreadable)?),
    };
    let (mut heads, mut line, mut start) = (Vec::new(), Vec::new(), 0);
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).map_err(unreadable)? as u64;
        if length == 0 {
            return Ok(heads);
        }
        if line.ends_with(b"\n")
            && let Ok(head) = serde_json::from_slice(&line)
        {
            heads.push((head, Place { start, length }));
        }
        start += length;
    }
}

/// Copies lines from several files into a new one, whole or not at all.
pub(crate) fn copy<'a>(to: &Path, lines: impl Iterator<Item = (&'a Path, Place)>) -> Result<(), RunnerError> {
    let unwritable = |source| RunnerError::Write { path: to.into(), source };
    let part = beside(to);
    let mut writer = BufWriter::new(File::create(&part).map_err(unwritable)?);
    let mut open: BTreeMap<&Path, File> = BTreeMap::new();
    let mut line = Vec::new();
    for (from, place) in lines {
        let unreadable = |source| RunnerError::Read { path: from.into(), source };
        let file = match open.entry(from) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(File::open(from).map_err(unreadable)?)
            }
        };
        line.resize(place.length as usize, 0);
        file.seek(SeekFrom::Start(place.start))
            .and_then(|_| file.read_exact(&mut line))
            .map_err(unreadable)?;
        writer.write_all(&line).map_err(unwritable)?;
    }
    writer.flush().and_then(|()| fs::rename(&part, to)).map_err(unwritable)
}

/// The file that finished runs are appended to.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    end: u64,
}

impl Journal {
    /// Opens the file for appending, after its last line.
    pub(crate) fn open(path: PathBuf) -> Result<Self, RunnerError> {
        let opened = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((end, file)) => Ok(Self { path, file, end }),
            Err(source) => Err(RunnerError::Write { path, source }),
        }
    }

    /// Appends a line in one write.
    pub(crate) fn append(&mut self, line: &[u8]) -> Result<Place, RunnerError> {
        self.file.write_all(line).map_err(|source| RunnerError::Write { path: self.path.clone(), source })?;
        let place = Place { start: self.end, length: line.len() as u64 };
        self.end += place.length;
        Ok(place)
    }
}

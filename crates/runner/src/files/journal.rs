//! Files of one Record per line: the place of each, so that lines are copied as bytes and never held all at once.

use crate::RunnerError;
use crate::files::folder;
use crate::files::output::write_whole;
use crate::files::seal::{self, Damage, Head};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// No line is as long: a Record of sixty-four flows, with their histograms, has less than a megabyte.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// A line of a file.
#[derive(Debug)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: usize,
    pub(crate) place: Place,
    /// Identity of its Record, or its damage.
    pub(crate) head: Result<Head, Damage>,
}

/// Byte range of a line, its line break included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    start: u64,
    length: u64,
}

/// Checks every line of `path`, one after the other, and has `see` take it. A file that is not there has no lines.
pub(crate) fn each_line(
    path: &Path,
    mut see: impl FnMut(Line) -> Result<(), RunnerError>,
) -> Result<(), RunnerError> {
    let unreadable = |source| RunnerError::Read { path: path.into(), source };
    let mut reader = match folder::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => BufReader::new(other.map_err(unreadable)?),
    };
    let (mut bytes, mut start) = (Vec::new(), 0);
    for number in 1.. {
        bytes.clear();
        let mut line = reader.by_ref().take(MAX_LINE_BYTES);
        let length = line.read_until(b'\n', &mut bytes).map_err(unreadable)? as u64;
        if length == 0 {
            break;
        }
        if length == MAX_LINE_BYTES {
            let problem = format!("the line has {} MiB or more", MAX_LINE_BYTES >> 20);
            return Err(RunnerError::Malformed { path: path.into(), line: number, problem });
        }
        see(Line { number, place: Place { start, length }, head: seal::check(&bytes) })?;
        start += length;
    }
    Ok(())
}

/// Reads the line at `place`.
pub(crate) fn read(file: &mut File, place: Place) -> std::io::Result<Vec<u8>> {
    let mut line = vec![0; place.length as usize];
    file.seek(SeekFrom::Start(place.start))?;
    file.read_exact(&mut line)?;
    Ok(line)
}

/// Copies lines from several files into a new one, whole or not at all.
pub(crate) fn copy<'a>(to: &Path, lines: impl Iterator<Item = (&'a Path, Place)>) -> Result<(), RunnerError> {
    let mut open: BTreeMap<&Path, File> = BTreeMap::new();
    let copied = write_whole(to, |writer| {
        for (from, place) in lines {
            let unreadable = |source| Failed::Read(from.into(), source);
            let file = match open.entry(from) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(folder::open(from).map_err(unreadable)?),
            };
            writer.write_all(&read(file, place).map_err(unreadable)?)?;
        }
        Ok(())
    });
    copied.map_err(|failed| match failed {
        Failed::Read(path, source) => RunnerError::Read { path, source },
        Failed::Write(source) => RunnerError::Write { path: to.into(), source },
    })
}

/// Side on which copying failed.
enum Failed {
    Read(PathBuf, std::io::Error),
    Write(std::io::Error),
}

impl From<std::io::Error> for Failed {
    fn from(source: std::io::Error) -> Self {
        Self::Write(source)
    }
}

/// The file that finished runs are appended to.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    end: u64,
}

impl Journal {
    /// Makes a new file from lines that are there already; also gives their places in it, in order.
    pub(crate) fn create<'a>(
        path: PathBuf,
        lines: impl Iterator<Item = (&'a Path, Place)> + Clone,
    ) -> Result<(Self, Vec<Place>), RunnerError> {
        copy(&path, lines.clone())?;
        let mut end = 0;
        let places = lines.map(|(_, place)| {
            let start = end;
            end += place.length;
            Place { start, length: place.length }
        });
        let places = places.collect();
        match OpenOptions::new().append(true).open(&path) {
            Ok(file) => Ok((Self { path, file, end }, places)),
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

//! Writing to an output folder: by one process at a time, never through a symbolic link, and so that a file is there whole
//! or as it was.

use crate::RunnerError;
use crate::files::folder::{Folder, refuse_link};
use crate::files::lock::Lock;
use cellcc_experiment::{RunId, file_of_run};
use cellcc_units::output::{self, WholeFile};
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// An output folder that no other process writes to while this lives.
#[derive(Debug)]
pub struct OutputFolder {
    folder: Folder,
    _lock: Lock,
}

impl OutputFolder {
    /// The folder at `path`, for results to come; created where it is not there.
    ///
    /// # Errors
    /// A folder that cannot be written to, or that another process is writing to.
    pub fn create(path: &Path) -> Result<Self, RunnerError> {
        fs::create_dir_all(path).map_err(|source| RunnerError::Unwritable { path: path.into(), source })?;
        Ok(Self { folder: Folder::new(path), _lock: Lock::take(path)? })
    }

    /// The folder at `path`, which holds results already.
    ///
    /// # Errors
    /// As with [`create`](Self::create), and a folder without results.
    pub fn open(path: &Path) -> Result<Self, RunnerError> {
        let folder = Folder::new(path);
        fs::metadata(folder.info())
            .map_err(|source| RunnerError::NoResults { folder: path.into(), source })?;
        Ok(Self { folder, _lock: Lock::take(path)? })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the file `name`, whole or not at all: an earlier file of that name stays if the disk is full.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        write_whole(&self.path().join(name), |file| file.write_all(content))
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Makes the folder ready for results, before any time goes into runs.
    pub(crate) fn prepare(&self) -> Result<(), RunnerError> {
        let curves = self.folder.curves_folder();
        refuse_link(&curves).map_err(|source| RunnerError::Write { path: curves, source })?;
        create_folder(&self.folder.series_folder())
    }

    /// Writes one of the folder's own files.
    pub(crate) fn write_result(&self, path: &Path, content: &[u8]) -> Result<(), RunnerError> {
        write_whole(path, |file| file.write_all(content))
            .map_err(|source| RunnerError::Write { path: path.into(), source })
    }

    /// Writes the series and the curves of a run into a folder of `runs` runs; a run without curves has no file of them, and a
    /// plan without curves no such folder. It does not wait for the disk, which takes longer than a short run: the run's line
    /// holds hashes of these files, and shows where a machine without power lost one.
    pub(crate) fn write_files(
        &self,
        id: RunId,
        runs: usize,
        series: &[u8],
        curves: Option<&[u8]>,
    ) -> Result<(), RunnerError> {
        let name = file_of_run(id, runs);
        let write = |path: &Path, content| {
            path.parent().map_or(Ok(()), create_folder)?;
            write_unsynced(path, content).map_err(|source| RunnerError::Write { path: path.into(), source })
        };
        write(&self.folder.series_folder().join(&name), series)?;
        let path = self.folder.curves_folder().join(&name);
        curves.map_or_else(|| remove(&path), |content| write(&path, content))
    }

    /// True where there is something of an earlier `compare` that must not be overwritten silently.
    pub(crate) fn holds_results(&self) -> bool {
        let Self { folder, .. } = self;
        [folder.runs(), folder.finished(), folder.info(), folder.report()]
            .iter()
            .any(|path| path.symlink_metadata().is_ok())
    }

    /// Removes the results of an earlier `compare`, and no other file. Removes a symbolic link, but not its target.
    pub(crate) fn clear(&self) -> Result<(), RunnerError> {
        let Self { folder, .. } = self;
        let results =
            [folder.runs(), folder.finished(), folder.info(), folder.info_script(), folder.scenario()];
        for path in results.iter().chain(&[folder.report(), folder.report_series()]) {
            remove(path)?;
        }
        for folder in [folder.series_folder(), folder.curves_folder()] {
            if folder.is_symlink() {
                remove(&folder)?;
                continue;
            }
            for path in entries(&folder).filter(|path| is_by_digits(path)) {
                remove_runs(&path)?;
            }
            remove_runs(&folder)?;
        }
        Ok(())
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// True where the files of a folder's runs lie in folders by digits. Builds from before there were those left all together.
pub fn lie_by_digits(folder: &Path) -> bool {
    entries(&Folder::new(folder).series_folder()).any(|path| is_by_digits(&path))
}

/// Removes the files of runs in a folder, and the folder where nothing else is in it.
fn remove_runs(folder: &Path) -> Result<(), RunnerError> {
    entries(folder).filter(|path| is_of_a_run(path)).try_for_each(|path| remove(&path))?;
    let _ = fs::remove_dir(folder);
    Ok(())
}

/// True for folders such as `series/00`, of the runs whose ids begin like this.
fn is_by_digits(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.len() == 2 && name.bytes().all(is_digit) && path.is_dir() && !path.is_symlink()
}

/// True for names such as `series/00f3a19b02c4d5e6.csv`.
fn is_of_a_run(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    path.extension().is_some_and(|extension| extension == "csv")
        && stem.is_some_and(|stem| stem.parse::<RunId>().is_ok())
}

/// Creates the folder if it is not there.
fn create_folder(path: &Path) -> Result<(), RunnerError> {
    refuse_link(path)
        .and_then(|()| fs::create_dir_all(path))
        .map_err(|source| RunnerError::Write { path: path.into(), source })
}

/// Has `fill` write a file of the folder, whole or not at all.
pub(crate) fn write_whole<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
) -> Result<(), E> {
    // An unfinished file is that of a process that was killed: no other process writes to the folder now.
    output::remove_unfinished(path);
    WholeFile::kept(path)?.fill(fill)
}

/// Writes a file of the folder whole or not at all, unless the machine crashes.
fn write_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    output::remove_unfinished(path);
    let mut file = WholeFile::kept(path)?;
    file.write_all(content)?;
    file.begin().map(drop)
}

pub(crate) fn remove(path: &Path) -> Result<(), RunnerError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(RunnerError::Write { path: path.into(), source })
        }
        _ => Ok(()),
    }
}

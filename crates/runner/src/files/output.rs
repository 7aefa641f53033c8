//! Writing to an output folder: by one process at a time, never through a symbolic link, and so that a file is there whole
//! or as it was.

use crate::RunnerError;
use crate::files::folder::{Folder, refuse_link};
use crate::files::lock::Lock;
use cellcc_experiment::RunId;
use cellcc_units::output::{self, WholeFile};
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

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

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the file `name`, whole or not at all: what was there before stays if the disk is full.
    ///
    /// # Errors
    /// Why it cannot be written.
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

    pub(crate) fn write_series(&self, id: RunId, content: &[u8]) -> Result<(), RunnerError> {
        self.write_result(&self.folder.series(id), content)
    }

    /// Writes a run's curves; a run without any has no file, and a plan without any no folder.
    pub(crate) fn write_curves(&self, id: RunId, content: Option<&[u8]>) -> Result<(), RunnerError> {
        let path = self.folder.curves(id);
        let Some(content) = content else { return remove(&path) };
        create_folder(&self.folder.curves_folder())?;
        self.write_result(&path, content)
    }

    /// True where there is something of an earlier `compare` that must not be overwritten silently.
    pub(crate) fn holds_results(&self) -> bool {
        let Self { folder, .. } = self;
        [folder.runs(), folder.finished(), folder.info(), folder.report()]
            .iter()
            .any(|path| path.symlink_metadata().is_ok())
    }

    /// Removes the results of an earlier `compare`, and no other file. Of a symbolic link the link is removed.
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
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if is_of_a_run(&path) {
                    remove(&path)?;
                }
            }
            // Only where nothing else is in it.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
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
    // That of a process that was killed: no other process writes to the folder now.
    output::remove_unfinished(path);
    WholeFile::kept(path)?.fill(fill)
}

pub(crate) fn remove(path: &Path) -> Result<(), RunnerError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(RunnerError::Write { path: path.into(), source })
        }
        _ => Ok(()),
    }
}

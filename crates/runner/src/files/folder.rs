//! The names of the files in an output folder.

use cellcc_experiment::{RunId, file_of_run};
use cellcc_units::{Bytes, input};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// No file of results is larger: a day of thirty quantities in bins of 10 ms is 2 GB of text.
const MAX_FILE: Bytes = Bytes::new(4 << 30);

/// Opens a file of results, and refuses a device or a pipe in its place.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    Ok(input::open_kept(path)?)
}

/// The content of a file of results.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    Ok(input::read_kept(path, MAX_FILE)?)
}

#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.0.join("runs.jsonl")
    }

    pub(crate) fn finished(&self) -> PathBuf {
        self.0.join("finished.jsonl")
    }

    pub(crate) fn info(&self) -> PathBuf {
        self.0.join("run-info.json")
    }

    /// The report's foot, with the machine and the hour.
    pub(crate) fn info_script(&self) -> PathBuf {
        self.0.join("run-info.js")
    }

    pub(crate) fn scenario(&self) -> PathBuf {
        self.0.join("scenario.toml")
    }

    pub(crate) fn report(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// The report's series that have no place in the page.
    pub(crate) fn report_series(&self) -> PathBuf {
        self.0.join("report-series.js")
    }

    pub(crate) fn series_folder(&self) -> PathBuf {
        self.0.join("series")
    }

    pub(crate) fn series(&self, id: RunId) -> PathBuf {
        found(&self.series_folder(), id)
    }

    pub(crate) fn curves_folder(&self) -> PathBuf {
        self.0.join("curves")
    }

    pub(crate) fn curves(&self, id: RunId) -> PathBuf {
        found(&self.curves_folder(), id)
    }
}

/// Path of a run's file: in folders by digits, or in one folder with all others, as earlier builds and small plans have it.
fn found(folder: &Path, id: RunId) -> PathBuf {
    let [together, apart] = [0, usize::MAX].map(|runs| folder.join(file_of_run(id, runs)));
    let is_apart = apart.exists() || !together.exists() && apart.parent().is_some_and(Path::is_dir);
    if is_apart { apart } else { together }
}

/// Refuses a symbolic link: a file written through it would land in an unexpected place.
pub(crate) fn refuse_link(path: &Path) -> io::Result<()> {
    if path.is_symlink() {
        let problem = "it is a symbolic link, and results are not written through one; remove it";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
    }
    Ok(())
}

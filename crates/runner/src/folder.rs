//! The output folder: names of its files, and writing so that a file is there whole or not at all.

use crate::RunnerError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.into())
    }

    /// Creates the folder and shows that it can be written to, before any time goes into runs.
    pub(crate) fn create(&self) -> Result<(), RunnerError> {
        let probe = self.0.join(".cellcc-probe");
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |source| RunnerError::Unwritable { path, source }
        };
        fs::create_dir_all(self.series_folder()).map_err(unwritable(&self.0))?;
        fs::write(&probe, "probe").map_err(unwritable(&self.0))?;
        fs::remove_file(&probe).map_err(unwritable(&self.0))
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

    pub(crate) fn scenario(&self) -> PathBuf {
        self.0.join("scenario.toml")
    }

    fn series_folder(&self) -> PathBuf {
        self.0.join("series")
    }

    pub(crate) fn series(&self, id: &str) -> PathBuf {
        self.series_folder().join(format!("{id}.csv"))
    }

    fn curves_folder(&self) -> PathBuf {
        self.0.join("curves")
    }

    pub(crate) fn curves(&self, id: &str) -> PathBuf {
        self.curves_folder().join(format!("{id}.csv"))
    }

    /// Writes a run's curves; a run without any has no file, and a plan without any no folder.
    pub(crate) fn write_curves(&self, id: &str, content: Option<&[u8]>) -> Result<(), RunnerError> {
        let path = self.curves(id);
        let Some(content) = content else { return remove(&path) };
        fs::create_dir_all(self.curves_folder())
            .map_err(|source| RunnerError::Write { path: path.clone(), source })?;
        self.write_whole(&path, content)
    }

    /// True where there is something of an earlier `compare` that must not be overwritten silently.
    pub(crate) fn holds_results(&self) -> bool {
        [self.runs(), self.finished(), self.info(), self.0.join("report.html")]
            .iter()
            .any(|path| path.exists())
    }

    /// Removes the results of an earlier `compare`, and no other file.
    pub(crate) fn clear(&self) -> Result<(), RunnerError> {
        for path in [self.runs(), self.finished(), self.info(), self.scenario()] {
            remove(&path)?;
        }
        let folders = [self.series_folder(), self.curves_folder()];
        for entry in folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten() {
            let path = entry.path();
            let is_id = |stem: &str| stem.len() == 16 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
            if path.extension().is_some_and(|extension| extension == "csv")
                && path.file_stem().and_then(|stem| stem.to_str()).is_some_and(is_id)
            {
                remove(&path)?;
            }
        }
        // Only where nothing else is in it.
        let _ = fs::remove_dir(self.curves_folder());
        Ok(())
    }

    /// Writes a file under another name first: whoever reads `path` sees all of it or nothing.
    pub(crate) fn write_whole(&self, path: &Path, content: &[u8]) -> Result<(), RunnerError> {
        let beside = beside(path);
        fs::write(&beside, content)
            .and_then(|()| fs::rename(&beside, path))
            .map_err(|source| RunnerError::Write { path: path.into(), source })
    }
}

/// The name that a file has until it is whole.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

pub(crate) fn remove(path: &Path) -> Result<(), RunnerError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(RunnerError::Write { path: path.into(), source })
        }
        _ => Ok(()),
    }
}

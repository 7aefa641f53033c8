//! `--events DIR`: a file for each flow of each run.

use crate::exit::Exit;
use crate::own::version;
use cellcc_experiment::{Recordings, RunId};
use cellcc_units::output::WholeFile;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The folder, and the first problem with a file in it.
pub(super) struct Events {
    folder: Option<PathBuf>,
    problem: Arc<Mutex<Option<String>>>,
}

impl Events {
    /// Creates the folder.
    pub(super) fn new(folder: Option<&Path>, drivers: &[String]) -> Result<Self, Exit> {
        if let Some(folder) = folder {
            if drivers.iter().any(|driver| driver == "kernel") {
                return Err(Exit::input(
                    "--events: --driver kernel runs the kernel's own congestion control, whose events are not \
                     recorded; leave one of the two out",
                ));
            }
            std::fs::create_dir_all(folder).map_err(|error| {
                Exit::input(format!("--events: cannot create the folder {}: {error}", folder.display()))
            })?;
        }
        Ok(Self { folder: folder.map(Path::to_path_buf), problem: Arc::default() })
    }

    /// The outputs of the drivers' recordings.
    pub(super) fn recordings(&self) -> Recordings {
        let Some(folder) = self.folder.clone() else { return Recordings::default() };
        let problem = Arc::clone(&self.problem);
        Recordings::new(move |scenario, flow| {
            let path = folder.join(format!("{}.flow{flow}.events", RunId::of(scenario, version())));
            Box::new(EventsFile::create(path, Arc::clone(&problem)))
        })
    }

    /// Says where an event log could not be written.
    pub(super) fn conclude(&self) -> Result<(), Exit> {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner).take();
        problem.map_or(Ok(()), |problem| Err(Exit::failed(problem)))
    }
}

/// A file that keeps its problem for [`Events::conclude`], and is there once it is whole, when it is dropped.
struct EventsFile {
    /// None after a problem.
    file: Option<WholeFile>,
    path: PathBuf,
    problem: Arc<Mutex<Option<String>>>,
}

impl EventsFile {
    fn create(path: PathBuf, problem: Arc<Mutex<Option<String>>>) -> Self {
        let mut this = Self { file: None, path, problem };
        match WholeFile::named(&this.path) {
            Ok(file) => this.file = Some(file),
            Err(error) => this.failed(&error),
        }
        this
    }

    fn failed(&mut self, error: &io::Error) {
        self.file = None;
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        problem.get_or_insert_with(|| {
            format!("--events: cannot write {}: {error}; the results are whole", self.path.display())
        });
    }
}

impl Write for EventsFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::Other.into()) };
        file.write(bytes).inspect_err(|error| self.failed(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for EventsFile {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.file.take().map(WholeFile::finish) {
            self.failed(&error);
        }
    }
}

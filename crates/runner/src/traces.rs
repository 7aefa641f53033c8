//! Turns the links that a user may name (`--traces`) into links as a Scenario names them.

use crate::RequestError;
use cellcc_link::trace::{self, Problem, TraceError};
use cellcc_link::{CapacitySpec, Source, SpecError, synthetic};
use cellcc_units::Rate;
use std::fs;
use std::path::{Path, PathBuf};

/// Endings of traces: a file of a folder with one counts as a trace whatever is in it, since a damaged one must not go unseen.
const ENDINGS: [&str; 5] = ["mahi", "up", "down", "mbps", "csv"];

/// Folders and patterns become their traces, sorted by name; everything else is put as a Scenario has it.
///
/// # Errors
/// A folder without traces, a pattern that no file's name has, a name that is not UTF-8.
pub fn expand(given: &[String]) -> Result<Vec<String>, RequestError> {
    let mut traces = Vec::new();
    for text in given {
        let path = Path::new(text);
        if path.is_dir() && !is_synthetic(text) {
            traces.extend(of_folder(path)?);
        } else if is_pattern(text) {
            traces.extend(of_pattern(text)?);
        } else {
            traces.push(normal(text));
        }
    }
    Ok(traces)
}

/// Reads the link that a user names: a file, a synthetic link, a rate or steps.
///
/// # Errors
/// A text that names no link, and a trace that cannot be read.
pub fn open(text: &str) -> Result<Source, SpecError> {
    normal(text).parse::<CapacitySpec>().and_then(|spec| spec.open(synthetic::link))
}

/// A bare rate, and a file that could be a name, as a Scenario has them.
pub fn normal(text: &str) -> String {
    if text.parse::<Rate>().is_ok() {
        return format!("rate={text}");
    }
    let is_plain_name = !text.contains(['/', '.', '=']);
    if is_plain_name && !is_synthetic(text) && Path::new(text).is_file() {
        return format!("./{text}");
    }
    text.into()
}

fn is_synthetic(text: &str) -> bool {
    synthetic::names().iter().any(|link| link.name == text)
}

/// True for a text that can only be a pattern of file names: no link has `*` or `?` in its text.
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?']) && !Path::new(text).exists()
}

fn of_pattern(pattern: &str) -> Result<Vec<String>, RequestError> {
    let refused = |problem: String| RequestError::new(format!("--traces '{pattern}': {problem}"));
    let found = glob::glob(pattern).map_err(|error| refused(error.to_string()))?;
    let mut traces = Vec::new();
    for path in found {
        let path = path.map_err(|error| refused(error.to_string()))?;
        match path.is_dir() {
            true => traces.extend(of_folder(&path)?),
            false => traces.push(text_of(path)?),
        }
    }
    if traces.is_empty() {
        return Err(refused("no file has such a name".into()));
    }
    traces.sort();
    traces.dedup();
    Ok(traces)
}

fn of_folder(folder: &Path) -> Result<Vec<String>, RequestError> {
    let mut found = Found::default();
    found.add(folder)?;
    let mut traces = found.traces;
    if traces.is_empty() {
        return Err(RequestError::new(format!(
            "the folder {} and the folders in it hold no trace; traces end in .mahi, .up, .down, .mbps or .csv (and .gz or .xz \
             after it), or have another form that `cellcc trace info FILE` reads",
            folder.display()
        )));
    }
    traces.sort();
    Ok(traces)
}

/// The traces of a folder and of those within it.
#[derive(Default)]
struct Found {
    traces: Vec<String>,
    /// Files, and bytes in them, that had to be read to tell traces from other files.
    tried: (usize, u64),
}

impl Found {
    /// Most files and bytes that are read to find traces: a folder that needs more is not one of traces but a home directory, or
    /// the whole machine.
    const MOST_TRIED: (usize, u64) = (2_000, 1 << 30);

    /// Adds a folder. Symbolic links to folders are not followed: they may lead in circles. Nor are the kernel's folders entered,
    /// where reading a file can wait for ever.
    fn add(&mut self, folder: &Path) -> Result<(), RequestError> {
        const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];
        let unreadable =
            |error| RequestError::new(format!("cannot read the folder {}: {error}", folder.display()));
        let real = folder.canonicalize().map_err(unreadable)?;
        if OF_THE_KERNEL.iter().any(|kernel| real.starts_with(kernel)) {
            return Ok(());
        }
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if entry.file_type().map_err(unreadable)?.is_dir() {
                if !is_hidden {
                    self.add(&path)?;
                }
            } else if !is_hidden && path.is_file() && (has_ending(&path) || self.is_trace(&path)?) {
                self.traces.push(text_of(path)?);
            }
        }
        Ok(())
    }

    /// True if the content is that of a trace.
    fn is_trace(&mut self, path: &Path) -> Result<bool, RequestError> {
        let (files, bytes) = &mut self.tried;
        *files += 1;
        *bytes = bytes.saturating_add(path.metadata().map_or(0, |metadata| metadata.len()));
        if *files > Self::MOST_TRIED.0 || *bytes > Self::MOST_TRIED.1 {
            return Err(RequestError::new(format!(
                "--traces: the search has come to {}, and has read {} files whose names do not say that they are traces; name a \
                 folder of traces, or a pattern such as 'traces/**/*.mbps'",
                path.display(),
                *files - 1
            )));
        }
        // A file that could be a trace in two readings must not go unseen.
        let is_doubtful = |error: TraceError| matches!(*error.problem, Problem::TwoReadings { .. });
        Ok(trace::read(path).map_or_else(is_doubtful, |_| true))
    }
}

fn has_ending(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".xz")).unwrap_or(name);
    name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

fn text_of(path: PathBuf) -> Result<String, RequestError> {
    path.into_os_string().into_string().map_err(|path| {
        RequestError::new(format!("the name of the trace {} is not UTF-8: rename the file", path.display()))
    })
}

//! What a user may name as links (`--traces`) becomes what a Scenario names.

use crate::RequestError;
use cellcc_link::{synthetic, trace};
use cellcc_units::Rate;
use std::fs;
use std::path::{Path, PathBuf};

/// Endings by which a file of a folder is taken for a trace, whatever is in it: a damaged one must not go unseen.
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
    let mut traces = Vec::new();
    add_folder(folder, &mut traces)?;
    if traces.is_empty() {
        return Err(RequestError::new(format!(
            "the folder {} and the folders in it hold no trace; traces end in .mahi, .up, .down, .mbps or .csv (and .gz or .xz \
             after it)",
            folder.display()
        )));
    }
    traces.sort();
    Ok(traces)
}

/// Adds the traces of a folder and of those within it. Symbolic links to folders are not followed: they may lead in circles.
fn add_folder(folder: &Path, traces: &mut Vec<String>) -> Result<(), RequestError> {
    let unreadable =
        |error| RequestError::new(format!("cannot read the folder {}: {error}", folder.display()));
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.file_type().map_err(unreadable)?.is_dir() && !is_hidden {
            add_folder(&path, traces)?;
        } else if path.is_file() && is_trace(&path) {
            traces.push(text_of(path)?);
        }
    }
    Ok(())
}

fn is_trace(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    if name.starts_with('.') {
        return false;
    }
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".xz")).unwrap_or(name);
    let has_ending = name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending));
    has_ending || trace::read(path).is_ok()
}

fn text_of(path: PathBuf) -> Result<String, RequestError> {
    path.into_os_string().into_string().map_err(|path| {
        RequestError::new(format!("the name of the trace {} is not UTF-8: rename the file", path.display()))
    })
}

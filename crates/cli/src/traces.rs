//! What `--traces` may name becomes what a Scenario names.

use crate::exit::Exit;
use cellcc_link::{synthetic, trace};
use cellcc_units::Rate;
use std::fs;
use std::path::{Path, PathBuf};

/// Endings by which a file of a folder is taken for a trace, whatever is in it: a damaged one must not go unseen.
const ENDINGS: [&str; 5] = ["mahi", "up", "down", "mbps", "csv"];

/// Folders become their traces, sorted by name; everything else is put as a Scenario has it.
pub(crate) fn expand(given: &[String]) -> Result<Vec<String>, Exit> {
    let mut traces = Vec::new();
    for text in given {
        let path = Path::new(text);
        if path.is_dir() && !is_synthetic(text) {
            traces.extend(of_folder(path)?);
        } else {
            traces.push(normal(text));
        }
    }
    Ok(traces)
}

/// A bare rate, and a file that could be a name, as a Scenario has them.
pub(crate) fn normal(text: &str) -> String {
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

fn of_folder(folder: &Path) -> Result<Vec<String>, Exit> {
    let unreadable = |error| Exit::input(format!("cannot read the folder {}: {error}", folder.display()));
    let mut traces = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() && is_trace(&path) {
            traces.push(text_of(path)?);
        }
    }
    if traces.is_empty() {
        return Err(Exit::input(format!(
            "the folder {} holds no trace; traces end in .mahi, .up, .down, .mbps or .csv (and .gz or .xz after it), and \
             folders within it are not searched",
            folder.display()
        )));
    }
    traces.sort();
    Ok(traces)
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

fn text_of(path: PathBuf) -> Result<String, Exit> {
    path.into_os_string().into_string().map_err(|path| {
        Exit::input(format!("the name of the trace {} is not UTF-8: rename the file", path.display()))
    })
}

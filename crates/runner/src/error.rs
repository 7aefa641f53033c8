//! Errors around the runs.

use crate::Shard;
use crate::files::folder::Folder;
use cellcc_units::printable;
use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Errors around the runs; an error within a run is a [`Failure`](crate::Failure) and stops no other run.
#[derive(Debug, Error)]
pub enum RunnerError {
    /// The output folder cannot be used at all.
    #[error("cannot write to {}; make room there, or choose another output folder with --out", path.display())]
    Unwritable {
        /// The folder, or a file in it.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The output folder holds results, and nothing was said about them.
    #[error(
        "the output folder {} holds results already: --resume finishes them, --replace replaces them, \
         --out chooses another folder",
        folder.display()
    )]
    HoldsResults {
        /// The folder.
        folder: PathBuf,
    },
    /// Another process is writing to the output folder.
    #[error(
        "{holder} is writing to the output folder {}; wait until it has ended, or choose another folder",
        folder.display()
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// Its number, host, start and command, as it has written them down.
        holder: String,
    },
    /// The results to be resumed come from another build of the code.
    #[error(
        "the output folder {folder} holds results of another build of cellcc ({theirs}; this is {ours}), and results of \
         two builds are not mixed: that build's --resume finishes them, `cellcc compare --scenario \
         {folder}/scenario.toml --replace --out {folder}` runs all again with this one, --out chooses another folder",
        folder = folder.display()
    )]
    OtherBuild {
        /// The folder.
        folder: PathBuf,
        /// The version that wrote them.
        theirs: String,
        /// The version that would go on with them.
        ours: String,
    },
    /// The results to be resumed are not of this plan.
    #[error(
        "the output folder {} holds {count} runs that are not in this plan (its schemes, traces or parameters differ): \
         --out chooses another folder, --replace replaces the results there",
        folder.display()
    )]
    OtherPlan {
        /// The folder.
        folder: PathBuf,
        /// Number of those runs.
        count: usize,
    },
    /// Two runs of the plan are the same.
    #[error("`{label}` is in the plan twice: name each scheme, each trace and each varied value once")]
    Twice {
        /// Label of the run.
        label: String,
    },
    /// A result cannot be written: the disk is full, or gone.
    #[error("cannot write {}; the finished runs are kept; --resume continues from there", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written while shares are joined.
    #[error("cannot write {}; the shards are unchanged: once there is room, merge again, with --replace", path.display())]
    Unmerged {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of results cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of results does not have the form that cellcc writes.
    #[error("{}:{line}: not a file of results that this version reads: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem.
        problem: String,
    },
    /// A finished folder whose files do not match its plan and their hashes.
    #[error("{}: {problem}; `{remedy}` repeats the runs that this touches", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The missing or changed part.
        problem: String,
        /// The command that repairs the folder.
        remedy: String,
    },
    /// A folder without results.
    #[error("{} holds no results of `cellcc compare` (no run-info.json that can be read)", folder.display())]
    NoResults {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder whose plan was not run to its end.
    #[error(
        "the runs in {} are not finished: `cellcc compare --resume --out {}` finishes them",
        folder.display(), folder.display()
    )]
    Unfinished {
        /// The folder.
        folder: PathBuf,
    },
    /// Folders that do not make one plan.
    #[error("{}: {problem}", folder.display())]
    Shards {
        /// The folder at which it shows.
        folder: PathBuf,
        /// The problem and the remedy.
        problem: String,
    },
}

impl RunnerError {
    /// The error for `path`, a damaged file of the results in `folder`.
    pub(crate) fn damaged(path: PathBuf, problem: String, folder: &Folder, shard: Option<Shard>) -> Self {
        let shard = shard.map(|shard| format!(" --shard {shard}")).unwrap_or_default();
        let remedy = format!("cellcc compare --resume --out {}{shard}", folder.path().display());
        Self::Damaged { path, problem: bounded(&problem), remedy }
    }

    /// Blames the folder, and not a disk that filled up, for a file that cannot be written before the first run.
    pub(crate) fn at_start(self) -> Self {
        match self {
            Self::Write { path, source } => Self::Unwritable { path, source },
            other => other,
        }
    }

    /// Joining ends at the first file that cannot be written.
    pub(crate) fn at_merge(self) -> Self {
        match self {
            Self::Write { path, source } => Self::Unmerged { path, source },
            other => other,
        }
    }

    /// True where the input is at fault (exit status 2), false where the machine failed on the way (exit status 1).
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Write { .. } | Self::Unmerged { .. } | Self::Read { .. })
    }
}

/// A text from a file, as a message may have it: in one line of bounded length.
pub(crate) fn bounded(text: &str) -> String {
    printable(text).chars().take(1_000).collect()
}

/// The error and its causes in one line, without those that it has in its own text.
pub fn with_causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_reported_once() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let text = with_causes(&RunnerError::Write { path: "runs.jsonl".into(), source: full });
        assert!(
            text.starts_with("cannot write runs.jsonl") && text.ends_with(": no storage space"),
            "{text}"
        );
    }
}

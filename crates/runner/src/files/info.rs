//! `run-info.json`: everything that must not be in a Record because it depends on the machine and the hour.

use crate::files::folder::{self, Folder};
use crate::files::output::OutputFolder;
use crate::files::seal::sha256;
use crate::{RunnerError, Shard};
use cellcc_experiment::{Plan, RunId};
use serde::{Deserialize, Serialize};

/// The content of `run-info.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Heading of the report.
    pub title: String,
    /// The scheme that the report holds the others against; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub baseline: String,
    /// State in which it was left.
    pub state: State,
    /// Version of the code, as in every Record.
    pub version: String,
    /// The command line.
    pub command: Vec<String>,
    /// The machine that ran it.
    pub host: Host,
    /// Number of runs at a time.
    pub jobs: usize,
    /// Start, UTC, RFC 3339; for a resumed plan, that of its last part.
    pub started: String,
    /// Wall time in seconds; for a resumed plan, that of its last part; for merged shards, the sum of theirs.
    pub wall_time_s: f64,
    /// The share of the plan that is here; none: all of it.
    pub shard: Option<Shard>,
    /// The ids of the runs that belong here, in the order of the plan: all, or those of the share.
    pub plan: Vec<RunId>,
    /// Place of a share in its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The runs that failed.
    pub failures: Vec<Failure>,
}

/// Place of a share in its plan. The other shares' ids are not here: with as many shares as runs, all folders together
/// would hold the square of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Hash of the whole plan: see [`plan_sha256`].
    pub plan_sha256: String,
    /// Positions of the share's runs in the plan, from 0.
    pub positions: Vec<usize>,
}

/// The hash of the ids of a plan in its order: two plans with the same one have the same runs, by the same build.
pub fn plan_sha256(ids: &[RunId]) -> String {
    let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
    sha256(text.as_bytes())
}

/// The ids of all runs of a plan, in its order.
pub(crate) fn ids(plan: &Plan) -> Vec<RunId> {
    plan.runs.iter().map(|run| run.id).collect()
}

/// State of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Running, or ended without a chance to say so.
    Running,
    /// Interrupted; `--resume` finishes it.
    Interrupted,
    /// Every run was finished or has failed.
    Complete,
}

/// The machine that ran a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Operating system: `linux`.
    pub os: String,
    /// Processor architecture: `x86_64`.
    pub arch: String,
    /// Processors that the runs could use.
    pub cpus: usize,
}

/// A run that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Its id in the plan.
    pub id: RunId,
    /// Its name in messages: `reminis on 001-driving, seed 1`.
    pub label: String,
    /// Reason why it failed.
    pub cause: String,
}

impl Host {
    /// This machine.
    pub fn this() -> Self {
        Self {
            os: std::env::consts::OS.into(),
            arch: std::env::consts::ARCH.into(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl RunInfo {
    pub(crate) fn write(&self, out: &OutputFolder) -> Result<(), RunnerError> {
        out.write_result(&out.folder().info_script(), self.script().as_bytes())?;
        let mut text = serde_json::to_string_pretty(self).expect("string keys and finite numbers only");
        text.push('\n');
        out.write_result(&out.folder().info(), text.as_bytes())
    }

    /// `run-info.js`: the report's foot, for all that must not be in `report.html`, which is the same on every machine. A page that is
    /// opened from a disk may not read files, but may load scripts of the same folder.
    pub fn script(&self) -> String {
        let Self { started, command, host, jobs, wall_time_s, .. } = self;
        let info = serde_json::json!({
            "started": started, "command": command, "host": host, "jobs": jobs, "wall_time_s": wall_time_s,
        });
        format!("cellccPart({{\"info\": {info}}});\n")
    }

    pub(crate) fn read(folder: &Folder) -> Result<Self, RunnerError> {
        let text = folder::read(&folder.info())
            .map_err(|source| RunnerError::NoResults { folder: folder.path().into(), source })?;
        serde_json::from_slice(&text).map_err(|error| RunnerError::Malformed {
            path: folder.info(),
            line: error.line(),
            problem: error.to_string(),
        })
    }
}

//! A line of results: a Record, the hashes of the files next to it, and the hash of the line itself, so that whatever
//! changes later is found.
//!
//! `{...,"series_sha256":"...","curves_sha256":"...","sha256":"..."}`: the last hash is that of the bytes before its comma.

use crate::files::folder::{self, Folder};
use crate::{RunnerError, Shard};
use cellcc_experiment::{Record, RunId};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use thiserror::Error;

/// Identity and hashes of a line's Record and its files; also reads lines of other versions of the code.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Head {
    pub(crate) schema: u32,
    pub(crate) id: RunId,
    pub(crate) version: String,
    #[serde(default)]
    series_sha256: String,
    /// None where the run has no curves.
    curves_sha256: Option<String>,
    #[serde(default)]
    sha256: String,
}

/// Damage to a line of results, or to a file next to it, since it was written.
#[derive(Debug, Error)]
pub(crate) enum Damage {
    #[error("is cut off")]
    CutOff,
    #[error("is not a Record with its hash ({0})")]
    Foreign(serde_json::Error),
    /// A line of this version of the code: of an old one, from before lines had hashes, or cut since.
    #[error("has version {0} and no hash")]
    NoHash(String),
    #[error("was changed since it was written")]
    Changed,
    #[error("is missing")]
    Missing,
    #[error("cannot be read ({0})")]
    Unreadable(io::Error),
}

/// The line of a Record whose series, and curves if it has any, are in files of these contents.
pub(crate) fn seal(record: &Record, series: &[u8], curves: Option<&[u8]>) -> Vec<u8> {
    let mut line = serde_json::to_vec(record).expect("a Record has only string keys");
    line.pop();
    let curves = curves.map(sha256);
    line.extend_from_slice(files_text(&sha256(series), curves.as_deref()).as_bytes());
    let own = own_text(&sha256(&line));
    line.extend_from_slice(own.as_bytes());
    line
}

/// Checks a line.
pub(crate) fn check(line: &[u8]) -> Result<Head, Damage> {
    if !line.ends_with(b"\n") {
        return Err(Damage::CutOff);
    }
    let head: Head = serde_json::from_slice(line).map_err(Damage::Foreign)?;
    if head.sha256.is_empty() {
        return Err(Damage::NoHash(head.version));
    }
    let before = line.strip_suffix(own_text(&head.sha256).as_bytes()).ok_or(Damage::Changed)?;
    if sha256(before) == head.sha256 { Ok(head) } else { Err(Damage::Changed) }
}

/// The Record of a line that was checked.
pub(crate) fn record(line: &[u8], head: &Head) -> Result<Record, Damage> {
    let hashes = files_text(&head.series_sha256, head.curves_sha256.as_deref()) + &own_text(&head.sha256);
    let fields = line.strip_suffix(hashes.as_bytes()).ok_or(Damage::Changed)?;
    serde_json::from_slice(&[fields, b"}"].concat()).map_err(Damage::Foreign)
}

/// The files of a run, as its line says they are.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) series: Vec<u8>,
    pub(crate) curves: Option<Vec<u8>>,
}

/// A file that is not as its line says.
#[derive(Debug)]
pub(crate) struct DamagedFile {
    pub(crate) path: PathBuf,
    pub(crate) damage: Damage,
}

impl DamagedFile {
    /// The error of a reader that cannot do without the file.
    pub(crate) fn error(self, folder: &Folder, shard: Option<Shard>) -> RunnerError {
        RunnerError::damaged(self.path, format!("it {}", self.damage), folder, shard)
    }
}

impl Files {
    /// Reads the files of the run of a line.
    pub(crate) fn read(folder: &Folder, head: &Head) -> Result<Self, DamagedFile> {
        let series = read(folder.series(head.id), &head.series_sha256)?;
        let curves = head.curves_sha256.as_ref().map(|expected| read(folder.curves(head.id), expected));
        Ok(Self { series, curves: curves.transpose()? })
    }
}

fn read(path: PathBuf, expected: &str) -> Result<Vec<u8>, DamagedFile> {
    let damage = match folder::read(&path) {
        Ok(content) if sha256(&content) == expected => return Ok(content),
        Ok(_) => Damage::Changed,
        Err(error) if error.kind() == ErrorKind::NotFound => Damage::Missing,
        Err(error) => Damage::Unreadable(error),
    };
    Err(DamagedFile { path, damage })
}

fn files_text(series: &str, curves: Option<&str>) -> String {
    let curves = curves.map(|curves| format!(r#","curves_sha256":"{curves}""#)).unwrap_or_default();
    format!(r#","series_sha256":"{series}"{curves}"#)
}

fn own_text(hash: &str) -> String {
    format!(",\"sha256\":\"{hash}\"}}\n")
}

/// The SHA-256 of `bytes`, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

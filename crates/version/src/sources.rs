//! Which sources determine results, and their hash. The build script has it, and the tests.

use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The crates that determine a Record. The others start runs and keep, show or send results.
pub(crate) const CRATES: [&str; 12] = [
    "assist",
    "control",
    "emu",
    "experiment",
    "fixed",
    "link",
    "quic",
    "quic-drivers",
    "schemes",
    "sim",
    "statistics",
    "units",
];

/// The packages of others whose random numbers, arithmetic or decisions about packets a Record shows.
pub(crate) const PACKAGES: [&str; 10] = [
    "hdrhistogram",
    "libm",
    "noq",
    "noq-proto",
    "noq-udp",
    "num-traits",
    "rand",
    "rand_core",
    "rand_distr",
    "rand_pcg",
];

/// How many hexadecimal digits of the hash are kept: of ten thousand builds, two are alike with a chance of 2 in 10^7.
const DIGITS: usize = 12;

/// The folder of a crate's sources in the workspace at `root`.
pub(crate) fn folder(root: &Path, name: &str) -> PathBuf {
    root.join("crates").join(name).join("src")
}

/// The hash of the sources in the workspace at `root`: of their names within their crate, of their texts with line breaks
/// as in Unix, and of the packages.
pub(crate) fn hash(root: &Path) -> Result<String, String> {
    let mut hasher = Sha256::new();
    let mut add = |name: &str, text: &str| {
        // No name and no source has a zero byte, so that no two lists of files give the same bytes.
        for part in [name, "\0", text, "\0"] {
            hasher.update(part);
        }
    };
    let lock = read(&root.join("Cargo.lock"))?;
    for name in PACKAGES {
        add(name, &locked(&lock, name)?);
    }
    for name in CRATES {
        let folder = folder(root, name);
        let mut files = Vec::new();
        list(&folder, name, &mut files)
            .map_err(|error| format!("cannot list the sources in {}: {error}", folder.display()))?;
        files.sort();
        for (name, path) in files {
            add(&name, &read(&path)?);
        }
    }
    let digest = hasher.finalize();
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(digits[..DIGITS].into())
}

/// Name, version and origin of a package in the text of `Cargo.lock`, once for each of its versions.
fn locked(lock: &str, name: &str) -> Result<String, String> {
    let start = format!("name = \"{name}\"\n");
    let packages = lock.split("[[package]]\n").filter(|package| package.starts_with(&start));
    let origins = packages.map(|package| package.split("dependencies = [").next().unwrap_or(package).trim());
    let text: Vec<&str> = origins.collect();
    if text.is_empty() {
        return Err(format!(
            "Cargo.lock has no package `{name}`: mend the list in crates/version/src/sources.rs"
        ));
    }
    Ok(text.join("\n"))
}

/// Adds the Rust files in `folder` and the folders within: their names after `name`, the same on every system, and paths.
fn list(folder: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{name}/{file}");
        if path.is_dir() {
            list(&path, &name, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push((name, path));
        }
    }
    Ok(())
}

/// A text with line breaks as in Unix.
fn read(path: &Path) -> Result<String, String> {
    let text =
        fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(text.replace('\r', ""))
}

//! Gives [`VERSION`] its value.

#[path = "src/sources.rs"]
mod sources;

use std::env;
use std::path::Path;

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let version = variable("CARGO_PKG_VERSION");
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join("crates").is_dir() {
        // A published crate stands without the others. No release is published twice: its version names the sources.
        println!("cargo::rustc-env=CELLCC_VERSION={version}");
        return;
    }
    println!("cargo::rerun-if-changed={}", root.join("Cargo.lock").display());
    for name in sources::CRATES {
        println!("cargo::rerun-if-changed={}", sources::folder(&root, name).display());
    }
    match sources::hash(&root) {
        Ok(hash) => println!("cargo::rustc-env=CELLCC_VERSION={version}+{hash}"),
        Err(problem) => println!("cargo::error={problem}"),
    }
}

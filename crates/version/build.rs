//! Gives [`VERSION`] its value.

#[path = "src/sources.rs"]
mod sources;

use std::env;
use std::fs;
use std::path::Path;

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let version = variable("CARGO_PKG_VERSION");
    let here = variable("CARGO_MANIFEST_DIR");
    let root = Path::new(&here).join("../..");
    if !sources::CRATES.iter().all(|name| sources::folder(&root, name).is_dir()) {
        // A published package stands without some of the others. `tools/release` has written down their hash; without it the
        // version alone names the sources, as no release is published twice.
        let hash = fs::read_to_string(Path::new(&here).join("hash"));
        let suffix = hash.map(|hash| format!("+{}", hash.trim())).unwrap_or_default();
        println!("cargo::rustc-env=CELLCC_VERSION={version}{suffix}");
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

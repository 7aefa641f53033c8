//! The committed objects are those of the committed sources.

use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn objects() -> PathBuf {
    root().join("crates/kernel/objects")
}

fn manifest() -> toml::Table {
    let text = fs::read_to_string(objects().join("manifest.toml")).expect("a manifest");
    text.parse().expect("TOML")
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_objects_are_of_these_sources() {
    let script =
        Command::new(root().join("tools/kernel-objects")).arg("--sources").output().expect("the script");
    let sources = String::from_utf8_lossy(&script.stdout).trim().to_owned();
    assert_eq!(
        manifest()["sources"].as_str(),
        Some(&*sources),
        "the sources of the kernel objects have changed: run make kernel-objects, and commit crates/kernel/objects"
    );
}

#[test]
fn the_objects_are_those_of_the_manifest() {
    let manifest = manifest();
    let listed = manifest["objects"].as_table().expect("a table");
    let mut found = 0;
    for entry in fs::read_dir(objects()).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if name.ends_with(".bpf.o") {
            found += 1;
            let bytes = fs::read(&path).expect("an object");
            assert_eq!(listed[&name].as_str(), Some(&*hash(&bytes)), "{name}");
        }
    }
    assert_eq!(found, listed.len());
}

#[test]
fn these_compilers_make_the_same_objects() {
    if !root().join("target/kernel-toolchain/complete").exists() {
        let _ = writeln!(
            io::stderr(),
            "left out: no compilers in target/kernel-toolchain; tools/kernel-toolchain fetches them"
        );
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let made =
        Command::new(root().join("tools/kernel-objects")).arg(folder.path()).output().expect("the script");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let text = fs::read_to_string(folder.path().join("manifest.toml")).expect("a manifest");
    let remade: toml::Table = text.parse().expect("TOML");
    let compilers = |manifest: &toml::Table| (manifest["rustc"].clone(), manifest["clang"].clone());
    if compilers(&remade) != compilers(&manifest()) {
        let _ = writeln!(io::stderr(), "left out: the compilers here are {:?}", compilers(&remade));
        return;
    }
    assert_eq!(remade["objects"], manifest()["objects"]);
}

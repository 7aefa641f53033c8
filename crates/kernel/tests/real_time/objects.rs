//! The committed objects are those of the committed sources.

use crate::equality::decide_alike;
use crate::kernel::Kernel;
use libbpf_rs::ObjectBuilder;
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
        "the sources of the kernel objects have changed: run tools/kernel-objects, and commit crates/kernel/objects"
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
fn the_compilers_here_make_the_same_objects_or_such_that_decide_alike() {
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
    if compilers(&remade) == compilers(&manifest()) {
        assert_eq!(remade["objects"], manifest()["objects"]);
        return;
    }
    // Other compilers make other bytes, which must load and decide alike.
    let _ = writeln!(io::stderr(), "other compilers than the manifest's: {:?}", compilers(&remade));
    let Some(_kernel) = Kernel::take() else { return };
    for name in manifest()["objects"].as_table().expect("a table").keys() {
        let object = ObjectBuilder::default().open_file(folder.path().join(name)).expect("an object");
        object.load().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    decide_alike(&fs::read(folder.path().join("equality.bpf.o")).expect("an object"));
}

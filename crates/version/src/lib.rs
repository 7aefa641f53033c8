//! Internal, exact version: any release may change this crate (docs/architecture.md, "Promised crates").
//!
//! Names the code that results come from, so that those of two builds are never taken for one another.

#[cfg(test)]
mod sources;

/// The version of the code, and after the `+` a hash of the sources that determine results: `0.1.0+3f2a91c08b1d`.
///
/// It is the same on every machine and in every folder. It changes with any source of the simulator, of the schemes, of
/// links and of the drivers, be it a comment, and with the versions of the packages behind them in `Cargo.lock`; a change
/// of commands, reports or transfers leaves it as it is. A program that registers schemes of its own adds a word for them.
pub const VERSION: &str = env!("CELLCC_VERSION");

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn workspace() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// A workspace with all that the hash needs.
    fn small_workspace() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for name in sources::CRATES {
            let folder = sources::folder(root.path(), name);
            fs::create_dir_all(folder.join("deep")).unwrap();
            fs::write(folder.join("deep/mod.rs"), "pub const DEEP: u8 = 1;\n").unwrap();
            fs::write(folder.join("lib.rs"), "mod deep;\n").unwrap();
        }
        let package = |name| format!("[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\n\n");
        let lock: String = sources::PACKAGES.into_iter().chain(["clap"]).map(package).collect();
        fs::write(root.path().join("Cargo.lock"), lock).unwrap();
        root
    }

    #[test]
    fn the_version_is_that_of_the_sources_here() {
        let expected = format!("{}+{}", env!("CARGO_PKG_VERSION"), sources::hash(&workspace()).unwrap());
        assert_eq!(VERSION, expected);
    }

    #[test]
    fn the_hash_depends_on_sources_and_not_on_their_folder_or_line_breaks() {
        let (one, other) = (small_workspace(), small_workspace());
        let before = sources::hash(one.path()).unwrap();
        let crlf = other.path().join("crates/link/src/lib.rs");
        fs::write(&crlf, "mod deep;\r\n").unwrap();
        fs::write(other.path().join("crates/link/src/results.snap"), "no source").unwrap();
        assert_eq!(sources::hash(other.path()).unwrap(), before);

        fs::write(&crlf, "mod deep; \n").unwrap();
        assert_ne!(sources::hash(other.path()).unwrap(), before);
        let deep = one.path().join("crates/sim/src/deep");
        fs::rename(deep.join("mod.rs"), deep.join("other.rs")).unwrap();
        assert_ne!(sources::hash(one.path()).unwrap(), before);
    }

    #[test]
    fn the_hash_depends_on_the_packages_that_determine_results() {
        let root = small_workspace();
        let before = sources::hash(root.path()).unwrap();
        let lock = root.path().join("Cargo.lock");
        let text = fs::read_to_string(&lock).unwrap();
        let with = |name: &str, version: &str| {
            let (from, to) =
                (format!("\"{name}\"\nversion = \"1.0.0\""), format!("\"{name}\"\nversion = \"{version}\""));
            assert!(text.contains(&from));
            fs::write(&lock, text.replace(&from, &to)).unwrap();
            sources::hash(root.path()).unwrap()
        };
        assert_eq!(with("clap", "2.0.0"), before);
        assert_ne!(with("libm", "1.0.1"), before);

        fs::write(&lock, text.replace("\"libm\"", "\"mathlib\"")).unwrap();
        assert!(sources::hash(root.path()).unwrap_err().contains("`libm`"));
    }

    /// A crate that one of the list uses also determines results.
    #[test]
    fn the_list_of_crates_is_closed() {
        for name in sources::CRATES {
            let path = workspace().join("crates").join(name).join("Cargo.toml");
            let manifest = fs::read_to_string(path).unwrap();
            let used = manifest.split("[dev-dependencies]").next().unwrap();
            for line in used.lines().filter_map(|line| line.strip_prefix("cellcc-")) {
                let used = line.split(['.', ' ']).next().unwrap();
                assert!(sources::CRATES.contains(&used), "{name} uses {used}");
            }
        }
    }
}

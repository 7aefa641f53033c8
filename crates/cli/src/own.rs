//! A program with schemes of its own: its registry, and the version of its results.

use cellcc_control::Registry;
use cellcc_version::VERSION;
use sha2::{Digest, Sha256};
use std::sync::OnceLock;
use std::{env, fs};

/// The word of such a program in the version of its results.
static WORD: OnceLock<String> = OnceLock::new();

/// Digits of the hash of the program: as many as those of cellcc's sources.
const DIGITS: usize = 12;

/// Has the commands that [`main_with`](crate::main_with) names use the schemes of `registry`.
pub(crate) fn begin(registry: Registry) {
    let known = cellcc_experiment::registry();
    let is_own = |name: &&str| known.schemes().iter().all(|known| known.name != *name);
    let names: Vec<&str> = registry.schemes().iter().map(|info| &*info.name).filter(is_own).collect();
    // A registry may replace a scheme of cellcc, and has no new name then.
    let names = if names.is_empty() { "own".to_owned() } else { names.join(" ") };
    let _ = WORD.set(format!("{names} {}", program()));
    cellcc_experiment::set_registry(registry);
}

/// A hash of the program: only all of it tells what its schemes decide.
fn program() -> String {
    let read = env::current_exe().and_then(fs::read);
    let hash = |program: Vec<u8>| -> String {
        Sha256::digest(program).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    read.map_or_else(|_| "unknown".into(), |program| hash(program)[..DIGITS].to_owned())
}

/// The version of the code of results: cellcc's, and a word for a program with schemes of its own.
pub(crate) fn version() -> &'static str {
    static WHOLE: OnceLock<String> = OnceLock::new();
    WHOLE.get_or_init(|| WORD.get().map_or_else(|| VERSION.into(), |word| format!("{VERSION}, {word}")))
}

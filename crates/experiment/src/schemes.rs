//! The schemes that a Scenario can name.

use cellcc_control::Registry;
use cellcc_schemes::learned;
use cellcc_units::input;
use std::sync::OnceLock;

/// The registry of a program with schemes of its own.
static OWN: OnceLock<Registry> = OnceLock::new();

/// The schemes that come with cellcc, and policies from files, which are read as traces are; in a program with schemes of its own,
/// those that it has [set](set_registry). Only for texts of a program's own user: a peer's texts are read with
/// [`cellcc_schemes::registry`], which opens no file.
pub fn registry() -> Registry {
    OWN.get().cloned().unwrap_or_else(with_cellcc)
}

/// Makes [`registry`] give `registry` from now on, in the whole process: drivers, tables and notes ask it for the schemes of a
/// Scenario. A program calls it once, at its beginning; later calls change nothing.
pub fn set_registry(registry: Registry) {
    let _ = OWN.set(registry);
}

fn with_cellcc() -> Registry {
    let mut registry = cellcc_schemes::registry();
    for scheme in learned::schemes(|path| input::read(path, learned::LARGEST_MODEL)) {
        registry.register(scheme);
    }
    registry
}

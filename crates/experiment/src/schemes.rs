//! The schemes that a Scenario can name.

use cellcc_control::Registry;
use cellcc_schemes::learned;
use cellcc_units::input;

/// The schemes that come with cellcc, and policies from files, which are read as traces are. Only for texts of a
/// program's own user: a peer's texts are read with [`cellcc_schemes::registry`], which opens no file.
pub fn registry() -> Registry {
    let mut registry = cellcc_schemes::registry();
    for scheme in learned::schemes(|path| input::read(path, learned::LARGEST_MODEL)) {
        registry.register(scheme);
    }
    registry
}

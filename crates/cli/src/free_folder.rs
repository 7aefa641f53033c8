//! New folders for results.

use crate::exit::Exit;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// `path`, `path-2`, `path-3`, ...
pub(crate) fn numbered(path: &str) -> impl Iterator<Item = PathBuf> {
    std::iter::once(path.into()).chain((2_u32..).map(move |number| format!("{path}-{number}").into()))
}

/// Creates the first of these that is not there.
pub(crate) fn first_free(paths: impl Iterator<Item = PathBuf>) -> Result<PathBuf, Exit> {
    for path in paths {
        match create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            other => return other.map(|()| path.clone()).map_err(|error| uncreated(&path, error)),
        }
    }
    Err(Exit::input("there are too many folders of results; choose one with --out"))
}

/// Creates the folder that the user has named.
pub(crate) fn new_folder(path: &Path) -> Result<PathBuf, Exit> {
    create(path).map(|()| path.into()).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Exit::input(format!("{} is there already; choose another folder with --out", path.display()))
        }
        _ => uncreated(path, error),
    })
}

fn create(path: &Path) -> std::io::Result<()> {
    // A file in the place of the parent also exists already, and no other name helps.
    fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).map_err(std::io::Error::other)?;
    fs::create_dir(path)
}

fn uncreated(path: &Path, error: std::io::Error) -> Exit {
    Exit::input(format!("cannot create the output folder {}: {error}; choose one with --out", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second demonstration used to fail with `File exists`.
    #[test]
    fn a_name_that_is_taken_has_a_number_after_it() {
        let parent = tempfile::tempdir().unwrap();
        let name = parent.path().join("out/demo").display().to_string();
        let made: Vec<_> = (0..3).map(|_| first_free(numbered(&name)).unwrap()).collect();
        assert_eq!(made, [name.clone(), format!("{name}-2"), format!("{name}-3")].map(PathBuf::from));
        let Err(Exit::Input(error)) = new_folder(&made[0]) else { panic!("it is there") };
        assert!(error.to_string().contains("is there already; choose another folder"), "{error}");
    }

    #[test]
    fn a_file_in_the_place_of_the_parent_is_named() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("out"), "").unwrap();
        let name = parent.path().join("out/demo").display().to_string();
        assert!(matches!(first_free(numbered(&name)), Err(Exit::Input(_))));
    }
}

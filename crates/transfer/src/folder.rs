//! A server's folder: which names below it are files that clients may have, or add.

use crate::TransferError;
use crate::files::open;
use cellcc_units::output;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

/// Files below it are public (RFC 8615).
const WELL_KNOWN: &str = ".well-known";

/// A folder whose files clients may have.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Also names that begin with a dot: `.git`, `.htpasswd`, `.ssh` are there by chance, and not meant for publication.
    shows_hidden: bool,
}

impl Folder {
    pub(crate) fn new(path: &Path, shows_hidden: bool) -> Self {
        Self { path: path.into(), shows_hidden }
    }

    /// Opens the file `name`.
    pub(crate) fn open(&self, name: &str) -> Result<File, TransferError> {
        let path = self.below(name)?;
        open(&path).map_err(|cause| TransferError::File { act: "read", path, cause })
    }

    /// The path of `name`. Refuses names and links that lead outside, and hidden names. The file itself need not exist.
    pub(crate) fn below(&self, name: &str) -> Result<PathBuf, TransferError> {
        let refused = |why: &str| TransferError::Refused(format!("`{name}`: {why}"));
        let relative = Path::new(name.trim_start_matches('/'));
        let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        let (Some(file), true) = (relative.file_name(), is_plain) else {
            return Err(refused("write a path below the server's folder, without `..`"));
        };
        if output::is_unfinished(&file.to_string_lossy()) {
            return Err(refused(
                "files of this form are incomplete ones, which may be deleted; choose another name",
            ));
        }
        if !self.shows_hidden && is_hidden(relative) {
            return Err(refused("names that begin with a dot are only for a server with --hidden"));
        }
        let unreadable = |cause| TransferError::File { act: "read", path: self.path.clone(), cause };
        let outer = self.path.canonicalize().map_err(unreadable)?;
        let folder = outer.join(relative.parent().unwrap_or(Path::new("")));
        let folder = folder.canonicalize().map_err(|_| refused("the server has no such folder"))?;
        let path = folder.join(file);
        let real = if path.is_symlink() {
            path.canonicalize().map_err(|_| refused("the server has no such file"))?
        } else {
            path
        };
        if real.starts_with(&outer) { Ok(real) } else { Err(refused("it leads out of the server's folder")) }
    }
}

fn is_hidden(relative: &Path) -> bool {
    let mut names = relative.strip_prefix(WELL_KNOWN).unwrap_or(relative).components();
    names.any(|name| name.as_os_str().as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_name_never_leads_out_of_the_root() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(outside.path().join("secret"), "x").unwrap();
        let folder = Folder::new(&root, true);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside.path().join("secret"), root.join("link")).unwrap();
            std::os::unix::fs::symlink(outside.path(), root.join("out")).unwrap();
            assert!(folder.below("link").is_err());
            assert!(folder.below("out/secret").is_err());
        }
        // It was taken, and any user may delete it.
        assert!(folder.below(".cellcc-abc.part").is_err());
        assert!(folder.below(".cellcc-abc").is_ok() && folder.below("abc.part").is_ok());
        for name in ["../secret", "sub/../../secret", "", "/", "..", "nowhere/file"] {
            assert!(folder.below(name).is_err(), "{name}");
        }
        assert!(folder.below("/sub/new").unwrap().ends_with("root/sub/new"));
    }

    /// `/.git/config` and `/.htpasswd` were handed out.
    #[test]
    fn names_that_begin_with_a_dot_are_for_nobody_but_who_asks_for_them_except_what_is_well_known() {
        let root = tempfile::tempdir().unwrap();
        for folder in [".git", ".well-known", "sub/.svn", "sub/.well-known", ".well-known/.git"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let [usual, all] = [false, true].map(|shows_hidden| Folder::new(root.path(), shows_hidden));
        let hidden = [".htpasswd", "/.git/config", "sub/.svn/entries", "sub/.x", "sub/.well-known/x"];
        for name in hidden.into_iter().chain([".well-known/.git/config", ".well-known/.x", ".well-knowns"]) {
            let refusal = usual.below(name).unwrap_err().to_string();
            assert!(refusal.contains("--hidden"), "{refusal}");
            assert!(all.below(name).is_ok(), "{name}");
        }
        for name in ["/.well-known/security.txt", "a.b", "sub/a.", "sub/a..b"] {
            assert!(usual.below(name).is_ok(), "{name}");
        }
    }
}

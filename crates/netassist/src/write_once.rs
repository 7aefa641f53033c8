//! Files that are there whole or not at all.

use std::io::{self, Write};
use std::path::Path;

/// What begins the names of files and folders that are not finished. A process that was killed leaves them, and nobody reads them.
pub(crate) const UNFINISHED: &str = ".unfinished-";

/// A file that is there whole or not at all, whatever ends this process. One that is there already stays, as of another process
/// that was first. Where it is not `public`, only its owner can read it.
pub(crate) fn write_once(path: &Path, text: &str, public: bool) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    #[cfg(unix)]
    if public {
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    #[cfg(not(unix))]
    let _ = public;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(kept) if kept.error.kind() != io::ErrorKind::AlreadyExists => Err(kept.error),
        _ => Ok(()),
    }
}

/// A secret that is there whole or not at all, for its owner alone. One that is there already stays.
pub(crate) fn write_secret_once(path: &Path, text: &str) -> io::Result<()> {
    write_once(path, text, false)
}

//! Files that are there whole or not at all; the first one stays.

use cellcc_units::output::WholeFile;
use std::io::{self, Write};
use std::path::Path;

/// A file that is there whole or not at all, whatever ends this process. One that is there already stays, as of another process
/// that was first. Where it is not `public`, only its owner can read it.
pub(crate) fn write_once(path: &Path, text: &str, public: bool) -> io::Result<()> {
    let file = if public { WholeFile::kept(path)? } else { WholeFile::private(path)? };
    // Whatever the umask says.
    #[cfg(unix)]
    if public {
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    match file.unless_there().and_then(|file| file.fill(|out| out.write_all(text.as_bytes()))) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written,
    }
}

/// A secret that is there whole or not at all, for its owner alone. One that is there already stays.
pub(crate) fn write_secret_once(path: &Path, text: &str) -> io::Result<()> {
    write_once(path, text, false)
}

//! Files at both ends: those that are read in pieces, and those that arrive in pieces.
//!
//! On its stream a file is a sequence of pieces: offset (8 bytes), length (4 bytes), both with the most significant byte
//! first, and the data.

use crate::TransferError;
use bytes::Bytes as Data;
pub(crate) use cellcc_http3::PIECE_BYTES;
use cellcc_http3::read_piece;
use cellcc_units::output::{self, WholeFile};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes before the data of a piece.
pub(crate) const PIECE_HEADER_BYTES: usize = 12;

/// The message for a folder, a pipe, a device.
const NOT_A_FILE: &str = "it is not a file";

/// A file that several streams read or write at once.
#[derive(Debug, Clone)]
pub(crate) struct SharedFile {
    file: Arc<Mutex<File>>,
    path: PathBuf,
    bytes: u64,
}

impl SharedFile {
    /// Opens a file for reading.
    pub(crate) fn open(path: &Path) -> Result<Self, TransferError> {
        let failed = |cause| TransferError::File { act: "read", path: path.into(), cause };
        let file = open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        Ok(Self { file: Arc::new(Mutex::new(file)), path: path.into(), bytes: metadata.len() })
    }

    /// The file's size, also before it is complete.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, File> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a piece, with its header.
    pub(crate) async fn read_piece(&self, offset: u64, length: u32) -> Result<Data, TransferError> {
        let this = self.clone();
        let read = move || {
            let header = [&offset.to_be_bytes()[..], &length.to_be_bytes()].concat();
            read_piece(&this.lock(), &header, offset, length.into())
        };
        self.blocking("read", read).await
    }

    /// Writes the data of a piece.
    pub(crate) async fn write_piece(&self, offset: u64, data: Vec<u8>) -> Result<(), TransferError> {
        if offset.saturating_add(data.len() as u64) > self.bytes {
            return Err(TransferError::Protocol(format!(
                "a piece beyond the {} bytes of the file",
                self.bytes
            )));
        }
        let this = self.clone();
        let write = move || {
            let mut file = this.lock();
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(&data)
        };
        self.blocking("write", write).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        act: &'static str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, TransferError> {
        let result = tokio::task::spawn_blocking(work).await;
        let result = result.unwrap_or_else(|error| Err(io::Error::other(error)));
        result.map_err(|cause| TransferError::File { act, path: self.path.clone(), cause })
    }
}

/// A file with another name until it is complete, `.cellcc-NAME.part` next to its final name, or with a number where that is
/// taken. Dropping this removes an incomplete file; a killed process leaves it.
#[derive(Debug)]
pub(crate) struct IncomingFile {
    pub(crate) file: SharedFile,
    whole: WholeFile,
    target: PathBuf,
}

/// What happens to a file that has the final name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// The new file replaces it. A symbolic link is replaced itself, not its target.
    Replaced,
    /// The old file stays, also if it appears while the new one arrives; the new one is discarded.
    Kept,
}

impl IncomingFile {
    /// Creates a file of this size that is to be `target`.
    pub(crate) fn create(target: &Path, bytes: u64, existing: Existing) -> Result<Self, TransferError> {
        // Renaming would replace a device by a file, and pieces come in any order.
        if existing == Existing::Replaced && output::is_stream(target) {
            return Err(TransferError::Input(format!(
                "{} is not a file that could be replaced; choose another name",
                target.display()
            )));
        }
        let made = || {
            let whole = WholeFile::kept(target)?;
            let whole = if existing == Existing::Kept { whole.unless_there()? } else { whole };
            Ok((Arc::new(Mutex::new(whole.as_file().try_clone()?)), whole))
        };
        let (file, whole) = made().map_err(|error| not_written(target, error))?;
        let file = SharedFile { file, path: target.into(), bytes };
        Ok(Self { file, whole, target: target.into() })
    }

    /// The file is complete: gives it its final name, in one step.
    pub(crate) fn complete(self) -> Result<(), TransferError> {
        // Without waiting for the disk, which is no part of a transfer.
        self.whole.begin().map(drop).map_err(|error| not_written(&self.target, error))
    }
}

fn not_written(path: &Path, cause: io::Error) -> TransferError {
    let cause = match cause.kind() {
        kind @ io::ErrorKind::AlreadyExists => {
            io::Error::new(kind, "it is there already; choose another name")
        }
        _ => cause,
    };
    TransferError::File { act: "write", path: path.into(), cause }
}

/// Opens a file for reading, and no folder, pipe or device.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Before it is opened: opening a pipe waits for its other end, and opening a device may do something.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_A_FILE));
    }
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Opening it would wait for a writer.
    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_before_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let message = SharedFile::open(&pipe).unwrap_err().to_string();
        assert!(message.ends_with("pipe: it is not a file"), "{message}");
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    async fn arrive(incoming: &IncomingFile, data: &str) {
        incoming.file.write_piece(0, data.into()).await.unwrap();
    }

    #[test]
    fn an_incomplete_file_leaves_nothing_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("file");
        fs::write(&target, "old").unwrap();
        assert!(IncomingFile::create(&target, 3, Existing::Kept).is_err());
        drop(IncomingFile::create(&target, 3, Existing::Replaced).unwrap());
        assert_eq!(text(&target), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_file_that_appears_meanwhile_is_kept() {
        // The check was made at the start only, and the rename replaced a file that had come since.
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("file");
        let incoming = IncomingFile::create(&target, 4, Existing::Kept).unwrap();
        arrive(&incoming, "ours").await;
        fs::write(&target, "theirs").unwrap();
        let error = incoming.complete().unwrap_err().to_string();
        assert!(error.contains("there already"), "{error}");
        assert_eq!(text(&target), "theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn of_two_transfers_to_one_name_the_first_to_end_stays() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("file");
        let create = || IncomingFile::create(&target, 6, Existing::Kept).unwrap();
        let (first, second) = (create(), create());
        arrive(&first, "first ").await;
        arrive(&second, "second").await;
        second.complete().unwrap();
        assert!(first.complete().is_err());
        assert_eq!(text(&target), "second");
    }

    #[tokio::test]
    async fn a_file_of_the_users_is_no_temporary_file() {
        // `f.part` was the temporary name: the user's own file was overwritten, then renamed.
        let folder = tempfile::tempdir().unwrap();
        let (target, own) = (folder.path().join("f"), folder.path().join("f.part"));
        fs::write(&own, "mine").unwrap();
        let incoming = IncomingFile::create(&target, 4, Existing::Replaced).unwrap();
        arrive(&incoming, "data").await;
        incoming.complete().unwrap();
        assert_eq!((text(&target), text(&own)), ("data".into(), "mine".into()));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn nothing_is_written_through_a_symbolic_link() {
        // A link `f.part` led the data out of the folder.
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("outside"), "theirs").unwrap();
        for link in ["f", "f.part"] {
            std::os::unix::fs::symlink(path("outside"), path(link)).unwrap();
        }
        let incoming = IncomingFile::create(&path("f"), 4, Existing::Replaced).unwrap();
        arrive(&incoming, "data").await;
        incoming.complete().unwrap();
        assert_eq!((text(&path("f")), text(&path("outside"))), ("data".into(), "theirs".into()));
        assert!(!path("f").is_symlink() && path("f.part").is_symlink());
    }

    #[test]
    fn neither_a_killed_transfer_nor_a_file_of_the_old_temporary_name_blocks_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x");
        // A killed process does not clean up.
        std::mem::forget(IncomingFile::create(&target, 1, Existing::Kept).unwrap());
        let part = IncomingFile::create(&folder.path().join("x.part"), 0, Existing::Kept).unwrap();
        part.complete().unwrap();
        IncomingFile::create(&target, 0, Existing::Kept).unwrap().complete().unwrap();
        assert!(target.exists());
    }

    #[cfg(unix)]
    #[test]
    fn only_files_and_links_are_replaced() {
        // A device became a file, and so did `/dev/stdout`, which is a link.
        let folder = tempfile::tempdir().unwrap();
        for target in [folder.path(), Path::new("/dev/null"), Path::new("/dev/stdout")] {
            let error = IncomingFile::create(target, 1, Existing::Replaced).unwrap_err();
            assert!(error.is_input() && error.to_string().contains("not a file"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_is_readable_as_others_are() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (target, other) = (folder.path().join("x"), folder.path().join("other"));
        IncomingFile::create(&target, 0, Existing::Kept).unwrap().complete().unwrap();
        fs::write(&other, "").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
        assert_eq!(mode(&target), mode(&other));
    }
}

//! Files at both ends: paths below a server's root, and files that arrive in pieces.
//!
//! On its stream a file is a sequence of pieces: offset (8 bytes), length (4 bytes), both with the most significant byte
//! first, and the data.

use crate::TransferError;
use bytes::Bytes as Data;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest piece: with 16 streams, 4 MB are on their way between disk and network.
pub(crate) const PIECE_BYTES: u32 = 1 << 18;

/// Bytes before the data of a piece.
pub(crate) const PIECE_HEADER_BYTES: usize = 12;

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
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(TransferError::Input(format!("{} is not a file", path.display())));
        }
        Ok(Self { file: Arc::new(Mutex::new(file)), path: path.into(), bytes: metadata.len() })
    }

    /// Its size, also before it is complete.
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
            let mut piece = vec![0; PIECE_HEADER_BYTES + length as usize];
            piece[..8].copy_from_slice(&offset.to_be_bytes());
            piece[8..PIECE_HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
            let mut file = this.lock();
            file.seek(SeekFrom::Start(offset))?;
            file.read_exact(&mut piece[PIECE_HEADER_BYTES..])?;
            Ok(piece.into())
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

/// A file that has another name until it is complete. It is removed if it never is.
#[derive(Debug)]
pub(crate) struct IncomingFile {
    pub(crate) file: SharedFile,
    part: PathBuf,
    target: PathBuf,
    is_complete: bool,
}

impl IncomingFile {
    /// Creates `target` with `.part` appended to its name, for a file of this size. `replaces`: whether an existing `target`
    /// may be replaced.
    pub(crate) fn create(target: &Path, bytes: u64, replaces: bool) -> Result<Self, TransferError> {
        let failed = |cause| TransferError::File { act: "write", path: target.into(), cause };
        if !replaces && target.exists() {
            return Err(failed(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "it is there already; choose another name",
            )));
        }
        let mut part = target.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let mut options = OpenOptions::new();
        // Of two transfers to one name the second is refused, so that it does not write to the first one's part.
        let opened = options.write(true).create_new(true).open(&part).or_else(|error| {
            if replaces && error.kind() == io::ErrorKind::AlreadyExists {
                return OpenOptions::new().write(true).truncate(true).open(&part);
            }
            Err(error)
        });
        let file = Arc::new(Mutex::new(opened.map_err(failed)?));
        let file = SharedFile { file, path: part.clone(), bytes };
        Ok(Self { file, part, target: target.into(), is_complete: false })
    }

    /// The file is complete: gives it its name.
    pub(crate) fn complete(&mut self) -> Result<(), TransferError> {
        let moved = self.file.lock().flush().and_then(|()| fs::rename(&self.part, &self.target));
        moved.map_err(|cause| TransferError::File { act: "write", path: self.target.clone(), cause })?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for IncomingFile {
    fn drop(&mut self) {
        if !self.is_complete {
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// The path of `name` below `root`. Refuses names and links that lead outside. The file itself need not exist.
pub(crate) fn below(root: &Path, name: &str) -> Result<PathBuf, TransferError> {
    let refused = |why: &str| TransferError::Refused(format!("`{name}`: {why}"));
    let relative = Path::new(name.trim_start_matches('/'));
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    let (Some(file), true) = (relative.file_name(), is_plain) else {
        return Err(refused("write a path below the server's folder, without `..`"));
    };
    let outer =
        root.canonicalize().map_err(|cause| TransferError::File { act: "read", path: root.into(), cause })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leads_out_of_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(folder.path().join("secret"), "x").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path().join("secret"), root.join("link")).unwrap();
            std::os::unix::fs::symlink(folder.path(), root.join("out")).unwrap();
            assert!(below(&root, "link").is_err());
            assert!(below(&root, "out/secret").is_err());
        }
        for name in ["../secret", "sub/../../secret", "", "/", "..", "nowhere/file"] {
            assert!(below(&root, name).is_err(), "{name}");
        }
        assert!(below(&root, "/sub/new").unwrap().ends_with("root/sub/new"));
    }

    #[test]
    fn an_incomplete_file_leaves_nothing_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("file");
        fs::write(&target, "old").unwrap();
        assert!(IncomingFile::create(&target, 3, false).is_err());
        drop(IncomingFile::create(&target, 3, true).unwrap());
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

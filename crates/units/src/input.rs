//! Files that a user names: opened and read with a bound, so that no file fills memory and none is read for ever.

use crate::Bytes;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use thiserror::Error;

/// Why a file that a user named is not read.
#[derive(Debug, Error)]
pub enum InputError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is not something that ends: a device, a socket. Or a folder.
    #[error("is a {0}, not a file: name a file, or a pipe such as `<(COMMAND)`")]
    Kind(&'static str),
    /// It stands where a program keeps a file, and is a pipe, a device or a folder.
    #[error("is a {0}, not a file")]
    NotKept(&'static str),
    /// A pipe gave nothing.
    #[error(
        "is a pipe that gave nothing; a pipe can be read only once: write its content to a file, and name that"
    )]
    EmptyPipe,
    /// It holds more than this.
    #[error("holds more than {0}: it is too large")]
    TooLarge(Bytes),
}

impl From<InputError> for io::Error {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Unreadable(error) => error,
            other => Self::other(other),
        }
    }
}

/// Opens a file or a pipe; `<(COMMAND)` of a shell is a pipe. A device is refused before it is opened, because that may
/// already do something.
///
/// # Errors
/// Where it cannot be opened, or is something else.
pub fn open(path: &Path) -> Result<File, InputError> {
    match kind(&std::fs::metadata(path)?) {
        FileKind::File | FileKind::Pipe => Ok(File::open(path)?),
        FileKind::Other(name) => Err(InputError::Kind(name)),
    }
}

/// Opens a file where a program keeps one, as in an output folder. A pipe is also refused: opening it waits for a writer, which
/// may never come.
///
/// # Errors
/// Where it cannot be opened, or is something else.
pub fn open_kept(path: &Path) -> Result<File, InputError> {
    match kind(&std::fs::metadata(path)?) {
        FileKind::File => Ok(File::open(path)?),
        FileKind::Pipe => Err(InputError::NotKept("pipe")),
        FileKind::Other(name) => Err(InputError::NotKept(name)),
    }
}

/// The content of a file or a pipe, of at most `most`.
///
/// # Errors
/// As [`open`]; and where it holds more, or is a pipe that holds nothing.
pub fn read(path: &Path, most: Bytes) -> Result<Vec<u8>, InputError> {
    content(open(path)?, most)
}

/// The content of a file where a program keeps one, of at most `most`.
///
/// # Errors
/// As [`open_kept`]; and where it holds more.
pub fn read_kept(path: &Path, most: Bytes) -> Result<Vec<u8>, InputError> {
    content(open_kept(path)?, most)
}

fn content(file: File, most: Bytes) -> Result<Vec<u8>, InputError> {
    let metadata = file.metadata()?;
    // A file says its size before it is read; a pipe, and a file that grows meanwhile, show it by the first byte too many.
    if metadata.len() > most.get() {
        return Err(InputError::TooLarge(most));
    }
    let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(most.get().saturating_add(1)).read_to_end(&mut content)?;
    match content.len() as u64 {
        0 if kind(&metadata) == FileKind::Pipe => Err(InputError::EmptyPipe),
        length if length > most.get() => Err(InputError::TooLarge(most)),
        _ => Ok(content),
    }
}

/// Reads it as text.
///
/// # Errors
/// As [`read`]; and where it is not UTF-8.
pub fn read_text(path: &Path, most: Bytes) -> Result<String, InputError> {
    text(read(path, most)?)
}

/// The content of a file where a program keeps one, as text.
///
/// # Errors
/// As [`read_kept`]; and where it is not UTF-8.
pub fn read_kept_text(path: &Path, most: Bytes) -> Result<String, InputError> {
    text(read_kept(path, most)?)
}

fn text(content: Vec<u8>) -> Result<String, InputError> {
    String::from_utf8(content).map_err(|_| {
        InputError::Unreadable(io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    File,
    Pipe,
    Other(&'static str),
}

#[cfg(unix)]
fn kind(metadata: &std::fs::Metadata) -> FileKind {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() => FileKind::File,
        () if kind.is_fifo() => FileKind::Pipe,
        () if kind.is_dir() => FileKind::Other("folder"),
        () if kind.is_socket() => FileKind::Other("socket"),
        () => FileKind::Other("device"),
    }
}

#[cfg(not(unix))]
fn kind(metadata: &std::fs::Metadata) -> FileKind {
    match () {
        () if metadata.is_file() => FileKind::File,
        () if metadata.is_dir() => FileKind::Other("folder"),
        () => FileKind::Other("device"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::NamedTempFile;

    fn file(content: &[u8]) -> NamedTempFile {
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    fn message(path: &Path) -> String {
        read(path, Bytes::new(1000)).unwrap_err().to_string()
    }

    #[test]
    fn a_file_of_the_bound_is_read_and_a_byte_more_is_too_much() {
        let large = file(&[7; 1001]);
        assert_eq!(read(large.path(), Bytes::new(1001)).unwrap().len(), 1001);
        assert_eq!(message(large.path()), "holds more than 1kB: it is too large");
        assert_eq!(read_text(file(b"10ms").path(), Bytes::new(4)).unwrap(), "10ms");
        let error = read_text(file(&[255]).path(), Bytes::new(4)).unwrap_err();
        assert!(error.to_string().contains("UTF-8"));
        assert!(read(file(b"").path(), Bytes::new(4)).unwrap().is_empty());
        assert!(message(Path::new("no/such/file")).starts_with("cannot be read: "));
    }

    /// `/dev/zero` never ends: reading it took all memory.
    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_named_and_not_read() {
        assert!(message(Path::new("/dev/zero")).starts_with("is a device, not a file"));
        assert!(message(&std::env::temp_dir()).starts_with("is a folder, not a file"));
    }

    /// `cellcc report` waited for ever for a writer of a pipe in a results folder.
    #[cfg(unix)]
    #[test]
    fn where_a_program_keeps_a_file_a_pipe_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("run-info.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let refused = |path: &Path| read_kept(path, Bytes::new(1000)).unwrap_err().to_string();
        assert_eq!(refused(&pipe), "is a pipe, not a file");
        assert_eq!(refused(folder.path()), "is a folder, not a file");
        assert_eq!(read_kept(file(b"10ms").path(), Bytes::new(4)).unwrap(), b"10ms");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_read_up_to_the_bound() {
        let read_from = |content: &'static [u8]| {
            let (reader, mut writer) = io::pipe().unwrap();
            // Ends with an error where the reader has had enough.
            let writing = std::io::Write::write_all(&mut writer, content);
            drop(writer);
            writing.unwrap();
            let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
            read(Path::new(&path), Bytes::new(1000))
        };
        assert_eq!(read_from(b"0 10\n1 20\n").unwrap(), b"0 10\n1 20\n");
        assert!(matches!(read_from(&[b'1'; 1001]), Err(InputError::TooLarge(_))));
        assert!(matches!(read_from(b""), Err(InputError::EmptyPipe)));
    }
}

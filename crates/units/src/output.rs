//! Files that are written whole or not at all, and never through a symbolic link.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Between these stands the file's own name in the name of an unfinished one.
const UNFINISHED: [&str; 2] = [".cellcc-", ".part"];

/// Characters of the file's own name there: with the longest ones of UTF-8, and a number, a name has at most 255 bytes.
const MOST_NAME: usize = 58;

/// True for a name that files have until they are whole. Only a process that was killed leaves one, which may be deleted.
pub fn is_unfinished(name: &str) -> bool {
    let [start, end] = UNFINISHED;
    name.starts_with(start) && name.ends_with(end)
}

/// Writes a file that a user names: see [`WholeFile::named`].
///
/// # Errors
/// Why it cannot be written.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    WholeFile::named(path)?.fill(|out| out.write_all(content.as_ref()))
}

/// A file that has another name, next to its own, until it is whole and on the disk. A reader sees all of it or the previous
/// content, also after a full disk or a crash. Dropped before, it leaves nothing.
///
/// It replaces a file, and a symbolic link itself, not its target. Links in the folder's path are followed.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    path: PathBuf,
    /// `None`: the file at the path is written to, and not replaced.
    part: Option<Part>,
    replaces: bool,
}

/// The name of an unfinished file.
#[derive(Debug)]
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl WholeFile {
    /// A file that a user names. A pipe, a terminal or a device is written to and never replaced, and so are `/dev/stdout`,
    /// `/dev/fd/3` or `>(COMMAND)` of a shell.
    ///
    /// # Errors
    /// Nothing can be written there: no such folder, or a folder has the name.
    pub fn named(path: &Path) -> io::Result<Self> {
        if !is_stream(path) {
            return Self::kept(path);
        }
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Self { file, path: path.into(), part: None, replaces: true })
    }

    /// A file at a program's own place, as in an output folder: anything there is replaced.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub fn kept(path: &Path) -> io::Result<Self> {
        let this = Self::create(path, OpenOptions::new())?;
        // As it was: who could not read it before cannot read it now.
        if let Some(permissions) = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).map(access) {
            this.file.set_permissions(permissions)?;
        }
        Ok(this)
    }

    /// Begins a file that only its owner may read.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub fn private(path: &Path) -> io::Result<Self> {
        #[allow(unused_mut, reason = "elsewhere than on Unix a folder says who may read")]
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Self::create(path, options)
    }

    fn create(path: &Path, mut options: OpenOptions) -> io::Result<Self> {
        let no_name = || io::Error::new(ErrorKind::InvalidInput, "it names no file");
        let name = path.file_name().ok_or_else(no_name)?.to_string_lossy();
        let mut number = 1;
        loop {
            let part = unfinished(path, &name, number);
            // No existing file is opened, and no link is followed.
            match options.write(true).create_new(true).open(&part) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                opened => {
                    let (file, part) = (opened?, Some(Part(part)));
                    return Ok(Self { file, path: path.into(), part, replaces: true });
                }
            }
        }
    }

    /// Fails where the name is already taken.
    ///
    /// # Errors [`ErrorKind::AlreadyExists`], now or when it is finished: the existing file stays.
    pub fn unless_there(self) -> io::Result<Self> {
        if self.part.is_some() && self.path.symlink_metadata().is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        Ok(Self { replaces: false, ..self })
    }

    /// The file that is written.
    pub fn as_file(&self) -> &File {
        &self.file
    }

    /// Has `fill` write it, and gives it its name.
    ///
    /// # Errors
    /// That of `fill`, or why the file cannot be finished.
    pub fn fill<E: From<io::Error>>(
        self,
        fill: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut writer = BufWriter::new(&self.file);
        fill(&mut writer)?;
        writer.flush()?;
        drop(writer);
        Ok(self.finish()?)
    }

    /// Gives it its name, once it is on the disk.
    ///
    /// # Errors
    /// The disk is full, or something may not be replaced.
    pub fn finish(self) -> io::Result<()> {
        if self.part.is_some() {
            self.file.sync_all()?;
        }
        self.begin().map(drop)
    }

    /// Gives it its name at once, for files that others read while they grow, such as logs, and for those whose loss with the
    /// machine shows. A full disk keeps the part of a log that had room.
    ///
    /// # Errors
    /// Something may not be replaced.
    pub fn begin(self) -> io::Result<File> {
        match &self.part {
            None => {}
            Some(Part(part)) if self.replaces => fs::rename(part, &self.path)?,
            Some(Part(part)) => match fs::hard_link(part, &self.path) {
                // A file has one name only on some disks, as with FAT.
                Err(error)
                    if error.kind() != ErrorKind::AlreadyExists && self.path.symlink_metadata().is_err() =>
                {
                    fs::rename(part, &self.path)?;
                }
                // Dropping removes the other name.
                linked => linked?,
            },
        }
        Ok(self.file)
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes this file's part left by a killed process, unless another process writes it now.
pub fn remove_unfinished(path: &Path) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let _ = fs::remove_file(unfinished(path, &name, 1));
}

/// The name next to `path`.
fn unfinished(path: &Path, name: &str, number: u32) -> PathBuf {
    let [start, end] = UNFINISHED;
    let name: String = name.chars().take(MOST_NAME).collect();
    let number = if number == 1 { String::new() } else { format!("-{number}") };
    path.with_file_name(format!("{start}{name}{number}{end}"))
}

/// True for a file that is written to in place and never replaced: a pipe, a terminal, a device. A link is replaced, unless it
/// is one of the system's own, such as `/dev/stdout`.
pub fn is_stream(path: &Path) -> bool {
    let Ok(found) = path.symlink_metadata() else { return false };
    if !found.is_symlink() {
        return !found.is_file();
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().is_ok_and(|folder| folder == Path::new("/dev") || folder.starts_with("/proc"))
}

/// Permissions to read and write a file, without the bits that lend rights.
#[cfg(unix)]
fn access(metadata: fs::Metadata) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(metadata.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn access(metadata: fs::Metadata) -> Permissions {
    metadata.permissions()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = names.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// `fs::write` had emptied it by then.
    #[test]
    fn what_cannot_be_written_leaves_what_was_there() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("report.html");
        let half = |out: &mut BufWriter<&File>| {
            out.write_all(b"half")?;
            Err(io::Error::from(ErrorKind::StorageFull))
        };
        WholeFile::named(&path).unwrap().fill(half).unwrap_err();
        assert!(names(folder.path()).is_empty());
        write(&path, "before").unwrap();
        WholeFile::named(&path).unwrap().fill(half).unwrap_err();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("before", 1));
        write(folder.path(), "").unwrap_err();
        write(Path::new(".."), "").unwrap_err();
    }

    #[test]
    fn of_several_writers_at_once_each_file_is_whole() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("a");
        let [mut one, mut other] = [WholeFile::named(&path).unwrap(), WholeFile::named(&path).unwrap()];
        one.write_all(b"one").unwrap();
        other.write_all(b"other").unwrap();
        other.finish().unwrap();
        one.finish().unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("one", 1));
    }

    #[test]
    fn a_file_that_is_there_or_comes_meanwhile_stays() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("a");
        let new = WholeFile::named(&path).and_then(WholeFile::unless_there).unwrap();
        write(&path, "theirs").unwrap();
        assert_eq!(new.finish().unwrap_err().kind(), ErrorKind::AlreadyExists);
        let error = WholeFile::named(&path).and_then(WholeFile::unless_there).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("theirs", 1));
    }

    #[test]
    fn names_as_long_as_they_may_be_are_written() {
        let folder = tempdir().unwrap();
        for name in ["x".repeat(255), "中".repeat(85), "🎞".repeat(63)] {
            write(&folder.path().join(&name), "").unwrap();
            assert!(names(folder.path()).contains(&name));
        }
    }

    #[test]
    fn the_file_of_a_killed_process_blocks_no_other() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("a");
        std::mem::forget(WholeFile::named(&path).unwrap());
        write(&path, "").unwrap();
        let names = names(folder.path());
        assert!(names.len() == 2 && is_unfinished(&names[0]) && !is_unfinished(&names[1]), "{names:?}");
        remove_unfinished(&path);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    mod unix {
        use super::*;
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        use std::process::{Command, Stdio};

        #[test]
        fn a_link_is_replaced_and_not_followed_but_those_of_the_folder_are() {
            let folder = tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            fs::create_dir(path("folder")).unwrap();
            fs::write(path("theirs"), "theirs").unwrap();
            // The last one leads to a device, which root could write to.
            for (link, to) in [("link", "theirs"), ("nowhere", "new"), ("device", "/dev/full")] {
                symlink(to, path(link)).unwrap();
                write(&path(link), "ours").unwrap();
                assert!(path(link).symlink_metadata().unwrap().is_file());
            }
            assert_eq!(fs::read_to_string(path("theirs")).unwrap(), "theirs");
            assert!(!path("new").exists());
            symlink("folder", path("linked")).unwrap();
            write(&path("linked/a"), "").unwrap();
            assert!(path("folder/a").exists() && path("linked").is_symlink());
        }

        /// As root, a rename would make files of them for the whole machine.
        #[test]
        fn pipes_and_devices_are_written_to_and_stay() {
            write(Path::new("/dev/null"), "lost").unwrap();
            assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
            if Path::new("/dev/full").exists() {
                assert_eq!(write(Path::new("/dev/full"), "a").unwrap_err().kind(), ErrorKind::StorageFull);
            }

            let folder = tempdir().unwrap();
            let pipe = folder.path().join("pipe");
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
            write(&pipe, "through").unwrap();
            assert_eq!(reader.wait_with_output().unwrap().stdout, b"through");
            assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());

            // A file that is open, by its number: it is appended to, as a shell's `>>` wants.
            let open = folder.path().join("open");
            fs::write(&open, "before ").unwrap();
            let file = OpenOptions::new().append(true).open(&open).unwrap();
            let by_number = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
            if Path::new(&by_number).exists() {
                write(Path::new(&by_number), "after").unwrap();
                assert_eq!(fs::read_to_string(&open).unwrap(), "before after");
            }
            assert!(is_stream(Path::new("/dev/stdout")) || !Path::new("/dev/stdout").exists());
        }

        #[test]
        fn who_may_read_it_stays_and_a_private_one_is_for_its_owner_alone() {
            let folder = tempdir().unwrap();
            let path = folder.path().join("a");
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
            WholeFile::private(&path).unwrap().finish().unwrap();
            assert_eq!(mode(&path), 0o600);
            fs::set_permissions(&path, Permissions::from_mode(0o4640)).unwrap();
            write(&path, "").unwrap();
            assert_eq!(mode(&path), 0o640);
            let other = folder.path().join("other");
            fs::write(&other, "").unwrap();
            write(&folder.path().join("new"), "").unwrap();
            assert_eq!(mode(&folder.path().join("new")), mode(&other));
        }
    }
}

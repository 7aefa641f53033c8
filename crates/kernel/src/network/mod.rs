//! The places that can make a scheme a default: network namespaces and their routes.

pub(crate) mod host_counters;
mod netlink;
pub mod routes;

use crate::error::KernelError;
use crate::schemes::Scheme;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

/// The default scheme of the calling thread's namespace: a name in a file.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// The schemes that every namespace may have as its default.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace {
    /// The name in messages.
    pub(crate) name: String,
    file: File,
}

impl Namespace {
    /// All namespaces that a process is in, or that have a name (ip-netns(8)).
    pub(crate) fn all() -> Result<Vec<Self>, KernelError> {
        let processes = list("/proc")?.into_iter().map(|process| process.join("ns/net"));
        let named = list("/run/netns").unwrap_or_default();
        let mut found = BTreeMap::new();
        for path in named.into_iter().chain(processes) {
            // A process may have ended, and most entries of /proc are none.
            let Ok(file) = File::open(&path) else { continue };
            let Ok(number) = file.metadata().map(|metadata| metadata.ino()) else { continue };
            found.entry(number).or_insert_with(|| Self { name: name_of(&path, number), file });
        }
        Ok(found.into_values().collect())
    }

    /// Runs `work` in this namespace, in a thread of its own.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, KernelError> {
        let enter_and_work = || {
            move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|error| KernelError::system(format!("enter {}", self.name))(error.into()))?;
            Ok(work())
        };
        std::thread::scope(|scope| {
            scope.spawn(enter_and_work).join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }
}

fn list(folder: &str) -> Result<Vec<PathBuf>, KernelError> {
    let entries = fs::read_dir(folder).map_err(KernelError::system(format!("list {folder}")))?;
    Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
}

fn name_of(path: &Path, number: u64) -> String {
    match path.strip_prefix("/run/netns") {
        Ok(name) => format!("network namespace {}", name.display()),
        Err(_) => format!("network namespace {number}"),
    }
}

/// The schemes that the kernel has, by name.
pub(crate) fn available_schemes() -> Result<Vec<String>, KernelError> {
    let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let text = fs::read_to_string(file).map_err(KernelError::system(format!("read {file}")))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Refuses where the kernel has a scheme of this name.
pub(crate) fn check_name_is_free(scheme: Scheme) -> Result<(), KernelError> {
    let is_taken = available_schemes()?.iter().any(|name| name == scheme.name());
    if is_taken { Err(KernelError::NameTaken(scheme.name())) } else { Ok(()) }
}

/// A user of the scheme as its default, which now uses another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// `the default of network namespace 4026531840`, `the route 10.0.0.0/8 of ...`.
    pub what: String,
    /// The scheme now.
    pub to: String,
}

/// Gives the namespace of the calling thread another default where it is `scheme`, and its routes none.
pub(crate) fn reset(scheme: &str, namespace: &Namespace) -> Result<Vec<Reset>, KernelError> {
    let mut resets = routes::forget(scheme)?
        .into_iter()
        .map(|route| Reset { what: format!("{route} of {}", namespace.name), to: "the default".into() })
        .collect::<Vec<_>>();
    let default = fs::read_to_string(DEFAULT).map_err(KernelError::system(format!("read {DEFAULT}")))?;
    if default.trim() == scheme {
        let allowed = fs::read_to_string(ALLOWED).map_err(KernelError::system(format!("read {ALLOWED}")))?;
        let successor = successor(&allowed);
        fs::write(DEFAULT, successor).map_err(KernelError::system(format!("write {DEFAULT}")))?;
        resets.push(Reset { what: format!("the default of {}", namespace.name), to: successor.into() });
    }
    Ok(resets)
}

/// The replacement of a scheme of ours: CUBIC as in most kernels, else the default that this one was built with or set to; Reno,
/// which every kernel has, where there is nothing else.
fn successor(allowed: &str) -> &str {
    let others = || allowed.split_whitespace().filter(|name| Scheme::named(name).is_none());
    let cubic = others().find(|name| *name == "cubic");
    cubic.or_else(|| others().find(|name| *name != "reno")).unwrap_or("reno")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_allowed_scheme_takes_the_place_of_one_that_goes() {
        assert_eq!(successor("reno bbr cubic cellcc_reminis\n"), "cubic");
        assert_eq!(successor("cellcc_reminis reno bbr\n"), "bbr");
        assert_eq!(successor("reno cellcc_reminis"), "reno");
        assert_eq!(successor(""), "reno");
    }
}

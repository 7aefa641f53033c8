//! Decides whether and how the server serves a request.

use crate::files::{Existing, IncomingFile, SharedFile};
use crate::folder::Folder;
use crate::limits::Lease;
use crate::protocol::Message;
use crate::server::tickets::Issued;
use crate::server::{DataTarget, Shared};
use crate::{
    Direction, MAX_CONNECTIONS, MAX_STREAMS, MIN_INTERVAL, Payload, Request, TransferError, VERSION,
};
use cellcc_control::Scheme;
use cellcc_experiment::Source;
use cellcc_quic::Congestion;
use cellcc_units::Bytes;
use noq::Connection;
use std::net::IpAddr;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

impl Shared {
    /// Accepts a request or refuses it.
    pub(crate) fn agree(&self, request: &Request, peer: IpAddr) -> Result<Agreed, TransferError> {
        check(request)?;
        let scheme = self.scheme(request)?;
        let congestion =
            Congestion::new(scheme).map_err(|error| TransferError::Refused(error.to_string()))?;
        let congestion = congestion.with_rtt_samples();
        let files = self.files(request)?;
        let known = match &files {
            Files::Out(file) => Some(Bytes::new(file.bytes())),
            _ => request.payload.bytes(),
        };
        let connections = u32::from(request.connections);
        let lease = self.ledger.lease(Instant::now(), peer, connections, (known, request.payload.time()))?;
        let place = if matches!(files, Files::None) { None } else { Some(lease.file()?) };
        let random = rustls::crypto::ring::default_provider().secure_random;
        let (sender, arriving) = mpsc::channel(connections as usize);
        let sending = (request.direction == Direction::Get).then(|| congestion.clone());
        let target = DataTarget { congestion: sending, connections: sender };
        let issued = self.tickets.issue(connections as usize, random, &target);
        let issued = issued.ok_or_else(|| TransferError::Refused("the server has no randomness".into()))?;
        Ok(Agreed { congestion, files, lease, issued, arriving, _place: place })
    }

    fn scheme(&self, request: &Request) -> Result<Scheme, TransferError> {
        let Some(text) = &request.scheme else { return Ok(self.settings.scheme.clone()) };
        let scheme = cellcc_schemes::registry()
            .parse(text)
            .map_err(|error| TransferError::Refused(error.to_string()))?;
        let allowed = &self.settings.allowed;
        let name = &*scheme.info().name;
        if request.direction == Direction::Get
            && !allowed.is_empty()
            && !allowed.iter().any(|one| one == name)
        {
            return Err(TransferError::Refused(format!(
                "this server does not send by {name}; it does by {}",
                allowed.join(", ")
            )));
        }
        Ok(scheme)
    }

    fn files(&self, request: &Request) -> Result<Files, TransferError> {
        let Payload::File { name, bytes } = &request.payload else { return Ok(Files::None) };
        let Some(root) = &self.settings.root else {
            return Err(TransferError::Refused(
                "this server has no files; start it with --root FOLDER".into(),
            ));
        };
        let path = Folder::new(root, self.settings.hidden).below(name)?;
        match (request.direction, bytes) {
            (Direction::Get, _) => {
                SharedFile::open(&path).map(Files::Out).map_err(|error| refused(name, error))
            }
            (Direction::Put, _) if !self.settings.takes_files => {
                Err(TransferError::Refused("this server takes no files; start it with --writable".into()))
            }
            (Direction::Put, Some(bytes)) => {
                let file = IncomingFile::create(&path, bytes.get(), Existing::Kept);
                let file = file.map_err(|error| refused(name, error))?;
                Ok(Files::In { file, name: name.clone() })
            }
            (Direction::Put, None) => Err(TransferError::Protocol("a file to put has a size".into())),
        }
    }
}

/// The error of a file, by the name that the client knows it by.
fn refused(name: &str, error: TransferError) -> TransferError {
    match error {
        busy if busy.is_busy() => TransferError::Limit(format!(
            "`{name}`: too many open files at the server (its limit is `ulimit -Hn`); try again in a few seconds"
        )),
        TransferError::File { cause, .. } => TransferError::Refused(format!("`{name}`: {cause}")),
        other => TransferError::Refused(other.to_string()),
    }
}

/// Checks a request against the protocol's bounds.
fn check(request: &Request) -> Result<(), TransferError> {
    let within = |value: u16, most: u16, what: &str| {
        let problem = || TransferError::Refused(format!("{value} {what} are not 1 to {most}"));
        (1..=most).contains(&value).then_some(()).ok_or_else(problem)
    };
    within(request.connections, MAX_CONNECTIONS, "data connections")?;
    within(request.streams, MAX_STREAMS, "streams")?;
    if request.version != VERSION {
        return Err(TransferError::Protocol(format!("version {} is not {VERSION}", request.version)));
    }
    if request.interval < MIN_INTERVAL {
        return Err(TransferError::Refused(format!("an interval is at least {MIN_INTERVAL}")));
    }
    match &request.payload {
        Payload::Made { source: Source::OnOff { .. }, .. } => {
            Err(TransferError::Refused("there are bulk, sized, rate and frames".into()))
        }
        Payload::Made { source: Source::Sized(_), .. } | Payload::File { .. } => Ok(()),
        Payload::Made { time: Some(_), .. } => Ok(()),
        Payload::Made { time: None, .. } => {
            Err(TransferError::Refused("a source without an end needs a duration".into()))
        }
    }
}

/// A request as text for the log.
pub(crate) fn described(request: &Request) -> String {
    let direction = match request.direction {
        Direction::Get => "get",
        Direction::Put => "put",
    };
    let payload = match &request.payload {
        Payload::File { name, .. } => format!("file {name:?}"),
        Payload::Made { source, time: Some(time) } => format!("{source} for {time}"),
        Payload::Made { source, time: None } => source.to_string(),
    };
    match request.connections {
        1 => format!("{direction} {payload}"),
        many => format!("{direction} {payload}, {many} connections"),
    }
}

/// An accepted request.
pub(crate) struct Agreed {
    pub(crate) congestion: Congestion,
    files: Files,
    pub(crate) lease: Lease,
    issued: Issued<DataTarget>,
    pub(crate) arriving: mpsc::Receiver<Connection>,
    _place: Option<OwnedSemaphorePermit>,
}

enum Files {
    None,
    Out(SharedFile),
    In { file: IncomingFile, name: String },
}

impl Agreed {
    pub(crate) fn answer(&self) -> Message {
        Message::Accepted {
            scheme: self.congestion.scheme().text().into(),
            tickets: self.issued.tickets.clone(),
            bytes: match &self.files {
                Files::Out(file) => Some(Bytes::new(file.bytes())),
                Files::None | Files::In { .. } => None,
            },
            software: concat!("cellcc ", env!("CARGO_PKG_VERSION")).into(),
        }
    }

    pub(crate) fn file(&self) -> Option<&SharedFile> {
        match &self.files {
            Files::None => None,
            Files::Out(file) => Some(file),
            Files::In { file, .. } => Some(&file.file),
        }
    }

    /// Gives a file that has arrived its name.
    pub(crate) fn complete_file(&mut self) -> Result<(), TransferError> {
        match std::mem::replace(&mut self.files, Files::None) {
            Files::In { file, name } => file.complete().map_err(|error| refused(&name, error)),
            Files::None | Files::Out(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_learns_no_path_of_the_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        // A folder is no file; and errors once a transfer has begun.
        let opened = refused("name", SharedFile::open(folder.path()).unwrap_err());
        assert_eq!(opened.reason(), "`name`: it is not a file");
        let cause = std::io::ErrorKind::StorageFull.into();
        let full = TransferError::File { act: "write", path: folder.path().join("x"), cause };
        assert!(full.to_string().contains(path) && !full.reason().contains(path), "{}", full.reason());
    }

    /// "Too many open files (os error 24)": whose files, and what to do?
    #[cfg(unix)]
    #[test]
    fn a_client_hears_that_the_server_has_too_many_open_files_and_to_try_again() {
        for code in [23, 24] {
            let cause = std::io::Error::from_raw_os_error(code);
            let error = refused("x", TransferError::File { act: "read", path: "x".into(), cause });
            assert!(matches!(error, TransferError::Limit(_)), "{error:?}");
            let reason = error.reason();
            assert!(
                reason.contains("too many open files at the server") && reason.contains("try again"),
                "{reason}"
            );
        }
    }
}

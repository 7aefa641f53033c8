//! Certificates: an authority of one's own for a first try, the files of one holder, and TLS with both ends authenticated.
//!
//! A holder has a folder with three PEM files: `authority.pem`, `certificate.pem` and `key.pem`.

mod authority;
mod credentials;

pub use authority::Authority;
pub use credentials::Credentials;

use crate::name::{NameError, PeerName, Role};
use cellcc_units::{Bytes, input};
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// The DNS name in a service's certificate. Clients ask for it whatever the address is: only an authority of NetAssist's gives it.
pub const SERVICE_DNS_NAME: &str = "netassist";
/// The largest PEM file.
const MAX_PEM_BYTES: Bytes = Bytes::new(1 << 20);

const AUTHORITY: &str = "authority.pem";
const AUTHORITY_KEY: &str = "authority-key.pem";
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";

/// Why certificates cannot be made or used.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file cannot be read or written.
    #[error("{}: {cause}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        cause: String,
    },
    /// A file of a holder is missing, or none of a certificate or key.
    #[error("{}: {problem}; `cellcc assist certificates` makes such files", .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The certificate names nobody.
    #[error("{}: {source}", .path.display())]
    Name {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        source: NameError,
    },
    /// It is for another role.
    #[error(
        "the certificate is {found}'s, and this needs one of the role `{role}`; `cellcc assist certificates FOLDER --{role} NAME` \
         makes it",
        role = .wanted.name()
    )]
    Role {
        /// Whose it is.
        found: PeerName,
        /// What it should be for.
        wanted: Role,
    },
    /// It cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// TLS does not take it.
    #[error("the certificate or its key cannot be used: {0}")]
    Tls(String),
}

/// The name in a certificate.
pub(crate) fn name_in(certificate: &CertificateDer<'_>) -> Result<PeerName, NameError> {
    let parsed = webpki::EndEntityCert::try_from(certificate).map_err(|_| NameError::Form)?;
    let mut names = parsed.valid_uri_names().map(PeerName::of_uri);
    match (names.next(), names.next()) {
        (Some(name), None) => name,
        _ => Err(NameError::Form),
    }
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("no certificate in PEM form".into()) } else { Ok(roots) }
}

fn bytes(path: &Path) -> Result<Vec<u8>, CertificateError> {
    let failed = |cause: input::InputError| CertificateError::Content {
        path: path.into(),
        problem: cause.to_string(),
    };
    input::read(path, MAX_PEM_BYTES).map_err(failed)
}

fn text(path: &Path) -> Result<String, CertificateError> {
    let failed =
        |cause: input::InputError| CertificateError::File { path: path.into(), cause: cause.to_string() };
    input::read_text(path, MAX_PEM_BYTES).map_err(failed)
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> CertificateError {
    move |cause| CertificateError::File { path: path.into(), cause: cause.to_string() }
}

/// What begins the names of files and folders that are not finished. A process that was killed leaves them, and nobody reads them.
const UNFINISHED: &str = ".unfinished-";

/// A file that is there whole or not at all, whatever ends this process. One that is there already stays, as of another process
/// that was first. Where it is not `public`, only its owner can read it.
fn write_once(path: &Path, text: &str, public: bool) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_of_credentials_is_made_once_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let name = PeerName::new(Role::Server, "video-1").unwrap();
        let authority = Authority::kept_in(folder.path()).unwrap();
        let holder = authority.issue(&name, folder.path()).unwrap();
        assert_eq!(Credentials::load(&holder, Role::Server).unwrap().name(), &name);
        let error = Authority::kept_in(folder.path()).unwrap().issue(&name, folder.path()).unwrap_err();
        assert!(error.to_string().contains("is there already"), "{error}");
        let error = Credentials::load(&holder, Role::User).unwrap_err();
        assert!(error.to_string().contains("server/video-1's"), "{error}");
    }

    /// The key alone was there for ever: `File exists`.
    #[test]
    fn an_authority_that_was_killed_between_its_key_and_its_certificate_is_completed() {
        let folder = tempfile::tempdir().unwrap();
        let name = PeerName::new(Role::Server, "video-1").unwrap();
        let holder = Authority::kept_in(folder.path()).unwrap().issue(&name, folder.path()).unwrap();
        fs::remove_file(folder.path().join(AUTHORITY)).unwrap();
        let again = Authority::kept_in(folder.path()).unwrap();
        let second = again.issue(&PeerName::new(Role::User, "alice").unwrap(), folder.path()).unwrap();
        // Who was certified before is believed by those who are now.
        let [first, second] = [(&holder, Role::Server), (&second, Role::User)]
            .map(|(at, role)| Credentials::load(at, role).unwrap());
        let now = rustls::pki_types::UnixTime::now();
        let believed = second.client_verifier().unwrap().verify_client_cert(first.certificate(), &[], now);
        assert!(believed.is_ok(), "{believed:?}");
    }

    #[test]
    fn what_is_damaged_is_named_with_what_to_do() {
        for (file, text) in [(AUTHORITY, ""), (AUTHORITY_KEY, "")] {
            let folder = tempfile::tempdir().unwrap();
            Authority::kept_in(folder.path()).unwrap();
            fs::write(folder.path().join(file), text).unwrap();
            let error = Authority::kept_in(folder.path()).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains("remove"), "{error}");
        }
    }

    /// One of them used to fail in two rounds of five.
    #[test]
    fn several_at_once_have_one_authority() {
        let folder = tempfile::tempdir().unwrap();
        let issue = |name: String| {
            let authority = Authority::kept_in(folder.path()).unwrap();
            authority.issue(&PeerName::new(Role::Server, &name).unwrap(), folder.path()).unwrap()
        };
        let holders: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|index| scope.spawn(move || issue(format!("video-{index}")))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let verifier = Credentials::load(&holders[0], Role::Server).unwrap().client_verifier().unwrap();
        for holder in holders {
            let holder = Credentials::load(&holder, Role::Server).unwrap();
            let now = rustls::pki_types::UnixTime::now();
            assert!(verifier.verify_client_cert(holder.certificate(), &[], now).is_ok());
        }
        let unfinished = fs::read_dir(folder.path()).unwrap().flatten();
        assert_eq!(unfinished.filter(|file| file.file_name().to_string_lossy().starts_with('.')).count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_keys() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::kept_in(folder.path()).unwrap();
        let holder = authority.issue(&PeerName::new(Role::User, "a").unwrap(), folder.path()).unwrap();
        for key in [folder.path().join(AUTHORITY_KEY), holder.join(KEY)] {
            assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o077, 0, "{}", key.display());
        }
    }
}

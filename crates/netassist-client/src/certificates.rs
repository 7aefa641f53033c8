//! Certificates: the files of one holder, and TLS with both ends authenticated.
//!
//! A holder has a folder with three PEM files: `authority.pem`, `certificate.pem` and `key.pem`.

mod credentials;

pub use credentials::Credentials;

use crate::name::{NameError, PeerName, Role};
use cellcc_units::{Bytes, input};
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// The DNS name in a service's certificate. Clients ask for it whatever the address is: only an authority of NetAssist's gives it.
pub const SERVICE_DNS_NAME: &str = "netassist";
/// The largest PEM file.
pub const MAX_PEM_BYTES: Bytes = Bytes::new(1 << 20);

/// A holder's file with the certificate of the authority that it trusts.
pub const AUTHORITY: &str = "authority.pem";
/// Its file with its own certificate.
pub const CERTIFICATE: &str = "certificate.pem";
/// Its file with its private key.
pub const KEY: &str = "key.pem";

/// Why a certificate cannot be used.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file of a holder is missing, or holds no certificate or key.
    #[error("{}: {problem}; `cellcc assist certificates` makes such files", .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The certificate has no name.
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
        /// Its expected role.
        wanted: Role,
    },
    /// TLS does not take it.
    #[error("the certificate or its key cannot be used: {0}")]
    Tls(String),
}

/// The name in a certificate.
///
/// # Errors
/// It has no name of this service, or several.
pub fn name_in(certificate: &CertificateDer<'_>) -> Result<PeerName, NameError> {
    let parsed = webpki::EndEntityCert::try_from(certificate).map_err(|_| NameError::Form)?;
    let mut names = parsed.valid_uri_names().map(PeerName::of_uri);
    match (names.next(), names.next()) {
        (Some(name), None) => name,
        _ => Err(NameError::Form),
    }
}

/// The cryptography of all connections.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The authorities in a PEM file.
///
/// # Errors
/// The file has no certificate, or an unreadable one.
pub fn roots(pem: &[u8]) -> Result<RootCertStore, String> {
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

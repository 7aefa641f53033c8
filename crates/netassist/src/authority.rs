//! A private authority: it signs certificates, and writes the folder of each holder.

use crate::write_once::write_once;
use cellcc_netassist_client::certificates::{AUTHORITY, CERTIFICATE, KEY, MAX_PEM_BYTES, roots};
use cellcc_netassist_client::{CertificateError, Credentials, PeerName, Role, SERVICE_DNS_NAME};
use cellcc_units::input;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::{DnsName, PrivateKeyDer};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use thiserror::Error;

const AUTHORITY_KEY: &str = "authority-key.pem";
/// Prefix of the names of unfinished folders. A killed process leaves them behind, and they are not read.
const UNFINISHED: &str = ".unfinished-";

/// How long certificates hold: a holder's 90 days, as is usual where they are renewed by programs; the authority's ten years.
const HOLDER_VALIDITY: Duration = Duration::from_secs(90 * 86_400);
const AUTHORITY_VALIDITY: Duration = Duration::from_secs(3650 * 86_400);
/// Clocks of other machines may be this much behind.
const BACKDATED: Duration = Duration::from_secs(3600);

/// Why a certificate cannot be made.
#[derive(Debug, Error)]
pub enum AuthorityError {
    /// A file cannot be read or written.
    #[error("{}: {cause}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's error.
        cause: String,
    },
    /// It cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// It can be made and not be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// An authority that signs the certificates of one NetAssist.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate_pem: String,
}

impl Authority {
    /// The authority in a folder; a new one where there is none. Only the owner can read its key.
    ///
    /// Certificates contain only the authority's name and key, so that a missing certificate of the authority is made again
    /// from the key. Whenever the process ends, the files are whole or can be completed.
    ///
    /// # Errors
    /// The files there hold no authority, or the folder cannot be written.
    pub fn kept_in(folder: &Path) -> Result<Self, AuthorityError> {
        let (certificate, key) = (folder.join(AUTHORITY), folder.join(AUTHORITY_KEY));
        // First: where several begin at once, another one may make both meanwhile, the key before the certificate.
        let has_certificate = certificate.exists();
        if !key.exists() {
            if has_certificate {
                let problem =
                    format!("is there without {AUTHORITY_KEY}: fetch that, or choose another folder");
                return Err(AuthorityError::File { path: certificate, cause: problem });
            }
            make_folder(folder)?;
            write_once(&key, &KeyPair::generate()?.serialize_pem(), false).map_err(file_error(&key))?;
        }
        let damaged =
            |path: &Path, problem: String| AuthorityError::File { path: path.into(), cause: problem };
        let key_pair = KeyPair::from_pem(&text(&key)?).map_err(|error| {
            let problem = format!(
                "{error}; remove it and {AUTHORITY} for a new authority, which has to sign all certificates again"
            );
            damaged(&key, problem)
        })?;
        if !certificate.exists() {
            write_once(&certificate, &certificate_of(&key_pair)?, true).map_err(file_error(&certificate))?;
        }
        let certificate_pem = text(&certificate)?;
        roots(certificate_pem.as_bytes()).map_err(|problem| {
            damaged(&certificate, format!("{problem}; remove it: it is made again from {AUTHORITY_KEY}"))
        })?;
        Ok(Self { issuer: Issuer::new(authority_params(), key_pair), certificate_pem })
    }

    /// An authority in memory.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn new() -> Result<Self, AuthorityError> {
        let key = KeyPair::generate()?;
        let certificate_pem = certificate_of(&key)?;
        Ok(Self { issuer: Issuer::new(authority_params(), key), certificate_pem })
    }

    /// Makes a certificate, valid until `until`.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn sign(&self, name: &PeerName, until: SystemTime) -> Result<Credentials, AuthorityError> {
        let (certificate, key) = self.certificate(name, until)?;
        let roots = roots(self.certificate_pem.as_bytes()).map_err(CertificateError::Tls)?;
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        Ok(Credentials::new(name.clone(), roots, certificate.into(), key))
    }

    /// Makes a certificate that holds for 90 days, and writes the holder's folder, whole or not at all: `ROLE-NAME` in `folder`.
    ///
    /// # Errors
    /// The folder is there already, or cannot be written.
    pub fn issue(&self, name: &PeerName, folder: &Path) -> Result<PathBuf, AuthorityError> {
        let holder = folder.join(format!("{}-{}", name.role().name(), name.name()));
        if holder.exists() {
            let problem = "is there already: remove it to have a new certificate".into();
            return Err(AuthorityError::File { path: holder, cause: problem });
        }
        let (certificate, key) = self.certificate(name, SystemTime::now() + HOLDER_VALIDITY)?;
        make_folder(folder)?;
        let unfinished =
            tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(folder).map_err(file_error(folder))?;
        for (file, text, public) in [
            (KEY, key.serialize_pem(), false),
            (CERTIFICATE, certificate.pem(), true),
            (AUTHORITY, self.certificate_pem.clone(), true),
        ] {
            write_once(&unfinished.path().join(file), &text, public)
                .map_err(file_error(&holder.join(file)))?;
        }
        // Fails where another process was first.
        fs::rename(unfinished.path(), &holder).map_err(file_error(&holder))?;
        let _ = unfinished.keep();
        Ok(holder)
    }

    fn certificate(
        &self,
        name: &PeerName,
        until: SystemTime,
    ) -> Result<(rcgen::Certificate, KeyPair), rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished(&name.to_string());
        params.subject_alt_names.push(SanType::URI(name.uri().try_into()?));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        // A service is a client of its broker, and a broker of the broker that it is a leaf of.
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let hosts = hosts_of(name)?;
        if !hosts.is_empty() {
            params.subject_alt_names.extend(hosts);
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        params.not_before = (SystemTime::now().min(until) - BACKDATED).into();
        params.not_after = until.into();
        let key = KeyPair::generate()?;
        Ok((params.signed_by(&key, &self.issuer)?, key))
    }
}

/// The hosts that clients check in a holder's certificate when they connect to it: for a service also its own name, which
/// browsers use; for a broker the host in its URL.
fn hosts_of(name: &PeerName) -> Result<Vec<SanType>, rcgen::Error> {
    let service = SanType::DnsName(SERVICE_DNS_NAME.try_into()?);
    let host = match (name.name().parse::<IpAddr>(), DnsName::try_from(name.name())) {
        (Ok(address), _) => Some(SanType::IpAddress(address)),
        (Err(_), Ok(host)) => Some(SanType::DnsName(host.as_ref().try_into()?)),
        (Err(_), Err(_)) => None,
    };
    // A broker is no service, whatever its host is called.
    let host = host.filter(|host| *host != service);
    Ok(match name.role() {
        Role::Service => [Some(service), host].into_iter().flatten().collect(),
        Role::Broker => host.into_iter().collect(),
        Role::Server | Role::User | Role::Operator => Vec::new(),
    })
}

/// The authority's own certificate.
fn certificate_of(key: &KeyPair) -> Result<String, rcgen::Error> {
    Ok(authority_params().self_signed(key)?.pem())
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = distinguished("NetAssist authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = (SystemTime::now() - BACKDATED).into();
    params.not_after = (SystemTime::now() + AUTHORITY_VALIDITY).into();
    params
}

fn distinguished(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn make_folder(path: &Path) -> Result<(), AuthorityError> {
    fs::create_dir_all(path).map_err(file_error(path))
}

fn text(path: &Path) -> Result<String, AuthorityError> {
    let failed =
        |cause: input::InputError| AuthorityError::File { path: path.into(), cause: cause.to_string() };
    input::read_text(path, MAX_PEM_BYTES).map_err(failed)
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> AuthorityError {
    move |cause| AuthorityError::File { path: path.into(), cause: cause.to_string() }
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
        // Earlier certificates are valid for later ones.
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

//! Certificates: an authority of one's own for a first try, the files of one holder, and TLS with both ends authenticated.
//!
//! A holder has a folder with three PEM files: `authority.pem`, `certificate.pem` and `key.pem`.

use crate::name::{NameError, PeerName, Role};
use crate::protocol::ALPN;
use cellcc_units::{Bytes, input};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, DnsName, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, version};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// The DNS name in a service's certificate. Clients ask for it whatever the address is: only an authority of NetAssist's gives it.
pub const SERVICE_DNS_NAME: &str = "netassist";
/// How long certificates hold: a holder's 90 days, as is usual where they are renewed by programs; the authority's ten years.
const HOLDER_VALIDITY: Duration = Duration::from_secs(90 * 86_400);
const AUTHORITY_VALIDITY: Duration = Duration::from_secs(3650 * 86_400);
/// Clocks of other machines may be this much behind.
const BACKDATED: Duration = Duration::from_secs(3600);
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

/// An authority that signs the certificates of one NetAssist.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate_pem: String,
}

impl Authority {
    /// The authority in a folder; a new one where there is none. Only the owner can read its key.
    ///
    /// # Errors
    /// The files there hold no authority, or the folder cannot be written.
    pub fn kept_in(folder: &Path) -> Result<Self, CertificateError> {
        let (certificate, key) = (folder.join(AUTHORITY), folder.join(AUTHORITY_KEY));
        if !certificate.exists() {
            let made = authority()?;
            make_folder(folder)?;
            write_private(&key, &made.1.serialize_pem()).map_err(file_error(&key))?;
            write(&certificate, &made.0)?;
        }
        let content = |path: &Path, problem: String| CertificateError::Content { path: path.into(), problem };
        let certificate_pem = text(&certificate)?;
        let key_pair = KeyPair::from_pem(&text(&key)?).map_err(|error| content(&key, error.to_string()))?;
        // Of the authority's certificate only its name and key are in those that it signs.
        Ok(Self { issuer: Issuer::new(authority_params(), key_pair), certificate_pem })
    }

    /// An authority in memory.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn new() -> Result<Self, CertificateError> {
        let (certificate_pem, key) = authority()?;
        Ok(Self { issuer: Issuer::new(authority_params(), key), certificate_pem })
    }

    /// Makes a certificate, valid until `until`.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn sign(&self, name: &PeerName, until: SystemTime) -> Result<Credentials, CertificateError> {
        let (certificate, key) = self.certificate(name, until)?;
        let roots = roots(self.certificate_pem.as_bytes()).map_err(CertificateError::Tls)?;
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        Ok(Credentials { name: name.clone(), roots, chain: vec![certificate.into()], key })
    }

    /// Makes a certificate that holds for 90 days, and writes the holder's folder: `ROLE-NAME` in `folder`.
    ///
    /// # Errors
    /// The folder is there already, or cannot be written.
    pub fn issue(&self, name: &PeerName, folder: &Path) -> Result<PathBuf, CertificateError> {
        let holder = folder.join(format!("{}-{}", name.role().name(), name.name()));
        if holder.exists() {
            let problem = "is there already: remove it to have a new certificate".into();
            return Err(CertificateError::File { path: holder, cause: problem });
        }
        let (certificate, key) = self.certificate(name, SystemTime::now() + HOLDER_VALIDITY)?;
        make_folder(&holder)?;
        let key_file = holder.join(KEY);
        write_private(&key_file, &key.serialize_pem()).map_err(file_error(&key_file))?;
        write(&holder.join(CERTIFICATE), &certificate.pem())?;
        write(&holder.join(AUTHORITY), &self.certificate_pem)?;
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

/// What clients ask a holder's certificate for when they connect to it: of a service also its own name, by which browsers know
/// its host; of a broker the host in its URL.
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

fn authority() -> Result<(String, KeyPair), rcgen::Error> {
    let key = KeyPair::generate()?;
    Ok((authority_params().self_signed(&key)?.pem(), key))
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

/// A holder's certificate and key, and the authority that it trusts.
#[derive(Debug)]
pub struct Credentials {
    name: PeerName,
    roots: RootCertStore,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Clone for Credentials {
    fn clone(&self) -> Self {
        let Self { name, roots, chain, key } = self;
        Self { name: name.clone(), roots: roots.clone(), chain: chain.clone(), key: key.clone_key() }
    }
}

impl Credentials {
    /// The holder's folder, which must be of this role.
    ///
    /// # Errors
    /// A file is missing or none of these, or of another role.
    pub fn load(folder: &Path, role: Role) -> Result<Self, CertificateError> {
        let content = |path: &Path, problem: String| CertificateError::Content { path: path.into(), problem };
        let (authority, certificate, key) =
            (folder.join(AUTHORITY), folder.join(CERTIFICATE), folder.join(KEY));
        let roots = roots(&bytes(&authority)?).map_err(|problem| content(&authority, problem))?;
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&bytes(&certificate)?)
            .collect::<Result<_, _>>()
            .map_err(|error| content(&certificate, error.to_string()))?;
        let Some(first) = chain.first() else {
            return Err(content(&certificate, "no certificate in PEM form".into()));
        };
        let name =
            name_in(first).map_err(|source| CertificateError::Name { path: certificate.clone(), source })?;
        if name.role() != role {
            return Err(CertificateError::Role { found: name, wanted: role });
        }
        let key_text = bytes(&key)?;
        let secret =
            PrivateKeyDer::from_pem_slice(&key_text).map_err(|error| content(&key, error.to_string()))?;
        match CertifiedKey::from_der(chain.clone(), secret.clone_key(), &provider()) {
            Ok(_) => Ok(Self { name, roots, chain, key: secret }),
            Err(rustls::Error::InconsistentKeys(_)) => {
                Err(content(&key, format!("is not the key of {CERTIFICATE}")))
            }
            Err(error) => Err(content(&key, error.to_string())),
        }
    }

    /// Whose they are.
    pub fn name(&self) -> &PeerName {
        &self.name
    }

    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.chain[0]
    }

    pub(crate) fn key(&self) -> &PrivateKeyDer<'static> {
        &self.key
    }

    /// Verifies clients' certificates.
    pub(crate) fn client_verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, CertificateError> {
        WebPkiClientVerifier::builder_with_provider(self.roots.clone().into(), provider())
            .build()
            .map_err(|error| CertificateError::Tls(error.to_string()))
    }

    /// TLS of the service's QUIC.
    pub(crate) fn server_quic(&self) -> Result<QuicServerConfig, CertificateError> {
        let mut tls = self.server_tls(self.client_verifier()?)?;
        tls.alpn_protocols = vec![ALPN.into()];
        QuicServerConfig::try_from(tls).map_err(|error| CertificateError::Tls(error.to_string()))
    }

    /// TLS of the service's HTTPS: programs show a certificate, and browsers have none to show.
    pub(crate) fn server_https(&self) -> Result<rustls::ServerConfig, CertificateError> {
        let verifier = WebPkiClientVerifier::builder_with_provider(self.roots.clone().into(), provider())
            .allow_unauthenticated()
            .build()
            .map_err(|error| CertificateError::Tls(error.to_string()))?;
        let mut tls = self.server_tls(verifier)?;
        tls.alpn_protocols = vec![b"http/1.1".into()];
        Ok(tls)
    }

    fn server_tls(
        &self,
        verifier: Arc<dyn ClientCertVerifier>,
    ) -> Result<rustls::ServerConfig, CertificateError> {
        let mut tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| CertificateError::Tls(error.to_string()))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(|error| CertificateError::Tls(error.to_string()))?;
        // What is sent in the first round trip could be replayed.
        tls.max_early_data_size = 0;
        Ok(tls)
    }

    /// TLS of a client's QUIC.
    pub(crate) fn client_quic(&self) -> Result<QuicClientConfig, CertificateError> {
        let mut tls = self.client_tls()?;
        tls.alpn_protocols = vec![ALPN.into()];
        QuicClientConfig::try_from(tls).map_err(|error| CertificateError::Tls(error.to_string()))
    }

    /// TLS of a client.
    pub(crate) fn client_tls(&self) -> Result<rustls::ClientConfig, CertificateError> {
        rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| CertificateError::Tls(error.to_string()))?
            .with_root_certificates(self.roots.clone())
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())
            .map_err(|error| CertificateError::Tls(error.to_string()))
    }
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

fn make_folder(path: &Path) -> Result<(), CertificateError> {
    fs::create_dir_all(path).map_err(file_error(path))
}

fn write(path: &Path, text: &str) -> Result<(), CertificateError> {
    fs::write(path, text).map_err(file_error(path))
}

/// A file that only the owner can read.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

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

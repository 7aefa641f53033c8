//! An authority of one's own: it signs certificates, and writes the folder of each holder.

use super::{
    AUTHORITY, AUTHORITY_KEY, CERTIFICATE, CertificateError, Credentials, KEY, SERVICE_DNS_NAME, UNFINISHED,
    file_error, roots, text, write_once,
};
use crate::name::{PeerName, Role};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::{DnsName, PrivateKeyDer};
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long certificates hold: a holder's 90 days, as is usual where they are renewed by programs; the authority's ten years.
const HOLDER_VALIDITY: Duration = Duration::from_secs(90 * 86_400);
const AUTHORITY_VALIDITY: Duration = Duration::from_secs(3650 * 86_400);
/// Clocks of other machines may be this much behind.
const BACKDATED: Duration = Duration::from_secs(3600);

/// An authority that signs the certificates of one NetAssist.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate_pem: String,
}

impl Authority {
    /// The authority in a folder; a new one where there is none. Only the owner can read its key.
    ///
    /// Of the authority's certificate only its name and key are in those that it signs, so that a certificate that is missing is
    /// made again from the key. Whenever the process ends, what is there is whole or can be completed.
    ///
    /// # Errors
    /// The files there hold no authority, or the folder cannot be written.
    pub fn kept_in(folder: &Path) -> Result<Self, CertificateError> {
        let (certificate, key) = (folder.join(AUTHORITY), folder.join(AUTHORITY_KEY));
        // First: where several begin at once, another one may make both meanwhile, the key before the certificate.
        let has_certificate = certificate.exists();
        if !key.exists() {
            if has_certificate {
                let problem =
                    format!("is there without {AUTHORITY_KEY}: fetch that, or choose another folder");
                return Err(CertificateError::File { path: certificate, cause: problem });
            }
            make_folder(folder)?;
            write_once(&key, &KeyPair::generate()?.serialize_pem(), false).map_err(file_error(&key))?;
        }
        let damaged =
            |path: &Path, problem: String| CertificateError::File { path: path.into(), cause: problem };
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
    pub fn new() -> Result<Self, CertificateError> {
        let key = KeyPair::generate()?;
        let certificate_pem = certificate_of(&key)?;
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

    /// Makes a certificate that holds for 90 days, and writes the holder's folder, whole or not at all: `ROLE-NAME` in `folder`.
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

fn make_folder(path: &Path) -> Result<(), CertificateError> {
    fs::create_dir_all(path).map_err(file_error(path))
}

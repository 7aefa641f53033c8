//! Certificates, generated or given, and their verification by the other side.

use crate::{ALPN, TransferError};
use cellcc_units::output::WholeFile;
use cellcc_units::{Bytes, input};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ResolvesServerCert, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// The largest PEM file: several times the authorities that an operating system trusts (a quarter of a megabyte).
const MOST_PEM_BYTES: Bytes = Bytes::new(4_000_000);

/// The SHA-256 of a certificate: `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    fn of(certificate: &CertificateDer) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    /// Parses a fingerprint, with or without `sha256:` and colons: `openssl x509 -fingerprint -sha256` prints colons.
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        let digits: String = lower.trim_start_matches("sha256:").chars().filter(|c| *c != ':').collect();
        let mut bytes = [0; 32];
        let whole = digits.len() == 64 && digits.is_ascii();
        let read = bytes.iter_mut().enumerate().try_for_each(|(index, byte)| {
            let pair = digits.get(2 * index..2 * index + 2)?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
            Some(())
        });
        match read {
            Some(()) if whole => Ok(Self(bytes)),
            _ => {
                Err("a fingerprint is `sha256:` and 64 hexadecimal digits; `cellcc serve` prints its own"
                    .into())
            }
        }
    }
}

/// A certificate chain and its key.
#[derive(Debug)]
pub struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    /// True if cellcc has made it, and signed it by its own key.
    pub(crate) is_made: bool,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self { chain: self.chain.clone(), key: self.key.clone_key(), is_made: self.is_made }
    }
}

impl Identity {
    /// A new, self-signed one.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn made() -> Result<Self, TransferError> {
        let made = make()?;
        Ok(Self {
            chain: vec![made.cert.into()],
            key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
            is_made: true,
        })
    }

    /// Reads PEM files.
    ///
    /// # Errors
    /// A file cannot be read, or has no certificate or no key.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TransferError> {
        let key = PrivateKeyDer::from_pem_slice(&pem(key)?).map_err(|error| {
            TransferError::Input(format!("{}: no private key in PEM form: {error}", key.display()))
        })?;
        Ok(Self { chain: certificates(certificate)?, key, is_made: false })
    }

    /// The identity stored in a folder. If there is none, it is generated and stored; only the owner can read its key. If
    /// several servers start at once, one generates it, and all use that one.
    ///
    /// # Errors
    /// The files there hold no identity, or the folder cannot be written.
    pub fn kept_in(folder: &Path) -> Result<Self, TransferError> {
        let (certificate, key) = (folder.join("server.pem"), folder.join("server-key.pem"));
        let is_kept = || certificate.exists() && key.exists();
        let load = || Ok(Self { is_made: true, ..Self::load(&certificate, &key)? });
        if is_kept() {
            return load();
        }
        let failed = |cause| TransferError::File { act: "write", path: folder.into(), cause };
        let lock = || {
            fs::create_dir_all(folder)?;
            let lock = fs::File::create(folder.join("server.lock"))?;
            lock.lock().map(|()| lock)
        };
        let _lock = lock().map_err(failed)?;
        if !is_kept() {
            let made = make()?;
            let keep = || {
                keep_private(&key, &made.signing_key.serialize_pem())?;
                // The certificate last: with it, both are there and whole.
                keep_private(&certificate, &made.cert.pem())
            };
            keep().map_err(failed)?;
        }
        load()
    }

    /// The fingerprint of its certificate.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.chain[0])
    }
}

fn make() -> Result<rcgen::CertifiedKey<rcgen::KeyPair>, TransferError> {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).map_err(|error| {
        TransferError::Input(format!("cannot make a certificate: {error}; give --cert and --key"))
    })
}

/// Writes a file that only its owner can read, in one step.
fn keep_private(path: &Path, text: &str) -> io::Result<()> {
    WholeFile::private(path)?.fill(|out| out.write_all(text.as_bytes()))
}

/// The content of a PEM file.
fn pem(path: &Path) -> Result<Vec<u8>, TransferError> {
    input::read(path, MOST_PEM_BYTES)
        .map_err(|error| TransferError::Input(format!("{}: {error}", path.display())))
}

/// The certificates of a PEM file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TransferError> {
    let content = pem(path)?;
    match CertificateDer::pem_slice_iter(&content).collect::<Result<Vec<_>, _>>() {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(TransferError::Input(format!("{}: no certificate in PEM form", path.display()))),
        Err(error) => Err(TransferError::Input(format!("{}: {error}", path.display()))),
    }
}

fn authorities(path: &Path) -> Result<RootCertStore, TransferError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| TransferError::Input(format!("{}: {error}", path.display())))?;
    }
    Ok(roots)
}

/// The server certificates that a client accepts.
#[derive(Debug, Clone)]
pub enum Trust {
    /// The one with this fingerprint.
    Pin(Fingerprint),
    /// Certificates for the server's name, signed by an authority in a PEM file.
    Authorities(PathBuf),
    /// All. Anyone on the path can then pose as the server.
    Anyone,
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub(crate) fn unusable(error: impl fmt::Display) -> TransferError {
    TransferError::Input(format!("the certificate or its key cannot be used: {error}"))
}

/// TLS for a server, whose certificates `resolver` chooses. With `client_authorities` a client needs a certificate that one of
/// them signed.
pub(crate) fn server_crypto(
    resolver: Arc<dyn ResolvesServerCert>,
    client_authorities: Option<&Path>,
    has_http: bool,
) -> Result<QuicServerConfig, TransferError> {
    let builder = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(unusable)?;
    let builder = match client_authorities {
        Some(path) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(authorities(path)?.into(), provider());
            let verifier = verifier
                .build()
                .map_err(|error| TransferError::Input(format!("{}: {error}", path.display())))?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let mut tls = builder.with_cert_resolver(resolver);
    tls.alpn_protocols = vec![ALPN.into()];
    if has_http {
        tls.alpn_protocols.push(cellcc_http3::ALPN.into());
    }
    QuicServerConfig::try_from(tls).map_err(unusable)
}

/// TLS for a client, and the record of a refused server certificate.
pub(crate) fn client_crypto(
    trust: &Trust,
    identity: Option<&Identity>,
) -> Result<(QuicClientConfig, Arc<Presented>), TransferError> {
    let presented = Arc::new(Presented::default());
    let builder = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(unusable)?;
    let pinned = |pin| Verifier { pin, provider: provider(), presented: Arc::clone(&presented) };
    let builder = match trust {
        Trust::Authorities(path) => builder.with_root_certificates(authorities(path)?),
        Trust::Pin(pin) => builder.dangerous().with_custom_certificate_verifier(Arc::new(pinned(Some(*pin)))),
        Trust::Anyone => builder.dangerous().with_custom_certificate_verifier(Arc::new(pinned(None))),
    };
    let mut tls = match identity.cloned() {
        Some(Identity { chain, key, .. }) => builder.with_client_auth_cert(chain, key).map_err(unusable)?,
        None => builder.with_no_client_auth(),
    };
    tls.alpn_protocols = vec![ALPN.into()];
    Ok((QuicClientConfig::try_from(tls).map_err(unusable)?, presented))
}

/// The fingerprint of a certificate that was refused.
#[derive(Debug, Default)]
pub(crate) struct Presented(Mutex<Option<Fingerprint>>);

impl Presented {
    pub(crate) fn refused(&self) -> Option<Fingerprint> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Accepts the certificate with the pinned fingerprint, or any. The server must prove in both cases that it has the key.
#[derive(Debug)]
struct Verifier {
    pin: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
    presented: Arc<Presented>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let fingerprint = Fingerprint::of(end_entity);
        if self.pin.is_some_and(|pin| pin != fingerprint) {
            *self.presented.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(fingerprint);
            return Err(rustls::CertificateError::ApplicationVerificationFailure.into());
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_servers_that_start_at_once_each_has_the_identity_that_is_kept() {
        // One served a certificate that another one then replaced: the pin that it printed held until its restart.
        for _ in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("new");
            let all = std::thread::scope(|scope| {
                let start = || scope.spawn(|| Identity::kept_in(&path).unwrap().fingerprint());
                let started: Vec<_> = (0..8).map(|_| start()).collect();
                started.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
            });
            let kept = Identity::kept_in(&path).unwrap().fingerprint();
            assert!(all.iter().all(|one| *one == kept), "{all:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_a_kept_key_and_half_an_identity_is_made_anew() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let first = Identity::kept_in(folder.path()).unwrap().fingerprint();
        let key = folder.path().join("server-key.pem");
        assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        // As a server leaves it that is killed between the two files.
        fs::remove_file(folder.path().join("server.pem")).unwrap();
        assert_ne!(Identity::kept_in(folder.path()).unwrap().fingerprint(), first);
    }

    #[test]
    fn a_fingerprint_reads_back_in_each_form() {
        let fingerprint = Identity::made().unwrap().fingerprint();
        let text = fingerprint.to_string();
        let digits = text.trim_start_matches("sha256:").to_uppercase();
        let pairs: Vec<_> = digits.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap()).collect();
        for form in [text.clone(), digits.clone(), pairs.join(":")] {
            assert_eq!(form.parse(), Ok(fingerprint), "{form}");
        }
        assert!(text[..40].parse::<Fingerprint>().is_err());
        assert!("é".repeat(32).parse::<Fingerprint>().is_err());
    }
}

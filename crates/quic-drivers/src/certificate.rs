//! TLS for two ends in one process: a certificate made for the run, and a client that trusts it.

use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, SerialNumber};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::error::Error;
use std::sync::Arc;

/// The name in the certificate.
pub(crate) const SERVER_NAME: &str = "cellcc";

/// TLS settings of both ends.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) server: Arc<QuicServerConfig>,
    pub(crate) client: Arc<QuicClientConfig>,
}

impl Tls {
    /// Makes a certificate. Keys are random, lengths are not, so that handshakes have the same packets in every run:
    /// Ed25519 signatures are 64 bytes (RFC 8032), and the serial number is fixed.
    pub(crate) fn new() -> Result<Self, Box<dyn Error + Send + Sync>> {
        let key = KeyPair::generate_for(&PKCS_ED25519)?;
        let mut params = CertificateParams::new([SERVER_NAME.to_owned()])?;
        params.serial_number = Some(SerialNumber::from(1_u64));
        let certificate = CertificateDer::from(params.self_signed(&key)?);
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)?;
        let mut roots = RootCertStore::empty();
        roots.add(certificate)?;
        let client = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            server: Arc::new(QuicServerConfig::try_from(server)?),
            client: Arc::new(QuicClientConfig::try_from(client)?),
        })
    }
}

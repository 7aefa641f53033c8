//! TLS for two ends in one process: a certificate made for the run, trusted by its receivers.

use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::error::Error;
use std::sync::Arc;

/// The name in the certificate.
pub(super) const NAME: &str = "localhost";

/// What both ends present and trust.
pub(super) struct Tls {
    pub(super) server: Arc<QuicServerConfig>,
    pub(super) client: Arc<QuicClientConfig>,
}

impl Tls {
    /// Makes a certificate.
    pub(super) fn new() -> Result<Self, Box<dyn Error>> {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
        let certificate = CertificateDer::from(made.cert);
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
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

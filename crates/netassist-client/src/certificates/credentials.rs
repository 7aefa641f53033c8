//! A holder's files, and the TLS of each connection that is made with them.

use super::{AUTHORITY, CERTIFICATE, CertificateError, KEY, bytes, name_in, provider, roots};
use crate::name::{PeerName, Role};
use crate::protocol::ALPN;
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, version};
use std::path::Path;
use std::sync::Arc;

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

    /// Those of this holder, who trusts these authorities.
    pub fn new(
        name: PeerName,
        roots: RootCertStore,
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Self {
        Self { name, roots, chain: vec![certificate], key }
    }

    /// Whose they are.
    pub fn name(&self) -> &PeerName {
        &self.name
    }

    /// The holder's certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.chain[0]
    }

    /// The holder's private key.
    pub fn key(&self) -> &PrivateKeyDer<'static> {
        &self.key
    }

    /// Verifies clients' certificates.
    ///
    /// # Errors
    /// TLS does not take it.
    pub fn client_verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, CertificateError> {
        WebPkiClientVerifier::builder_with_provider(self.roots.clone().into(), provider())
            .build()
            .map_err(|error| CertificateError::Tls(error.to_string()))
    }

    /// TLS of the service's QUIC.
    ///
    /// # Errors
    /// TLS does not take it.
    pub fn server_quic(&self) -> Result<QuicServerConfig, CertificateError> {
        let mut tls = self.server_tls(self.client_verifier()?)?;
        tls.alpn_protocols = vec![ALPN.into()];
        QuicServerConfig::try_from(tls).map_err(|error| CertificateError::Tls(error.to_string()))
    }

    /// TLS of the service's HTTPS: programs show a certificate, and browsers have none to show.
    ///
    /// # Errors
    /// TLS does not take it.
    pub fn server_https(&self) -> Result<rustls::ServerConfig, CertificateError> {
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
        // Data in the first round trip could be replayed.
        tls.max_early_data_size = 0;
        Ok(tls)
    }

    /// TLS of a client's QUIC.
    ///
    /// # Errors
    /// TLS does not take it.
    pub fn client_quic(&self) -> Result<QuicClientConfig, CertificateError> {
        let mut tls = self.client_tls()?;
        tls.alpn_protocols = vec![ALPN.into()];
        QuicClientConfig::try_from(tls).map_err(|error| CertificateError::Tls(error.to_string()))
    }

    /// TLS of a client.
    ///
    /// # Errors
    /// TLS does not take it.
    pub fn client_tls(&self) -> Result<rustls::ClientConfig, CertificateError> {
        rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| CertificateError::Tls(error.to_string()))?
            .with_root_certificates(self.roots.clone())
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())
            .map_err(|error| CertificateError::Tls(error.to_string()))
    }
}

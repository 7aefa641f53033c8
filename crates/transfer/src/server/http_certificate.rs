//! The certificate that HTTP's clients see.
//!
//! Where the server has made its own, they get another one of the same key, for 13 days: browsers take none by its hash that is
//! valid for longer than two weeks (W3C WebTransport, `serverCertificateHashes`). `cellcc get` goes on to see the one that it has pinned.

use crate::TransferError;
use crate::certificates::{Identity, provider, unusable};
use base64::prelude::{BASE64_STANDARD, Engine};
use cellcc_http3::ALPN;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(86_400);
/// From a day before it is made, since clocks differ.
const VALID_AFTER: u32 = 12;

/// Chooses the certificate by the protocols that a client offers.
#[derive(Debug)]
pub(crate) struct ByProtocol {
    identity: Identity,
    key: Arc<dyn SigningKey>,
    transfers: Arc<CertifiedKey>,
    /// Made again each day.
    http: Mutex<(SystemTime, Arc<CertifiedKey>)>,
}

impl ByProtocol {
    pub(crate) fn new(identity: &Identity) -> Result<Self, TransferError> {
        let Identity { chain, key, .. } = identity.clone();
        let transfers = Arc::new(CertifiedKey::from_der(chain, key, &provider()).map_err(unusable)?);
        let key = Arc::clone(&transfers.key);
        let now = SystemTime::now();
        let http = if identity.is_made { short_lived(identity, &key, now)? } else { Arc::clone(&transfers) };
        Ok(Self { identity: identity.clone(), key, transfers, http: Mutex::new((now, http)) })
    }

    fn for_http(&self, now: SystemTime) -> Arc<CertifiedKey> {
        let mut kept = self.http.lock().unwrap_or_else(PoisonError::into_inner);
        if self.identity.is_made
            && now.duration_since(kept.0).unwrap_or(DAY) >= DAY
            && let Ok(made) = short_lived(&self.identity, &self.key, now)
        {
            *kept = (now, made);
        }
        Arc::clone(&kept.1)
    }
}

impl ResolvesServerCert for ByProtocol {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let is_http = hello.alpn().is_some_and(|mut offered| offered.any(|protocol| protocol == ALPN));
        Some(if is_http { self.for_http(SystemTime::now()) } else { Arc::clone(&self.transfers) })
    }
}

fn short_lived(
    identity: &Identity,
    key: &Arc<dyn SigningKey>,
    now: SystemTime,
) -> Result<Arc<CertifiedKey>, TransferError> {
    let make = || {
        let pair = rcgen::KeyPair::try_from(&identity.key)?;
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let mut parameters = rcgen::CertificateParams::new(names)?;
        parameters.not_before = (now - DAY).into();
        parameters.not_after = (now + DAY * VALID_AFTER).into();
        parameters.self_signed(&pair)
    };
    let certificate = make().map_err(unusable)?;
    Ok(Arc::new(CertifiedKey::new(vec![certificate.into()], Arc::clone(key))))
}

impl Identity {
    /// The SHA-256 of its public key in base64, as Chromium's `--ignore-certificate-errors-spki-list` wants it.
    ///
    /// # Errors
    /// The key cannot be used.
    pub fn key_hash(&self) -> Result<String, TransferError> {
        let key = provider().key_provider.load_private_key(self.key.clone_key()).map_err(unusable)?;
        let public = key.public_key().ok_or_else(|| unusable("it shows no public key"))?;
        Ok(BASE64_STANDARD.encode(Sha256::digest(&public)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::SignatureScheme;

    #[test]
    fn a_certificate_for_http_is_of_the_same_key_and_made_again_each_day() {
        let identity = Identity::made().unwrap();
        let chosen = ByProtocol::new(&identity).unwrap();
        let now = SystemTime::now();
        let first = chosen.for_http(now);
        assert_eq!(first.cert, chosen.for_http(now).cert);
        assert_ne!(first.cert, chosen.transfers.cert);
        let later = chosen.for_http(now + DAY);
        assert_ne!(first.cert, later.cert);
        first.keys_match().unwrap();
        later.keys_match().unwrap();
        assert!(later.key.choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256]).is_some());
    }

    #[test]
    fn a_certificate_that_was_given_is_shown_to_all() {
        let given = Identity { is_made: false, ..Identity::made().unwrap() };
        let chosen = ByProtocol::new(&given).unwrap();
        assert_eq!(chosen.for_http(SystemTime::now() + 30 * DAY).cert, chosen.transfers.cert);
    }
}

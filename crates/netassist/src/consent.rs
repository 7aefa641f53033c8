//! A user's signed consent: this server may be told about me, until then.
//!
//! In base64 for URLs: version 1 (1 byte) | end in seconds since 1970 (8, big-endian) | server's name (1 byte of length, text) |
//! the user's certificate (2 bytes of length, DER) | ECDSA P-256 with SHA-256 over all before, after a prefix of ours.

use crate::certificates::{CertificateError, Credentials, name_in, provider};
use crate::name::{PeerName, Role};
use crate::service::Consent;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cellcc_units::{Span, Time};
use rustls::SignatureScheme;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

const VERSION: u8 = 1;
/// What is signed is of use nowhere else.
const PREFIX: &[u8] = b"cellcc netassist consent\0";
/// The longest consent. Ours: a month; a user who wants it longer signs again.
pub const MAX_CONSENT: Span = Span::from_secs(31 * 86_400);

/// Why a consent is not believed. A client is told only that it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConsentError {
    /// It is not of this form.
    #[error("no consent")]
    Form,
    /// The certificate in it is not of a user of ours.
    #[error("its certificate is not a user's of this NetAssist")]
    Certificate,
    /// The user has not signed this.
    #[error("its signature is wrong")]
    Signature,
    /// It is for longer than may be.
    #[error("it is for more than 31 days")]
    TooLong,
}

/// Signs that this server may be told until `until_unix`, in seconds since 1970.
///
/// # Errors
/// The key is not of ECDSA P-256.
pub fn sign(user: &Credentials, server: &PeerName, until_unix: u64) -> Result<String, CertificateError> {
    let failed = |problem: String| CertificateError::Tls(problem);
    let certificate = user.certificate().as_ref();
    let length =
        u16::try_from(certificate.len()).map_err(|_| failed("the certificate has over 64 kB".into()))?;
    let name = server.name().as_bytes();
    let mut token = vec![VERSION];
    token.extend(until_unix.to_be_bytes());
    token.push(u8::try_from(name.len()).map_err(|_| failed("the server's name is too long".into()))?);
    token.extend(name);
    token.extend(length.to_be_bytes());
    token.extend(certificate);
    let key = provider().key_provider.load_private_key(user.key().clone_key());
    let signer = key
        .map_err(|error| failed(error.to_string()))?
        .choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256])
        .ok_or_else(|| {
            failed("a consent is signed with ECDSA P-256, and the key is of another kind".into())
        })?;
    let signature = signer.sign(&[PREFIX, &token].concat()).map_err(|error| failed(error.to_string()))?;
    token.extend(signature);
    Ok(URL_SAFE_NO_PAD.encode(token))
}

/// What is in a consent, before anything of it is believed.
#[derive(Debug, PartialEq, Eq)]
struct Token<'a> {
    until_unix: u64,
    server: PeerName,
    certificate: &'a [u8],
    signature: &'a [u8],
    signed: &'a [u8],
}

fn parse(bytes: &[u8]) -> Result<Token<'_>, ConsentError> {
    let mut reader = Reader(bytes);
    if reader.take(1)? != [VERSION] {
        return Err(ConsentError::Form);
    }
    let until = reader.take(8)?.try_into().map_err(|_| ConsentError::Form)?;
    let name_length = reader.take(1)?[0];
    let name = str::from_utf8(reader.take(name_length.into())?).map_err(|_| ConsentError::Form)?;
    let server = PeerName::new(Role::Server, name).map_err(|_| ConsentError::Form)?;
    let length: [u8; 2] = reader.take(2)?.try_into().map_err(|_| ConsentError::Form)?;
    let certificate = reader.take(u16::from_be_bytes(length).into())?;
    let signature = reader.0;
    let signed = &bytes[..bytes.len() - signature.len()];
    Ok(Token { until_unix: u64::from_be_bytes(until), server, certificate, signature, signed })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ConsentError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(ConsentError::Form)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// Decides whether a consent is what its user has signed.
#[derive(Debug)]
pub struct ConsentVerifier(Arc<dyn ClientCertVerifier>);

impl ConsentVerifier {
    /// Believes the users that the service's authority has certified.
    ///
    /// # Errors
    /// The authority cannot be used.
    pub fn new(service: &Credentials) -> Result<Self, CertificateError> {
        Ok(Self(service.client_verifier()?))
    }

    /// What the user has signed. `now`: since 1970.
    ///
    /// # Errors
    /// It is not to be believed.
    pub fn verify(&self, now: Time, text: &str) -> Result<Consent, ConsentError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| ConsentError::Form)?;
        let token = parse(&bytes)?;
        let certificate = CertificateDer::from(token.certificate);
        let unix = UnixTime::since_unix_epoch(Duration::from_nanos(now.as_nanos()));
        self.0.verify_client_cert(&certificate, &[], unix).map_err(|_| ConsentError::Certificate)?;
        let user = name_in(&certificate).map_err(|_| ConsentError::Certificate)?;
        if user.role() != Role::User {
            return Err(ConsentError::Certificate);
        }
        let parsed = webpki::EndEntityCert::try_from(&certificate).map_err(|_| ConsentError::Certificate)?;
        let message = [PREFIX, token.signed].concat();
        parsed
            .verify_signature(webpki::ring::ECDSA_P256_SHA256, &message, token.signature)
            .map_err(|_| ConsentError::Signature)?;
        let nanos = token.until_unix.checked_mul(1_000_000_000).ok_or(ConsentError::TooLong)?;
        let until = Time::from_nanos(nanos);
        if until.since(now) > MAX_CONSENT {
            return Err(ConsentError::TooLong);
        }
        Ok(Consent { user, server: token.server, until })
    }
}

/// For the fuzzer: reads a consent as if it had just been decoded.
#[doc(hidden)]
pub fn parse_for_fuzzing(bytes: &[u8]) -> bool {
    parse(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::Authority;
    use proptest::prelude::*;
    use std::time::SystemTime;

    fn unix_now() -> u64 {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
    }

    fn at(unix: u64) -> Time {
        Time::from_nanos(unix * 1_000_000_000)
    }

    fn name(role: Role, text: &str) -> PeerName {
        PeerName::new(role, text).unwrap()
    }

    fn credentials(authority: &Authority, role: Role, text: &str) -> Credentials {
        authority.sign(&name(role, text), SystemTime::now() + Duration::from_secs(86_400)).unwrap()
    }

    fn signed(until_unix: u64) -> (ConsentVerifier, String) {
        let authority = Authority::new().unwrap();
        let verifier = ConsentVerifier::new(&credentials(&authority, Role::Service, "edge")).unwrap();
        let user = credentials(&authority, Role::User, "alice");
        (verifier, sign(&user, &name(Role::Server, "video-1"), until_unix).unwrap())
    }

    #[test]
    fn what_a_user_has_signed_is_believed() {
        let now = unix_now();
        let (verifier, token) = signed(now + 3600);
        let consent = verifier.verify(at(now), &token).unwrap();
        assert_eq!(
            (consent.user, consent.server),
            (name(Role::User, "alice"), name(Role::Server, "video-1"))
        );
        assert_eq!(consent.until, at(now + 3600));
    }

    #[test]
    fn nothing_in_it_can_be_changed() {
        let now = unix_now();
        let (verifier, token) = signed(now + 3600);
        let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
        for at_byte in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at_byte] ^= 1;
            let result = verifier.verify(at(now), &URL_SAFE_NO_PAD.encode(&changed));
            assert!(result.is_err(), "byte {at_byte} of {}", bytes.len());
        }
    }

    #[test]
    fn a_stranger_a_server_and_an_expired_user_cannot_consent() {
        let now = unix_now();
        let (verifier, _) = signed(now);
        let server = name(Role::Server, "video-1");
        let stranger = credentials(&Authority::new().unwrap(), Role::User, "alice");
        let token = sign(&stranger, &server, now + 10).unwrap();
        assert_eq!(verifier.verify(at(now), &token), Err(ConsentError::Certificate));

        let authority = Authority::new().unwrap();
        let verifier = ConsentVerifier::new(&credentials(&authority, Role::Service, "edge")).unwrap();
        let token = sign(&credentials(&authority, Role::Server, "video-1"), &server, now + 10).unwrap();
        assert_eq!(verifier.verify(at(now), &token), Err(ConsentError::Certificate));
        let expired = SystemTime::now() - Duration::from_secs(60);
        let token =
            sign(&authority.sign(&name(Role::User, "alice"), expired).unwrap(), &server, now + 10).unwrap();
        assert_eq!(verifier.verify(at(now), &token), Err(ConsentError::Certificate));
    }

    #[test]
    fn a_consent_for_years_is_refused() {
        let now = unix_now();
        let (verifier, token) = signed(now + 365 * 86_400);
        assert_eq!(verifier.verify(at(now), &token), Err(ConsentError::TooLong));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}

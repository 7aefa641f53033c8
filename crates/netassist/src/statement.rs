//! A text that a holder of a certificate signs without a connection, and that names who may do something, and until when.
//!
//! In base64 for URLs: version 1 (1 byte) | end in seconds since 1970 (8, big-endian) | the name of who may (1 byte of length,
//! text) | the signer's certificate (2 bytes of length, DER) | ECDSA P-256 with SHA-256 over all before, after a prefix of ours
//! that says what the text is for.

use crate::certificates::{CertificateError, Credentials, name_in, provider};
use crate::name::{PeerName, Role};
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

/// What a text is for.
#[derive(Debug)]
pub(crate) struct Purpose {
    /// What is signed is of use nowhere else.
    pub(crate) prefix: &'static [u8],
    /// Who signs.
    pub(crate) signer: Role,
    /// Who is named.
    pub(crate) named: Role,
    /// For how long at most.
    pub(crate) longest: Span,
}

/// What was signed, after it was found right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) signer: PeerName,
    pub(crate) named: PeerName,
    /// Since 1970.
    pub(crate) until: Time,
}

/// Why a signed text is not believed. A client is told only that it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum StatementError {
    /// It is not of this form.
    #[error("no signed text of NetAssist's")]
    Form,
    /// The certificate in it is not of somebody who may sign this.
    #[error("its certificate is not one of this NetAssist whose holder may sign this")]
    Certificate,
    /// The holder of the certificate has not signed this.
    #[error("its signature is wrong")]
    Signature,
    /// It is for longer than may be.
    #[error("it is for longer than may be")]
    TooLong,
    /// Its time is over.
    #[error("its time is over")]
    Over,
}

impl Purpose {
    /// Signs that `named` may, until `until_unix`, in seconds since 1970.
    ///
    /// # Errors
    /// The key is not of ECDSA P-256.
    pub(crate) fn sign(
        &self,
        signer: &Credentials,
        named: &PeerName,
        until_unix: u64,
    ) -> Result<String, CertificateError> {
        let failed = |problem: String| CertificateError::Tls(problem);
        let certificate = signer.certificate().as_ref();
        let length =
            u16::try_from(certificate.len()).map_err(|_| failed("the certificate has over 64 kB".into()))?;
        let name = named.name().as_bytes();
        let mut text = vec![VERSION];
        text.extend(until_unix.to_be_bytes());
        text.push(u8::try_from(name.len()).map_err(|_| failed("the name is too long".into()))?);
        text.extend(name);
        text.extend(length.to_be_bytes());
        text.extend(certificate);
        let key = provider().key_provider.load_private_key(signer.key().clone_key());
        let key = key
            .map_err(|error| failed(error.to_string()))?
            .choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256])
            .ok_or_else(|| {
                failed("texts are signed with ECDSA P-256, and the key is of another kind".into())
            })?;
        let signature =
            key.sign(&[self.prefix, &text].concat()).map_err(|error| failed(error.to_string()))?;
        text.extend(signature);
        Ok(URL_SAFE_NO_PAD.encode(text))
    }
}

/// What is in a text, before anything of it is believed.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    until_unix: u64,
    named: PeerName,
    certificate: &'a [u8],
    signature: &'a [u8],
    signed: &'a [u8],
}

fn parse(bytes: &[u8], named: Role) -> Result<Parts<'_>, StatementError> {
    let mut reader = Reader(bytes);
    if reader.take(1)? != [VERSION] {
        return Err(StatementError::Form);
    }
    let until = reader.take(8)?.try_into().map_err(|_| StatementError::Form)?;
    let name_length = reader.take(1)?[0];
    let name = str::from_utf8(reader.take(name_length.into())?).map_err(|_| StatementError::Form)?;
    let named = PeerName::new(named, name).map_err(|_| StatementError::Form)?;
    let length: [u8; 2] = reader.take(2)?.try_into().map_err(|_| StatementError::Form)?;
    let certificate = reader.take(u16::from_be_bytes(length).into())?;
    let signature = reader.0;
    let signed = &bytes[..bytes.len() - signature.len()];
    Ok(Parts { until_unix: u64::from_be_bytes(until), named, certificate, signature, signed })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], StatementError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(StatementError::Form)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// Decides whether a text is what a holder of a certificate has signed.
#[derive(Debug, Clone)]
pub(crate) struct Verifier(Arc<dyn ClientCertVerifier>);

impl Verifier {
    /// Believes those whom the service's authority has certified.
    ///
    /// # Errors
    /// The authority cannot be used.
    pub(crate) fn new(service: &Credentials) -> Result<Self, CertificateError> {
        Ok(Self(service.client_verifier()?))
    }

    /// What was signed for this purpose, and still holds. `now`: since 1970.
    ///
    /// # Errors
    /// It is not to be believed.
    pub(crate) fn verify(
        &self,
        now: Time,
        purpose: &Purpose,
        text: &str,
    ) -> Result<Statement, StatementError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| StatementError::Form)?;
        let parts = parse(&bytes, purpose.named)?;
        let certificate = CertificateDer::from(parts.certificate);
        let unix = UnixTime::since_unix_epoch(Duration::from_nanos(now.as_nanos()));
        self.0.verify_client_cert(&certificate, &[], unix).map_err(|_| StatementError::Certificate)?;
        let signer = name_in(&certificate).map_err(|_| StatementError::Certificate)?;
        if signer.role() != purpose.signer {
            return Err(StatementError::Certificate);
        }
        let parsed =
            webpki::EndEntityCert::try_from(&certificate).map_err(|_| StatementError::Certificate)?;
        let message = [purpose.prefix, parts.signed].concat();
        parsed
            .verify_signature(webpki::ring::ECDSA_P256_SHA256, &message, parts.signature)
            .map_err(|_| StatementError::Signature)?;
        let nanos = parts.until_unix.checked_mul(1_000_000_000).ok_or(StatementError::TooLong)?;
        let until = Time::from_nanos(nanos);
        if until <= now {
            return Err(StatementError::Over);
        }
        if until.since(now) > purpose.longest {
            return Err(StatementError::TooLong);
        }
        Ok(Statement { signer, named: parts.named, until })
    }
}

/// For the fuzzer: reads a text as if it had just been decoded.
#[doc(hidden)]
pub fn parse_for_fuzzing(bytes: &[u8]) -> bool {
    parse(bytes, Role::Server).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::Authority;
    use crate::consent::CONSENT;
    use crate::pass::PASS;
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

    fn signed(until_unix: u64) -> (Verifier, String) {
        let authority = Authority::new().unwrap();
        let verifier = Verifier::new(&credentials(&authority, Role::Service, "edge")).unwrap();
        let user = credentials(&authority, Role::User, "alice");
        (verifier, CONSENT.sign(&user, &name(Role::Server, "video-1"), until_unix).unwrap())
    }

    #[test]
    fn what_a_user_has_signed_is_believed_until_its_end() {
        let now = unix_now();
        let (verifier, text) = signed(now + 3600);
        let statement = verifier.verify(at(now), &CONSENT, &text).unwrap();
        assert_eq!(
            (statement.signer, statement.named),
            (name(Role::User, "alice"), name(Role::Server, "video-1"))
        );
        assert_eq!(statement.until, at(now + 3600));
        assert_eq!(verifier.verify(at(now + 3600), &CONSENT, &text), Err(StatementError::Over));
    }

    #[test]
    fn nothing_in_it_can_be_changed() {
        let now = unix_now();
        let (verifier, text) = signed(now + 3600);
        let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        for at_byte in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at_byte] ^= 1;
            let result = verifier.verify(at(now), &CONSENT, &URL_SAFE_NO_PAD.encode(&changed));
            assert!(result.is_err(), "byte {at_byte} of {}", bytes.len());
        }
    }

    #[test]
    fn a_stranger_another_role_and_an_expired_certificate_sign_nothing() {
        let now = unix_now();
        let server = name(Role::Server, "video-1");
        let authority = Authority::new().unwrap();
        let verifier = Verifier::new(&credentials(&authority, Role::Service, "edge")).unwrap();
        let refused = |signer: &Credentials| {
            let text = CONSENT.sign(signer, &server, now + 10).unwrap();
            assert_eq!(verifier.verify(at(now), &CONSENT, &text), Err(StatementError::Certificate));
        };
        refused(&credentials(&Authority::new().unwrap(), Role::User, "alice"));
        refused(&credentials(&authority, Role::Server, "video-1"));
        let expired = SystemTime::now() - Duration::from_secs(60);
        refused(&authority.sign(&name(Role::User, "alice"), expired).unwrap());
    }

    #[test]
    fn what_was_signed_for_one_purpose_is_of_no_use_for_another() {
        let now = unix_now();
        let authority = Authority::new().unwrap();
        let verifier = Verifier::new(&credentials(&authority, Role::Service, "edge")).unwrap();
        let desk = credentials(&authority, Role::Operator, "desk");
        let as_consent = Purpose { prefix: CONSENT.prefix, ..PASS };
        let text = as_consent.sign(&desk, &name(Role::Service, "edge"), now + 10).unwrap();
        assert_eq!(verifier.verify(at(now), &PASS, &text), Err(StatementError::Signature));
    }

    #[test]
    fn a_consent_for_years_is_refused() {
        let now = unix_now();
        let (verifier, text) = signed(now + 365 * 86_400);
        assert_eq!(verifier.verify(at(now), &CONSENT, &text), Err(StatementError::TooLong));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, Role::Server);
        }
    }
}

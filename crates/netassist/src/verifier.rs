//! The verifier of a text signed by a certificate's holder, for a purpose and until a time.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cellcc_netassist_client::certificates::name_in;
use cellcc_netassist_client::statement::{Purpose, parse};
use cellcc_netassist_client::{CertificateError, Credentials, PeerName};
use cellcc_units::Time;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// A signed statement, after it was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) signer: PeerName,
    pub(crate) named: PeerName,
    /// Since 1970.
    pub(crate) until: Time,
}

/// Why a signed text is not believed. A client learns only that it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum StatementError {
    /// It is not of this form.
    #[error("no signed text of NetAssist's")]
    Form,
    /// The certificate in it belongs to a role that may not sign this.
    #[error("its certificate is not one of this NetAssist whose holder may sign this")]
    Certificate,
    /// The holder of the certificate has not signed this.
    #[error("its signature is wrong")]
    Signature,
    /// It is valid for longer than its purpose allows.
    #[error("it is valid for longer than allowed: sign it for a shorter time")]
    TooLong,
    /// Its time is over.
    #[error("its time is over")]
    Over,
}

/// Verifies that a text is signed by a certificate's holder.
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

    /// A statement signed for this purpose, and still valid. `now`: since 1970.
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
        let parts = parse(&bytes, purpose.named).ok_or(StatementError::Form)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::Authority;
    use cellcc_netassist_client::statement::{CONSENT, PASS};
    use cellcc_netassist_client::{PeerName, Role};
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
}

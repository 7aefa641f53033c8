//! A text that a holder of a certificate signs without a connection, and that names who may do something, and until when.
//!
//! In base64 for URLs: version 1 (1 byte) | end in seconds since 1970 (8, big-endian) | the name of who may (1 byte of length,
//! text) | the signer's certificate (2 bytes of length, DER) | ECDSA P-256 with SHA-256 over all before, after a prefix of ours
//! that says what the text is for.

use crate::certificates::{CertificateError, Credentials, provider};
use crate::name::{PeerName, Role};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cellcc_units::Span;
use rustls::SignatureScheme;

const VERSION: u8 = 1;

/// The purpose of a text.
#[derive(Debug)]
pub struct Purpose {
    /// A signature is useless elsewhere.
    pub prefix: &'static [u8],
    /// The role that signs.
    pub signer: Role,
    /// The role that is named.
    pub named: Role,
    /// For how long at most.
    pub longest: Span,
}

impl Purpose {
    /// Signs that `named` may, until `until_unix`, in seconds since 1970.
    ///
    /// # Errors
    /// The key is not of ECDSA P-256.
    pub fn sign(
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
                failed("texts are signed with ECDSA P-256, and this is another kind of key".into())
            })?;
        let signature =
            key.sign(&[self.prefix, &text].concat()).map_err(|error| failed(error.to_string()))?;
        text.extend(signature);
        Ok(URL_SAFE_NO_PAD.encode(text))
    }
}

// A user's signed consent: this server may be informed about me, until then.

/// The longest consent. Ours: a month; a user who wants it longer signs again.
pub const MAX_CONSENT: Span = Span::from_secs(31 * 86_400);

/// Purpose of a consent: a server may be informed about the user.
pub const CONSENT: Purpose = Purpose {
    prefix: b"cellcc netassist consent\0",
    signer: Role::User,
    named: Role::Server,
    longest: MAX_CONSENT,
};

// An operator's signed pass: who holds this text may see the page of that service, until then. It is for browsers, which have no
// certificate of ours.

/// The longest pass. Ours: a week, for a screen on a wall.
pub const MAX_PASS: Span = Span::from_secs(7 * 86_400);

/// Purpose of a pass: its holder may see the page of a service.
pub const PASS: Purpose = Purpose {
    prefix: b"cellcc netassist pass\0",
    signer: Role::Operator,
    named: Role::Service,
    longest: MAX_PASS,
};

/// The parts of a text, before any verification.
#[derive(Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// When it ends, in seconds since 1970.
    pub until_unix: u64,
    /// The permitted peer.
    pub named: PeerName,
    /// The signer's.
    pub certificate: &'a [u8],
    /// Over the prefix of the text's purpose and `signed`.
    pub signature: &'a [u8],
    /// All before the signature.
    pub signed: &'a [u8],
}

/// Reads a decoded text that names a peer of this role; `None` where it is not of this form.
pub fn parse(bytes: &[u8], named: Role) -> Option<Parts<'_>> {
    let mut reader = Reader(bytes);
    if reader.take(1)? != [VERSION] {
        return None;
    }
    let until = reader.take(8)?.try_into().ok()?;
    let name_length = reader.take(1)?[0];
    let name = str::from_utf8(reader.take(name_length.into())?).ok()?;
    let named = PeerName::new(named, name).ok()?;
    let length: [u8; 2] = reader.take(2)?.try_into().ok()?;
    let certificate = reader.take(u16::from_be_bytes(length).into())?;
    let signature = reader.0;
    let signed = &bytes[..bytes.len() - signature.len()];
    Some(Parts { until_unix: u64::from_be_bytes(until), named, certificate, signature, signed })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, Role::Server);
        }
    }
}
